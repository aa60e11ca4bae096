"""Bounded traces of long jobs: steps, growth and refused requests before the kept events."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from lab import PROGRAMS, Run, together

PROGRAM = PROGRAMS / "long_job.py"
LINE_THAT_GROWS = 1 + next(
    number
    for number, line in enumerate(PROGRAM.read_text().splitlines())
    if line.endswith("# this line grows")
)
STEPS = 800
BYTES_PER_STEP = 512 * 4
CASES = [("optimizer", "whole"), ("marks", "killed"), ("none", "whole")]


@pytest.fixture(scope="module")
def runs(lab: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Run]:
    base = tmp_path_factory.mktemp("long")

    def running(kind: str, end: str) -> Any:
        options = ["-q", "-o", "run.peak", "--keep", "peak"]
        words = [str(PROGRAM), kind, end, str(STEPS)]
        return lambda: lab.recorded(base / kind, *words, options=options)

    return together({case: running(*case) for case in CASES})


def json_of(lab: Any, run: Run, command: str, *options: str) -> dict[str, Any]:
    [trace] = run.traces
    return json.loads(lab.report(command, trace, "--json", *options))


@pytest.mark.parametrize("case", CASES)
def test_old_events_are_gone(lab: Any, runs: dict[Any, Run], case: Any) -> None:
    run = runs[case]
    assert run.status == (-signal.SIGKILL if "killed" in case else 0), run.stderr
    kept = json_of(lab, run, "table")["kept"]
    assert kept["events_dropped"] > 100_000


@pytest.mark.parametrize("case", [case for case in CASES if case[0] != "none"])
def test_steps_before_the_kept_events_have_torchs_own_peaks(
    lab: Any, runs: dict[Any, Run], case: Any
) -> None:
    phases = json_of(lab, runs[case], "phases")
    said = runs[case].last_said
    earlier = phases["earlier"]
    assert earlier["step_count"] > len(said["steps"]) / 8
    assert len(earlier["steps"]) >= 50
    for one in earlier["steps"]:
        first, last = one["first_step"], one["last_step"]
        assert one["peak_bytes"] == max(said["steps"][first : last + 1]), one
        if case[0] == "marks":  # they end where torch was asked
            assert one["end_bytes"] == said["ends"][last], one


@pytest.mark.parametrize("case", [case for case in CASES if case[0] != "none"])
def test_kept_steps_count_on(lab: Any, runs: dict[Any, Run], case: Any) -> None:
    phases = json_of(lab, runs[case], "phases")
    said = runs[case].last_said
    numbers = [step["step"] for step in phases["steps"]]
    assert numbers == list(range(numbers[0], len(said["steps"])))
    assert numbers[0] >= phases["earlier"]["step_count"]
    for step in phases["steps"][1:-1]:
        assert step["peak_bytes"] == said["steps"][step["step"]]
    table = json_of(lab, runs[case], "table", "--at", f"step@{numbers[1]}")
    assert table["total_bytes"] == said["steps"][numbers[1]]


@pytest.mark.parametrize("case", CASES)
def test_what_grew_all_along_is_named(lab: Any, runs: dict[Any, Run], case: Any) -> None:
    document = json_of(lab, runs[case], "leaks")
    said = runs[case].last_said
    [row] = [row for row in document["growth"] if not row["is_slow"]]
    location = row["location"]
    assert (Path(location["file"]).name, location["line"]) == (PROGRAM.name, LINE_THAT_GROWS)
    if case[0] != "none":
        assert row["bytes_per_step"] == BYTES_PER_STEP
        assert row["total_bytes"] > BYTES_PER_STEP * len(said["steps"]) * 0.9


def test_what_is_left_has_the_steps_in_which_it_was_made(lab: Any, runs: dict[Any, Run]) -> None:
    document = json_of(lab, runs["optimizer", "whole"], "leaks")
    left = next(row for row in document["at_end"] if row["location"]["line"] == LINE_THAT_GROWS)
    assert left["category"] == "kept"
    assert left["first_step"] < STEPS / 10 and left["last_step"] >= STEPS - 2
    assert left["bytes"] > BYTES_PER_STEP * STEPS * 0.9


@pytest.mark.parametrize("case", CASES)
def test_an_early_refusal_is_explained(lab: Any, runs: dict[Any, Run], case: Any) -> None:
    document = json_of(lab, runs[case], "oom", "--top", "0")
    [refused] = runs[case].last_said["refused"]
    assert (document["refused"], document["caught"]) == (1, 1)
    [oom] = document["ooms"]
    assert oom["requested_bytes"] == 1 << 50
    assert oom["live_bytes"] == refused
    assert "parameter" in {row["key"] for row in oom["categories"]}
    for rows in (oom["rows"], oom["categories"]):
        assert sum(row["bytes"] for row in rows) == refused
    assert oom["reserved_bytes"] >= refused
    assert oom["reason"] == "full"
    table = json_of(lab, runs[case], "table", "--at", "oom")
    assert table["total_bytes"] == refused


def test_its_segments_are_no_longer_known(lab: Any, runs: dict[Any, Run]) -> None:
    [trace] = runs["optimizer", "whole"].traces
    for command in ("map", "ledger"):
        result = lab.peakline(command, str(trace), "--at", "oom")
        assert result.returncode == 2
        assert "the request, at t=" in result.stderr
        assert "lies before the events that this trace keeps" in result.stderr


def test_reports_say_what_is_known_of_before(lab: Any, runs: dict[Any, Run]) -> None:
    [trace] = runs["optimizer", "whole"].traces
    phases = lab.report("phases", trace)
    assert "Before the kept events, all GPUs together:" in phases
    assert "Over the kept steps:" in phases
    by_module = lab.report("leaks", trace, "--by", "module")
    assert "Only the kept events were looked at" in by_module
    assert "Only the kept events" not in lab.report("leaks", trace)


def test_a_peak_before_the_kept_events_has_categories_and_no_lives(lab: Any) -> None:
    run = lab.run("early_peak.py", options=["--keep", "peak"])
    peak = run.said["peak"]
    for by in ("line", "module", "op", "phase", "category"):
        table = json.loads(lab.report("table", run.trace, "--json", "--by", by))
        assert table["peak_bytes"] == sum(row["bytes"] for row in table["rows"]) == peak
    keys = {row["key"]: row["bytes"] for row in table["rows"]}
    assert keys["parameter"] == run.said["parameters"]
    for by in ("lifetime", "freed-by", "step"):
        result = lab.peakline("table", str(run.trace), "--by", by)
        assert result.returncode == 2
        assert "the moment lies before the events that this trace keeps" in result.stderr
