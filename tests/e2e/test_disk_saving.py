"""A trace reaches the disk while its program runs, without the program."""

import os
import time
from pathlib import Path
from typing import Any

import pytest
from peakline.launch import disk_saving
from test_live import waiting_program


def test_traces_of_running_programs_are_saved(
    lab: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved: list[str] = []
    real = os.fdatasync

    def watched(descriptor: int) -> None:
        real(descriptor)
        saved.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))

    monkeypatch.setattr(os, "fdatasync", watched)
    trace = tmp_path / "run.peak"
    with waiting_program(lab, trace) as program:
        program.stdout.readline()
        with disk_saving.DiskSaving(pause_seconds=0.05):
            deadline = time.monotonic() + 60
            while len(saved) < 3 and time.monotonic() < deadline:
                time.sleep(0.05)
        program.stdin.write("\n\n\n")
    assert set(saved) == {str(trace)} and len(saved) >= 3


def test_other_files_and_processes_that_are_gone_are_left_alone(tmp_path: Path) -> None:
    with (tmp_path / "notes.peak").open("wb") as file:
        file.write(b"no trace")
        assert disk_saving.save_traces(os.getpid()) == []
    with pytest.raises(ProcessLookupError):
        disk_saving.save_traces(2**22 + 1)
