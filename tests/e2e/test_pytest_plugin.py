"""The plugin for pytest: limits, the tests with the highest peaks, workers of pytest-xdist."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import pytest

TESTS = """
import os
import pytest
import torch

MB = 1 << 20

def take(count):
    return torch.empty(count * MB, dtype=torch.uint8, device="cuda")

@pytest.mark.limit_gpu_memory("100 MB")
def test_within():
    take(80)

@pytest.mark.limit_gpu_memory("100 MB")
def test_above():
    first = take(60)
    second = take(70)  # too much
    assert torch.cuda.max_memory_allocated() == 130 * MB

def test_without_limit():
    take(200)

@pytest.mark.limit_gpu_memory("100 MB")
def test_fails_by_itself():
    take(300)
    raise KeyError("its own")

def test_uses_no_gpu():
    print("seen")
    assert os.environ["MINE"] == "kept"
"""


@pytest.fixture
def run_pytest(lab: Any, tmp_path: Path) -> Any:
    (tmp_path / "test_memory.py").write_text(TESTS)

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
        # An installed peakline brings it by its entry point; looked for as pytest does.
        found = [one for dist in distributions() for one in dist.entry_points]
        if not any((one.group, one.name) == ("pytest11", "peakline") for one in found):
            command += ["-p", "peakline.pytest_plugin"]
        return subprocess.run(
            [*command, *words],
            cwd=tmp_path,
            env=lab.environment({"MINE": "kept"}),
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_a_test_above_its_limit_fails_with_the_lines_that_hold_it(run_pytest: Any) -> None:
    done = run_pytest("--peakline", "--peakline-most", "2", "test_memory.py")
    assert done.returncode == 1, done.stderr
    out = done.stdout
    assert "2 failed, 3 passed" in out
    assert "wrote" not in done.stderr  # the recording is gone
    assert "130.0 MB of GPU memory were in use, 100.0 MB are allowed:" in out
    assert "70.00 MB  test_memory.py:9 (take)" in out or "130.0 MB  test_memory.py:9 (take)" in out
    assert "KeyError: 'its own'" in out
    summary = out.partition("GPU memory (peakline)")[2].splitlines()
    named = [line.split() for line in summary if "::" in line and not line.startswith("FAILED")]
    assert named == [
        ["300.0", "MB", "test_memory.py::test_fails_by_itself"],
        ["200.0", "MB", "test_memory.py::test_without_limit"],
    ]


def test_traces_are_kept_on_request(run_pytest: Any, tmp_path: Path) -> None:
    words = ("--peakline", "--peakline-traces", "kept", "-k", "within", "test_memory.py")
    done = run_pytest(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list((tmp_path / "kept").glob("*.peak"))) == 1
    assert "peakline: wrote " in done.stderr
    assert not [file for file in tmp_path.iterdir() if "peakline-pytest" in file.name]


def test_workers_report_their_tests(run_pytest: Any) -> None:
    pytest.importorskip("xdist")
    done = run_pytest("--peakline", "-n", "2", "-k", "without_limit or within", "test_memory.py")
    assert done.returncode == 0, done.stdout + done.stderr
    summary = done.stdout.partition("GPU memory (peakline)")[2]
    assert "200.0 MB  test_memory.py::test_without_limit" in summary
    assert "80.00 MB  test_memory.py::test_within" in summary


def test_the_status_is_pytests_own(run_pytest: Any) -> None:
    assert run_pytest("--peakline", "-k", "nothing_like_it", "test_memory.py").returncode == 5
    done = run_pytest("--peakline", "-k", "uses_no_gpu", "-s", "test_memory.py")
    assert done.returncode == 0
    assert "seen" in done.stdout
    assert "No test used the GPU." in done.stdout


def test_without_the_option_nothing_happens(run_pytest: Any) -> None:
    done = run_pytest("-k", "uses_no_gpu", "test_memory.py")
    assert done.returncode == 0
    assert "GPU memory (peakline)" not in done.stdout
    assert "simulated GPU" not in done.stderr
    assert "limit_gpu_memory(size)" in run_pytest("--markers").stdout


def test_a_limit_that_is_no_size_is_told(run_pytest: Any, tmp_path: Path) -> None:
    text = TESTS.replace('limit_gpu_memory("100 MB")', 'limit_gpu_memory("much")')
    (tmp_path / "test_memory.py").write_text(text)
    done = run_pytest("--peakline", "-k", "within", "test_memory.py")
    assert done.returncode != 0
    assert "limit_gpu_memory takes a size" in done.stdout + done.stderr
