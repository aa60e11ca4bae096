"""`peakline run --steps 5..8` records only these steps: torch's own counters are the oracle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from lab import ON_GPU, PROGRAMS, Run, together

PROGRAM = "steps_of_sizes.py"  # ten steps
CASES = {
    "middle": (5, 8, ("--steps", "5..8")),
    "one": (3, 3, ("--steps", "3..3")),
    "first": (1, 3, ("--steps", "1..3")),
    "rest": (6, 10, ("--steps", "6..")),
    "two": (5, 8, ("--steps", "5..8", "--stacks", "python")),
    "peak": (5, 8, ("--steps", "5..8", "--keep", "peak")),
    "observe": (5, 8, ("--steps", "5..8", "--backend", "observe")),
}


@pytest.fixture(scope="module")
def runs(lab: Any) -> dict[str, Run]:
    def running(name: str) -> Any:
        first, last, options = CASES[name]
        words = [PROGRAM, str(first), str(last), *(["two"] if name == "two" else [])]
        return lambda: lab.run(*words, options=options)

    return together({name: running(name) for name in CASES})


@pytest.mark.parametrize("name", CASES)
def test_the_peak_is_torchs_own_of_these_steps(lab: Any, runs: dict[str, Run], name: str) -> None:
    said = runs[name].said
    table = lab.table(runs[name].trace)
    assert table["peak_bytes"] == said["peak"]
    assert sum(row["bytes"] for row in table["rows"]) == said["peak"]
    assert (table["complete"], table["problems"]) == (True, [])
    assert table["records_dropped"] == 0
    assert table["recorded_steps"] == CASES[name][2][1]
    assert runs[name].notes == []


@pytest.mark.parametrize("name", CASES)
def test_the_program_comes_to_its_own_end(runs: dict[str, Run], name: str) -> None:
    assert runs[name].said["steps"] == 10


@pytest.mark.parametrize("name", [name for name in CASES if name != "peak"])
def test_the_trace_is_of_these_steps_alone(lab: Any, runs: dict[str, Run], name: str) -> None:
    first, last, _ = CASES[name]
    phases = json.loads(lab.report("phases", runs[name].trace, "--json"))
    steps = phases["steps"]
    assert len(steps) == last - first + 1
    assert first == 1 or steps[0]["begin_bytes"] == runs[name].said["held_before"]
    table = lab.table(runs[name].trace, "--at", "end")
    assert last == 10 or table["total_bytes"] == runs[name].said["held_after"]
    assert max(step["peak_bytes"] for step in steps) == runs[name].said["peak"]


def test_what_was_held_before_is_untraced(lab: Any, runs: dict[str, Run]) -> None:
    early = lab.table(runs["middle"].trace, "--at", "step@0")
    assert 0 < early["untraced_bytes"] <= runs["middle"].said["held_before"]
    named = lab.table(runs["middle"].trace, "--by", "category")
    bytes_of = {row["key"]: row["bytes"] for row in named["rows"]}
    # The module and its optimizer are older than the trace, and known all the same.
    parameters = 512 * 2048 * 4 * 2 + (2048 + 512) * 4
    assert bytes_of["parameter"] == parameters
    assert bytes_of["optimizer state"] >= 2 * parameters


def test_segments_are_torchs_own_where_the_last_step_ended(lab: Any, runs: dict[str, Run]) -> None:
    found = json.loads(lab.report("map", runs["middle"].trace, "--json", "--at", "end"))
    assert sum(one["bytes"] for one in found["segments"]) == runs["middle"].said["reserved"]


def test_the_table_says_what_was_recorded(lab: Any, runs: dict[str, Run]) -> None:
    said = {
        name: line
        for name in CASES
        for line in lab.report("table", runs[name].trace).splitlines()
        if line.startswith("Recorded: ")
    }
    assert said["middle"].startswith("Recorded: optimizer steps 5 to 8 (--steps)")
    assert said["one"].startswith("Recorded: optimizer step 3 (--steps)")
    assert said["rest"].startswith("Recorded: optimizer step 6 and all after it (--steps)")


def test_holders_count_the_steps_of_the_run(lab: Any) -> None:
    done = lab.run(PROGRAM, "5", "8", options=["--steps", "5..8", "--hold", "6"])
    assert (done.said["steps"], done.notes) == (10, [])
    found = json.loads(lab.report("holders", done.trace, "--json"))
    assert (found["search_count"], found["reason"], found["step"]) == (1, "step", 6)


@pytest.mark.skipif(ON_GPU, reason="needs two devices")
def test_every_rank_records_its_own_steps(lab: Any, tmp_path: Path) -> None:
    words = ["--", lab.python, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    words += [str(PROGRAMS / PROGRAM), "5", "8"]
    options = ["-q", "-o", "run.%r.peak", "--steps", "5..8"]
    done = lab.recorded(tmp_path, *words, options=options, device="h200x2")
    assert done.status == 0, done.stderr
    tables = [lab.table(trace) for trace in done.traces]
    said = [document["peak"] for document in done.documents]
    assert [table["peak_bytes"] for table in tables] == said
    assert len(said) == 2


def test_a_program_that_ends_before_is_told(lab: Any, tmp_path: Path) -> None:
    program = str(PROGRAMS / PROGRAM)
    options = ["-o", "run.peak", "--steps", "20..30"]
    done = lab.recorded(tmp_path, program, "5", "8", options=options)
    assert done.status == 0
    assert not done.trace.exists()
    assert "the program ended before its optimizers had made 19 steps" in " ".join(done.notes)


@pytest.mark.parametrize("text", ["0..3", "5..4", "5...8", "..8", "five", "5..8..9"])
def test_what_is_no_range_is_refused(lab: Any, text: str) -> None:
    done = lab.peakline("run", f"--steps={text}", "-c", "print('ran')")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"--steps {text}" in done.stderr
