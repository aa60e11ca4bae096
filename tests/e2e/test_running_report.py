"""`peakline report PID`, and a process wherever a trace is asked for."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from lab import Lab
from test_live import waiting_program


@pytest.mark.parametrize("keep", ["all", "peak", "last:16MiB"])
def test_a_running_program_is_reported(lab: Lab, tmp_path: Path, keep: str) -> None:
    trace = tmp_path / "run.peak"
    with waiting_program(lab, trace, "--keep", keep) as program:
        for _ in range(3):
            said = json.loads(program.stdout.readline())
            found = json.loads(lab.report("report", str(program.pid), "--json"))
            assert found["file"] == str(trace)
            assert found["state"]["is_being_written"]
            assert found["peak"]["total_bytes"] == said["peak"]
            assert sum(row["bytes"] for row in found["peak"]["rows"]) == said["peak"]
            assert found["now"]["total_bytes"] == said["level"]
            text = lab.report("report", str(program.pid))
            assert f"run.peak: process {found['state']['pid']}, recorded for" in text
            assert "waits_for_reader.py:" in text
            program.stdin.write("\n")
            program.stdin.flush()
        assert program.wait(timeout=60) == 0


def test_reports_are_written_beside_the_trace_under_new_numbers(lab: Lab, tmp_path: Path) -> None:
    trace = tmp_path / "run.peak"
    with waiting_program(lab, trace) as program:
        program.stdout.readline()
        for words in (["--beside"], ["--beside", "--html"], ["--beside"]):
            lab.report("report", str(program.pid), *words)
        program.stdin.write("\n\n\n")
    written = sorted(file.name for file in tmp_path.iterdir())
    assert written == ["run.1.txt", "run.2.html", "run.2.txt", "run.3.txt", "run.peak"]
    assert "At the peak" in (tmp_path / "run.3.txt").read_text()


def test_every_command_takes_a_process_for_its_trace(lab: Lab, tmp_path: Path) -> None:
    trace = tmp_path / "run.peak"
    with waiting_program(lab, trace) as program:
        said = json.loads(program.stdout.readline())
        process = str(program.pid)
        assert lab.table(process)["peak_bytes"] == said["peak"]
        for words in (("phases",), ("tensors",), ("stats",), ("tree", "--plain"), ("events",)):
            assert lab.report(words[0], process, *words[1:])
        assert lab.peakline("html", process).returncode == 0
        program.stdin.write("\n\n\n")
    assert (tmp_path / "run.html").exists()


def test_a_process_without_a_trace_is_told(lab: Lab, tmp_path: Path) -> None:
    none = lab.peakline("table", str(os.getpid()))
    assert none.returncode == 2
    assert f"process {os.getpid()} writes no trace" in none.stderr
    gone = lab.peakline("report", "4194304")  # above what the kernel gives
    assert gone.returncode == 2
    assert "there is no process 4194304" in gone.stderr
