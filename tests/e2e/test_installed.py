"""Peakline installed from a wheel, away from its checkout: without torch, and as the GPU bundle.

Both build a wheel by way of the checkout's build folder: one file, so that one process runs them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest
from lab import EXAMPLES, ROOT
from peakline.builds.native_build import find_torch
from peakline.builds.simulated_build import ensure_simulated_gpu, ensure_values_companion

NO_NETWORK = ["unshare", "--net"]


def test_an_installation_without_torch_reads_traces(lab: Any, tmp_path: Path) -> None:
    """Installs into an empty folder, as `pip install .` does, and runs it from there."""
    recorded = lab.once("life_training.py")
    probe = "import setuptools, pip, rich"
    if subprocess.run([sys.executable, "-c", probe], check=False).returncode != 0:
        pytest.skip("pip, setuptools or rich is missing in this Python")
    # pip itself copies the checkout's build folder: without it, it compiles anew.
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-build-isolation", "--no-deps"]
    command = [*pip, "--no-index", "--target", str(tmp_path / "site"), str(ROOT)]
    installed = lab.plain(tmp_path, *command)
    assert installed.status == 0, installed.stderr
    venv.EnvBuilder(with_pip=False).create(tmp_path / "venv")
    python = str(tmp_path / "venv" / "bin" / "python")
    alone = {"PYTHONPATH": str(tmp_path / "site")}
    words = [python, "-m", "peakline", "table"]
    help_text = lab.plain(tmp_path, *words, "--help", environment=alone)
    assert help_text.status == 0, help_text.stderr
    result = lab.plain(tmp_path, *words, "--json", str(recorded.trace), environment=alone)
    assert result.status == 0, result.stderr
    assert json.loads(result.stdout)["peak_bytes"] == recorded.said["peak"]
    package = ROOT / "pyhook"
    of_the_checkout = {f.relative_to(package) for f in package.glob("peakline/**/*.py")}
    assert all((tmp_path / "site" / file).is_file() for file in of_the_checkout)
    entry = tmp_path / "site" / "bin" / "peakline"
    assert entry.is_file()
    licences = (tmp_path / "site" / "peakline" / "_native" / "licences").iterdir()
    assert {file.stem for file in licences} == {"libunwind-dev", "libxxhash-dev", "libzstd-dev"}


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gpu") / "bundle"
    subprocess.run(["make", "-s", "build/librecording_switch.so"], cwd=ROOT, check=True)
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    command = [sys.executable, str(ROOT / "tests" / "gpu" / "bundle.py"), str(folder)]
    made = subprocess.run(
        [*command, "--python", version], capture_output=True, text=True, check=False
    )
    if "No matching distribution" in made.stderr or "ConnectionError" in made.stderr:
        pytest.skip("the packages of the bundle cannot be downloaded here")
    assert made.returncode == 0, made.stderr
    return folder


def lend_simulated_gpu(bundle: Path) -> None:
    """Copy what is compiled for the simulated GPU alone: the part for torch is compiled there."""
    torch = find_torch(sys.executable)
    folder = ensure_simulated_gpu(torch)
    shutil.copytree(folder, bundle / "cache" / folder.name)
    values = ensure_values_companion(torch).parent
    shutil.copytree(values, bundle / "cache" / values.name)


def gpu_check(bundle: Path, *words: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PEAKLINE_", "PYTHONPATH"))}
    return subprocess.run(
        [*NO_NETWORK, str(bundle / "gpu-check.sh"), "--simulate", "h200", *words],
        cwd=bundle.parent,
        env={**kept, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_bundle_is_small_and_lists_what_it_holds(bundle: Path) -> None:
    listed = json.loads((bundle / "manifest.json").read_text())["files"]
    files = {path for path in bundle.rglob("*") if path.is_file()} - {bundle / "manifest.json"}
    assert {str(path.relative_to(bundle)): path.stat().st_size for path in files} == listed
    assert sum(listed.values()) < 40_000_000
    assert (bundle / "source" / "examples" / EXAMPLES.joinpath("train_gpt2.py").name).exists()


@pytest.mark.skipif(
    subprocess.run([*NO_NETWORK, "true"], capture_output=True, check=False).returncode != 0,
    reason="a namespace without a network needs privileges here",
)
def test_the_check_runs_without_a_network(bundle: Path) -> None:
    lend_simulated_gpu(bundle)
    result = gpu_check(bundle, "oom")
    assert result.returncode == 0, result.stdout + result.stderr
    found = json.loads((bundle / "results" / "oom.json").read_text())
    assert found["passed"] is True
    assert found["facts"]["caught"]["peak_bytes"] == 8 << 30
    assert "oom                passed" in (bundle / "results" / "summary.txt").read_text()
    unknown = gpu_check(bundle, "smokes")
    assert unknown.returncode == 2
    assert "no such part: smokes" in unknown.stderr
