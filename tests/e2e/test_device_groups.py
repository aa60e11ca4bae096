"""Runs that share simulated devices, and those that do not. The programs have no torch."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lab import PROGRAMS

PROGRAM = str(PROGRAMS / "simgpu" / "driver_calls.py")
OUT_OF_MEMORY = "2"


@contextmanager
def running(lab: Any, *options: str, **more: str) -> Iterator[Any]:
    """Run the program under `peakline run`; gives what asks it."""
    words = lab.recording_command(
        PROGRAM, options=["-q", "--no-record", *options], device="h200x2:100GiB"
    )
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        words, env=lab.environment(more), stdin=pipe, stdout=pipe, text=True, bufsize=1
    )
    assert process.stdin is not None and process.stdout is not None

    def ask(question: str) -> str:
        process.stdin.write(question + "\n")
        return process.stdout.readline().strip()

    yield ask
    process.stdin.close()
    assert process.wait() == 0


def test_runs_of_one_group_share_the_devices_and_leave_no_file(lab: Any) -> None:
    group = f"test-{os.getpid()}"
    file = Path(f"/dev/shm/peakline-devices-{os.getuid()}-{group}")
    with running(lab, "--device-group", group) as first:
        assert [first("use 0"), first("alloc 60")] == ["0", "0"]
        with running(lab, "--device-group", group) as second, running(lab) as apart:
            assert [second("use 0"), second("alloc 60")] == ["0", OUT_OF_MEMORY]
            assert [second("use 1"), second("alloc 60")] == ["0", "0"]
            assert [apart("use 0"), apart("alloc 90")] == ["0", "0"]
        assert file.exists()
        assert [first("use 1"), first("alloc 60")] == ["0", "0"]  # the second run has ended
    assert not file.exists()


def test_the_shell_chooses_among_the_devices_of_the_machine_only(lab: Any) -> None:
    with running(lab, CUDA_VISIBLE_DEVICES="7") as program:
        assert program("count") == "2"


def test_a_group_needs_a_simulated_device_and_a_plain_name(lab: Any) -> None:
    bare = lab.peakline("run", "--device-group", "x", PROGRAM)
    assert "--device-group needs --simulate" in bare.stderr
    named = lab.peakline("run", "--simulate", "h200", "--device-group", "../x", PROGRAM)
    assert "a name has letters, digits and _ . - only" in named.stderr
    alone = lab.peakline(
        "run", "--simulate", "h200", "--world", "4", "--device-group", "x", PROGRAM
    )
    assert "--device-group and --world exclude each other" in alone.stderr
