"""Every native stack that a test program captures is the one libunwind's slow stepper finds.

The recorder is built to compare them itself, see allocator/capture/native_check.h. A choice of the
programs of tests/programs is compared at every run; with PEAKLINE_TEST_STACKS=all every one that
runs by itself (half an hour), the others are named with the reason.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from lab import PROGRAMS, ROOT, Lab, Run

ALWAYS = [
    "early_phases.py",
    "forward_lines.py",
    "keeps_peaks.py",
    "life_children.py",
    "life_steps.py",
    "random_allocations.py",
    "simgpu/recurrent.py",
    "simgpu/streams.py",
    "wrapped_models.py",
]
# Their arguments, where they need any; `@` is a folder of the run.
ARGUMENTS = {
    "backward_levels.py": ["chain", "modules"],
    "call_levels.py": ["stages"],
    "early_phases.py": ["under-run"],
    "ends.py": ["_exit-5"],
    "keeps_peaks.py": ["killed"],
    "life_steps.py": ["abort"],
    "phase_levels.py": ["gpt2"],
    "random_allocations.py": ["1", "1500"],
    "saves_checkpoints.py": ["@"],
    "segments.py": ["plain"],
    "traced_range.py": ["under-run"],
    "train_model.py": ["transformer"],
    "wrapped_models.py": ["parallel"],
}
# They mean to end badly, or are about the simulated GPU alone (None: either way).
STATUS = {
    "ends.py": 5,
    "life_steps.py": -6,
    "keeps_peaks.py": -9,
    "simgpu/out_of_memory.py": None,
    "simgpu/pinned.py": None,
}
LEFT_OUT = {
    "builds_large.py": "allocates nothing",
    "counters.py": "no program",
    "life_api.py": "records itself, without peakline run",
    "residual_layer.py": "no program",
    "run_script.py": "runs examples",
    "rank_peaks.py": "needs a launcher",
    "saves_lightning.py": "needs lightning",
    "simgpu/barrier.py": "needs a launcher",
    "simgpu/ddp.py": "needs a launcher",
    "simgpu/fsdp2.py": "needs a launcher",
    "simgpu/gone.py": "needs a launcher",
    "simgpu/objects.py": "needs a launcher",
    "simulated_values.py": "needs its test's rules",
    "swaps_allocator.py": "needs a library of its own",
    "waits_for_value.py": "never ends",
    "own_allocator.py": "the recorder is not asked for native stacks",
}


@dataclass(frozen=True)
class Counts:
    """What the recorder of one process counted: struct Counts of native_check.cpp."""

    checked: int
    different: int
    memo_hits: int
    walks: int
    by_libunwind: int
    threads: int


@pytest.fixture(scope="module")
def checking_package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package peakline, whose recorder compares."""
    library = ROOT / "build" / "checked" / "libpeakline.so"
    make = ["make", "-s", str(library.relative_to(ROOT)), f"PYTHON={sys.executable}"]
    subprocess.run(make, cwd=ROOT, check=True)
    folder = tmp_path_factory.mktemp("checking")
    package = folder / "pyhook" / "peakline"
    shutil.copytree(ROOT / "pyhook" / "peakline", package)
    shutil.copy(library, package / "_native" / "libpeakline.so")
    for room in ("allocator", "preload"):  # what is built on first use is built from them
        (folder / room).symlink_to(ROOT / room)
    return package.parent


def run_checked(lab: Lab, package: Path, folder: Path, program: str) -> tuple[Run, list[Counts]]:
    words = [word.replace("@", str(folder)) for word in ARGUMENTS.get(program, [])]
    paths = {"PYTHONPATH": str(package), "PEAKLINE_NATIVE_CHECK": str(folder)}
    run = lab.run(program, *words, device="h200x2", environment=paths)
    files = [file for file in folder.iterdir() if file.name.isdigit()]
    return run, [Counts(*struct.unpack("6Q", file.read_bytes())) for file in files]


def programs() -> list[str]:
    if os.environ.get("PEAKLINE_TEST_STACKS") != "all":
        return ALWAYS
    found = [str(path.relative_to(PROGRAMS)) for path in PROGRAMS.rglob("*.py")]
    return sorted(name for name in found if name not in LEFT_OUT)


@pytest.mark.parametrize("program", programs())
def test_native_stacks_are_libunwinds(
    lab: Lab, checking_package: Path, tmp_path: Path, program: str
) -> None:
    run, counts = run_checked(lab, checking_package, tmp_path, program)
    expected = STATUS.get(program, 0)
    assert expected is None or run.status == expected, run.stderr
    assert sum(one.checked for one in counts) > 0, run.stderr
    assert [one.different for one in counts] == [0] * len(counts)
    for one in counts:
        assert one.checked == one.memo_hits + one.walks + one.by_libunwind
    print(f"{program}: {counts}")


def test_the_oracle_is_asked_beside_the_fast_ways(
    lab: Lab, checking_package: Path, tmp_path: Path
) -> None:
    run, counts = run_checked(lab, checking_package, tmp_path, "many_threads.py")
    assert run.status == 0, run.stderr
    most = max(counts, key=lambda one: one.checked)  # workers of the loader count theirs, too
    assert most.checked >= run.said["allocations"] > 3000
    assert most.threads >= 8
    assert most.memo_hits > 0.8 * most.checked
    assert most.by_libunwind < 0.01 * most.checked
