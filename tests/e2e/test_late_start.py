"""A recording that begins after CUDA was initialised: what is there is untraced, all else exact."""

from __future__ import annotations

from typing import Any

import pytest
from checks import check_whole_trace, table_rows
from lab import PROGRAMS, Run, together

PROGRAM = str(PROGRAMS / "late_start.py")
NOTE = "peakline: CUDA was already initialised: observing torch's allocator; "


@pytest.fixture(scope="module")
def runs(lab: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    base = tmp_path_factory.mktemp("late")

    def run(name: str, *words: str) -> Any:
        return lambda: lab.unrecorded(base / name, lab.python, PROGRAM, *words)

    return together({"trace": run("trace", "trace", "late.peak"), "start": run("start", "start")})


@pytest.mark.parametrize("way", ["trace", "start"])
def test_nothing_is_lost_or_counted_twice_while_the_program_runs_on(
    runs: dict[str, Run], way: str
) -> None:
    run = runs[way]
    assert run.status == 0, run.stderr
    [note] = run.notes
    assert note.startswith(NOTE)
    assert note.endswith("MB that were already allocated are reported as untraced")
    for moment in ("at_start", "at_end"):
        theirs, ours = run.said[moment]
        assert theirs == ours, moment
    status = run.said["status"]
    # torch's own total was compared at every block.
    assert (status["baseline_corrections"], status["records_dropped"]) == (0, 0)
    assert status["backend"] == "observe"
    assert status["has_python_stacks"]


def test_the_peak_of_the_range_is_torchs(lab: Any, runs: dict[str, Run]) -> None:
    said = runs["trace"].said
    [trace] = runs["trace"].traces
    table = check_whole_trace(lab, trace, said["range"]["allocated"])
    assert 0 < table["untraced_bytes"] < table["peak_bytes"]
    assert said["requested_at_start"][0] == said["requested_at_start"][1]
    requested = lab.table(trace, "--measure", "requested")
    assert requested["peak_bytes"] == said["range"]["requested"]
    assert runs["start"].said["peak"] == runs["start"].said["range"]["allocated"]
    assert "untraced" in [where for _, where in table_rows(runs["start"].said["report"])]


def test_modules_tensors_and_forward_lines_are_known_from_then_on(
    lab: Any, runs: dict[str, Run]
) -> None:
    [trace] = runs["trace"].traces
    tensors = {
        row["key"]: row["bytes"]
        for row in lab.table(trace, "--by", "tensor", "--at", "end")["rows"]
    }
    size = 4 * 1024 * 2048
    assert tensors["parameter first.weight"] == size
    assert tensors["gradient of first.weight"] == size
    lines = lab.table(trace, "--frame", "user", "--at", "end")["rows"]
    [gradients] = [row for row in lines if row["backward_bytes"] >= 2 * size]
    assert gradients["key"].endswith("(forward)")
    assert "late_start.py" in gradients["key"]
    modules = {row["key"] for row in lab.table(trace, "--by", "module")["rows"]}
    assert {"first", "second"} & modules
