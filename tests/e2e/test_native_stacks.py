"""Every native stack that a program's threads capture is the one libunwind's slow stepper finds.

The recorder is built to compare them itself, see allocator/capture/native_check.h.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from lab import ROOT, Lab

COUNTS = re.compile(
    r"native check: (\d+) stacks, (\d+) different; memo (\d+), walks (\d+), libunwind (\d+)"
)


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


def test_native_stacks_of_all_threads_are_libunwinds(lab: Lab, checking_package: Path) -> None:
    path = {"PYTHONPATH": str(checking_package)}
    run = lab.run("many_threads.py", device="h200x2", environment=path)
    assert run.status == 0, run.stderr
    # Workers of the loader tell theirs, too.
    told = [tuple(map(int, counts)) for counts in COUNTS.findall(run.stderr)]
    stacks, _, memo, walks, by_libunwind = max(told)
    assert [different for _, different, *_ in told] == [0] * len(told)
    assert stacks == memo + walks + by_libunwind
    assert stacks >= run.said["allocations"] > 3000
    # The oracle is asked beside the fast ways, not instead of them.
    assert memo > 0.8 * stacks and by_libunwind < 0.01 * stacks
