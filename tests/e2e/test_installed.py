"""Peakline installed from a wheel, away from its checkout: without torch, and as the GPU bundle.

Both build a wheel by way of the checkout's build folder: one file, so that one process runs them.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest
from lab import EXAMPLES, ROOT
from peakline.builds.native_build import ensure_torch_part, find_torch, torch_build
from peakline.builds.shipped import folder_name
from peakline.builds.simulated_build import ensure_simulated_gpu, ensure_values_companion

NO_NETWORK = ["unshare", "--net"]


@pytest.fixture(scope="module")
def site(lab: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install peakline into an empty folder, as `pip install .` does."""
    probe = "import setuptools, pip, rich"
    if subprocess.run([sys.executable, "-c", probe], check=False).returncode != 0:
        pytest.skip("pip, setuptools or rich is missing in this Python")
    folder = tmp_path_factory.mktemp("installed")
    # pip itself copies the checkout's build folder: without it, it compiles anew.
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-build-isolation", "--no-deps"]
    command = [*pip, "--no-index", "--target", str(folder / "site"), str(ROOT)]
    installed = lab.plain(folder, *command)
    assert installed.status == 0, installed.stderr
    return folder / "site"


def test_an_installation_without_torch_reads_traces(lab: Any, site: Path, tmp_path: Path) -> None:
    recorded = lab.once("life_training.py")
    venv.EnvBuilder(with_pip=False).create(tmp_path / "venv")
    python = str(tmp_path / "venv" / "bin" / "python")
    alone = {"PYTHONPATH": str(site)}
    words = [python, "-m", "peakline", "table"]
    help_text = lab.plain(tmp_path, *words, "--help", environment=alone)
    assert help_text.status == 0, help_text.stderr
    result = lab.plain(tmp_path, *words, "--json", str(recorded.trace), environment=alone)
    assert result.status == 0, result.stderr
    assert json.loads(result.stdout)["peak_bytes"] == recorded.said["peak"]
    package = ROOT / "pyhook"
    of_the_checkout = {f.relative_to(package) for f in package.glob("peakline/**/*.py")}
    assert all((site / file).is_file() for file in of_the_checkout)
    assert (site / "bin" / "peakline").is_file()
    licences = (site / "peakline" / "_native" / "licences").iterdir()
    assert {file.stem for file in licences} == {"libunwind-dev", "libxxhash-dev", "libzstd-dev"}


def test_a_wheel_with_parts_records_without_a_compiler(
    lab: Any, site: Path, tmp_path: Path
) -> None:
    """The recorder finds the part itself, `peakline run` the simulated GPU; then the README."""
    torch = find_torch(sys.executable)
    folder = site / "peakline" / "_native" / "built"
    folder /= folder_name(torch.version, torch_build(torch))
    folder.mkdir(parents=True)
    for part in (ensure_torch_part(torch), ensure_values_companion(torch)):
        shutil.copy2(part, folder)
    shutil.copytree(ensure_simulated_gpu(torch), folder / "simulated")
    program = tmp_path / "train.py"
    program.write_text(
        "import torch\nkept = torch.ones(1000, 1000, device='cuda')\n"
        "loaded = {line.split()[-1] for line in open('/proc/self/maps') if '/' in line}\n"
        "print(*sorted(name for name in loaded if '/built/' in name))\n"
    )
    alone = {
        "PYTHONPATH": str(site),
        "CXX": str(tmp_path / "no-compiler"),
        "PEAKLINE_CACHE_DIR": str(tmp_path / "cache"),
    }
    words = [sys.executable, "-m", "peakline", "run", "--simulate", "h200", "-o", "a.peak"]
    run = lab.plain(tmp_path, *words, str(program), environment=alone)
    assert run.status == 0, run.stderr
    assert "compil" not in run.stderr and "observe" not in run.stderr
    loaded = run.stdout.splitlines()[0]
    for library in ("libpeakline_torch.so", "libpeakline_values.so", "simulated/libcuda.so.1"):
        assert str(folder / library) in loaded
    command = [sys.executable, "-m", "peakline", "table", "--json", "a.peak"]
    found = json.loads(lab.plain(tmp_path, *command, environment=alone).stdout)
    assert found["peak_bytes"] == 4_000_256
    for line in commands_of_the_readme():
        words = ["a.peak" if word == "FILE" else word for word in line]
        result = lab.plain(tmp_path, sys.executable, "-m", *words, environment=alone)
        # `oom` has nothing to explain here.
        assert result.status == (2 if "oom" in words else 0), (words, result.stderr)
        assert result.stdout + result.stderr and "Traceback" not in result.stderr
    assert not (tmp_path / "cache").exists()


def commands_of_the_readme() -> list[list[str]]:
    """Return the words of its command lines, but for those that need a GPU or six runs."""
    lines = re.findall(r"^peakline (?!shows)(.*)$", (ROOT / "README.md").read_text(), re.MULTILINE)
    commands = [["peakline", *shlex.split(line, comments=True)] for line in lines]
    found = [c for c in commands if c[1] != "fit" and ("run" not in c or "--simulate" in c)]
    assert [command[1] for command in found] == ["doctor", "run", "html", "oom", "leaks", "advise"]
    return found


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
    result = gpu_check(bundle, "oom", "--minutes", "20")  # it compiles, perhaps beside other tests
    assert result.returncode == 0, result.stdout + result.stderr
    found = json.loads((bundle / "results" / "oom.json").read_text())
    assert found["passed"] is True
    assert found["facts"]["caught"]["peak_bytes"] == 8 << 30
    assert "oom                passed" in (bundle / "results" / "summary.txt").read_text()
    unknown = gpu_check(bundle, "smokes")
    assert unknown.returncode == 2
    assert "no such part: smokes" in unknown.stderr
