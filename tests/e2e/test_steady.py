"""Recording an event of a warm training step takes no heap, no lock and no system call of ours.

Counted in a real program, with Python and native stacks, by a library preloaded beside peakline:
tests/programs/call_counter.cpp says whose a call is. The recorder's own leaf lock is none of these.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from lab import ON_GPU, PROGRAMS, Lab

KINDS = ("heap", "locks", "system calls")


@pytest.fixture(scope="module")
def counter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("counter") / "libcall_counter.so"
    words = ["g++", "-std=c++20", "-O2", "-fPIC", "-shared", "-o", str(library)]
    subprocess.run([*words, str(PROGRAMS / "call_counter.cpp"), "-ldl"], check=True)
    return library


@pytest.mark.skipif(ON_GPU, reason="a driver's system calls may not be made from a handler")
@pytest.mark.parametrize("options", [[], ["--frees"]], ids=["allocations", "frees too"])
def test_a_steady_event_takes_no_heap_no_lock_and_no_system_call(
    lab: Lab, counter: Path, options: list[str]
) -> None:
    run = lab.run("steady_steps.py", options=options, environment={"LD_PRELOAD": str(counter)})
    said: dict[str, Any] = run.said
    if not said["traps"]:
        pytest.skip("the kernel has no seccomp filters here")
    # What is counted can be counted: the first step finds new stacks, which asks the loader.
    assert said["first"]["peakline"]["system calls"] > 0
    windows = said["windows"]
    assert all(window["all"][kind] > 0 for window in windows for kind in KINDS)
    assert all(window["events"] > 500 for window in windows)
    assert all(w["peakline"]["heap"] + w["peakline"]["locks"] == 0 for w in windows), run.stderr
    # A new chunk of the trace, every 256 KiB, takes some more: one window may meet it. What is in
    # use on the device is asked at the end of a phase, at most every 10 ms.
    with_calls = [w for w in windows if w["peakline"]["system calls"] > 2]
    assert len(with_calls) <= 1, f"{windows}\n{run.stderr}"
