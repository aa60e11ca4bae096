"""A recording ends cleanly when its own process ends, and at no other moment."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from checks import check_whole_trace
from lab import PROGRAMS, Run, together
from peakline._report import Trace

MISSING = str(PROGRAMS / "life_missing_command.py")
CHILDREN = 24


@pytest.fixture(scope="module")
def exit_handler(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("handler") / "libexit_handler.so"
    words = ["g++", "-std=c++20", "-O2", "-fPIC", "-shared", "-o", str(library)]
    subprocess.run([*words, str(PROGRAMS / "exit_handler.cpp")], check=True)
    return library


@pytest.fixture(scope="module")
def started(
    lab: Any, exit_handler: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Run]:
    base = tmp_path_factory.mktemp("ends")
    leaving = (str(PROGRAMS / "life_exit_in_handler.py"), str(exit_handler), str(CHILDREN))
    return together(
        {
            "missing": lambda: lab.recorded(base / "missing", MISSING),
            "killed": lambda: lab.recorded(base / "killed", MISSING, "SIGKILL"),
            "handler": lambda: lab.recorded(base / "handler", *leaving),
        }
    )


def test_a_command_that_is_missing_does_not_end_the_recording(
    lab: Any, started: dict[str, Run]
) -> None:
    run = started["missing"]
    assert (run.status, run.notes) == (0, []), run.stderr
    assert run.said["missing"] == [True] * 3
    [trace] = run.traces
    table = check_whole_trace(lab, trace, run.said["peak"])
    assert any(
        row["key"].endswith("life_missing_command.py:29 (<module>)") for row in table["rows"]
    )


def test_a_later_kill_is_no_clean_end(lab: Any, started: dict[str, Run]) -> None:
    run = started["killed"]
    assert run.status == -signal.SIGKILL, run.stderr
    [trace] = run.traces
    table = lab.table(trace)
    assert table["peak_bytes"] == run.last_said["peak"]
    assert not table["complete"]
    assert ["killed or interrupted" in problem for problem in table["problems"]] == [True]
    assert lab.table(trace, "--at", "end")["total_bytes"] == run.last_said["level"]


def test_leaving_from_a_signal_handler_hangs_nobody(lab: Any, started: dict[str, Run]) -> None:
    run = started["handler"]
    assert (run.status, run.notes) == (0, []), run.stderr
    assert run.said["statuses"] == [7] * CHILDREN
    assert len(run.traces) == CHILDREN
    ends = [json.loads(Trace(trace).report("summary", json=True)) for trace in run.traces]
    # The signal may have interrupted the recorder itself: then nothing marks the end.
    for problems in (end["problems"] for end in ends if not end["complete"]):
        assert ["killed or interrupted" in problem for problem in problems] == [True], problems
