"""However a program ends, its exit code and its words are the same with and without peakline."""

from __future__ import annotations

import re

import pytest
from lab import Lab

STATUS = {
    "normally": 0,
    "exit-3": 3,
    "exit-text": 1,
    "exception": 1,
    "out-of-memory": 1,
    "_exit-5": 5,
    "SIGTERM": -15,
    "SIGKILL": -9,
    "SIGABRT": -6,
}


def words(stderr: str) -> list[str]:
    """Standard error without peakline's own lines and torch's process id."""
    lines = [line for line in stderr.splitlines() if not line.startswith("peakline: ")]
    return [re.sub(r"process \d+", "process", line) for line in lines]


@pytest.mark.parametrize("how", STATUS)
def test_the_end_of_a_program_is_its_own(lab: Lab, how: str) -> None:
    run = lab.once("ends.py", how)
    assert run.status == STATUS[how], run.stderr
    assert run.stdout == "about to end\n"
    assert lab.table(run.trace)["peak_bytes"] == 4_000_256


@pytest.mark.parametrize("how", ["exception", "out-of-memory", "exit-text"])
def test_last_words_are_the_programs_own(lab: Lab, how: str) -> None:
    plain = lab.once("ends.py", how, recorded=False)
    assert plain.status == STATUS[how]
    assert words(lab.once("ends.py", how).stderr) == words(plain.stderr)
