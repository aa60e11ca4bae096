"""`peakline attach` records a program that runs already; torch's counters in it are the oracle."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from checks import check_whole
from lab import PROGRAMS, Lab
from peakline.attaching.injection import stopped

WAYS = ("loop", "threads", "native", "lock")


@contextmanager
def running(lab: Lab, end: Path) -> Iterator[subprocess.Popen[str]]:
    """Start the program, and wait until all of its children train."""
    words = lab.recording_command(
        str(PROGRAMS / "attach_targets.py"), str(end), options=["--no-record", "-q"]
    )
    with subprocess.Popen(
        words,
        env=lab.environment(None),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            end.touch()


def ready(process: subprocess.Popen[str]) -> dict[str, int]:
    said = [json.loads(process.stdout.readline()) for _ in WAYS]
    return {one["ready"]: one["pid"] for one in said}


def ended(process: subprocess.Popen[str], end: Path) -> tuple[list[Any], list[Any], str]:
    """Return what the children say in any case, what they say of this run, and standard error."""
    end.touch()
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    said = sorted(map(json.loads, out.splitlines()), key=lambda one: (one["name"], len(one)))
    return [one for one in said if "changed" in one], [one for one in said if "peak" in one], err


@pytest.fixture(scope="module")
def unattached(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    end = tmp_path_factory.mktemp("unattached") / "end"
    with running(lab, end) as process:
        ready(process)
        return ended(process, end)[0]


def test_running_programs_are_recorded_and_stay_as_they_were(
    lab: Lab, tmp_path: Path, unattached: list[Any]
) -> None:
    rounds = int(os.environ.get("PEAKLINE_TEST_ATTACHMENTS", "2"))
    with running(lab, tmp_path / "end") as process:
        processes = ready(process)
        launcher = str(process.pid)  # peakline run, which has no torch
        for number in range(rounds):
            folder = tmp_path / str(number)
            attached = lab.peakline("attach", launcher, "-o", f"{folder}/")
            assert attached.returncode == 0, attached.stderr
            assert number or "that were already allocated are reported" in attached.stderr
            again = lab.peakline("attach", str(processes["loop"]), "-o", str(tmp_path / "again"))
            assert (again.returncode, "is recorded already" in again.stderr) == (2, True)
            live = lab.peakline("live", "--once", "--json", str(processes["lock"]))
            assert json.loads(live.stdout)["is_being_written"]
            detached = lab.peakline("detach", launcher)
            assert detached.returncode == 0, detached.stderr
        unchanged, peaks, said = ended(process, tmp_path / "end")
    assert unchanged == unattached
    assert "peakline" not in said.replace("peakline: simulated GPU", "")
    for one in peaks:
        name = f"attach_targets.{processes[one['name']]}.peak"
        tables = [lab.table(tmp_path / str(number) / name) for number in range(rounds)]
        found = {table["peak_bytes"] for table in tables}
        if one["name"] in ("loop", "native"):  # each step peaks as the one before
            assert found == {one["peak"]}, one["name"]
        else:  # two threads meet in many ways
            assert max(found) <= one["peak"]
        for table in tables:
            check_whole(table)
            assert 0 < table["untraced_bytes"] < table["peak_bytes"]


@contextmanager
def sleeping(*words: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def refused(lab: Lab, command: str, pid: int) -> str:
    result = lab.peakline(command, str(pid))
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("peakline: error: ")
    return result.stderr


def test_what_cannot_be_attached_to_is_said(lab: Lab) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    assert f"there is no process {ended.pid}" in refused(lab, "attach", ended.pid)
    with sleeping("sleep", "60") as process:
        assert "is no Python program" in refused(lab, "attach", process.pid)
    lines = ["import time", "print(1, flush=True)", "time.sleep(60)"]
    with sleeping(lab.python, "-c", "\n".join(lines)) as process:
        process.stdout.readline()
        assert "has not imported torch" in refused(lab, "attach", process.pid)
        assert "has not imported torch" in refused(lab, "detach", process.pid)


def test_a_stopped_or_traced_program_is_left_as_it_is(lab: Lab) -> None:
    lines = ["import torch", "print(1, flush=True)", "while True: pass"]
    with sleeping(lab.python, "-c", "\n".join(lines)) as process:
        process.stdout.readline()
        os.kill(process.pid, signal.SIGSTOP)
        assert "it is stopped by a signal: continue it" in refused(lab, "attach", process.pid)
        assert state_of(process.pid) == "T"
        os.kill(process.pid, signal.SIGCONT)
        with stopped(process.pid):
            assert f"process {os.getpid()} traces it" in refused(lab, "attach", process.pid)
        assert state_of(process.pid) in "RS"


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
