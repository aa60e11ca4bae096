"""`--keep`: files that stay small keep exact peaks, also when the program is killed."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from lab import PROGRAMS, Run, together

PROGRAM = str(PROGRAMS / "keeps_peaks.py")
MIB = 1 << 20


@pytest.fixture(scope="module")
def runs(lab: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    base = tmp_path_factory.mktemp("keep")

    def keeping(what: str, end: str) -> Any:
        options = ["-q", "-o", "run.peak", "--keep", what]
        return lambda: lab.recorded(base / f"{what[:4]}-{end}", PROGRAM, end, options=options)

    cases = [("all", "whole"), ("peak", "whole"), ("peak", "killed"), ("last:16MiB", "killed")]
    return together({f"{what} {end}": keeping(what, end) for what, end in cases})


def json_of(lab: Any, command: str, run: Run, *options: str) -> dict[str, Any]:
    [trace] = run.traces
    return json.loads(lab.report(command, trace, "--json", *options))


BOUNDED = ("peak whole", "peak killed", "last:16MiB killed")


@pytest.mark.parametrize("case", BOUNDED)
def test_the_peak_of_a_bounded_trace_is_torchs_own(
    lab: Any, runs: dict[str, Run], case: str
) -> None:
    run = runs[case]
    assert run.status == (-signal.SIGKILL if "killed" in case else 0), run.stderr
    table = json_of(lab, "table", run)
    assert table["peak_bytes"] == run.last_said["peak"]
    assert sum(row["bytes"] for row in table["rows"]) == table["peak_bytes"]
    assert table["records_dropped"] == 0
    assert table["complete"] == ("killed" not in case), table["problems"]


@pytest.mark.parametrize("case", ["all whole", "peak whole", "peak killed"])
@pytest.mark.parametrize("phase", ["small", "large", "last"])
def test_a_phase_has_torchs_own_peak(lab: Any, runs: dict[str, Run], case: str, phase: str) -> None:
    table = json_of(lab, "table", runs[case], "--at", phase)
    assert table["total_bytes"] == runs[case].last_said["phases"][phase]
    assert sum(row["bytes"] for row in table["rows"]) == table["total_bytes"]


def test_a_peak_only_trace_stays_small_and_says_what_it_keeps(
    lab: Any, runs: dict[str, Run]
) -> None:
    [trace] = runs["peak whole"].traces
    [everything] = runs["all whole"].traces
    assert trace.stat().st_size < 5 * MIB
    kept = json_of(lab, "table", runs["peak whole"])["kept"]
    assert kept["keep"] == "peak"
    assert kept["events_dropped"] > 100_000
    for command in ("table", "summary", "stats"):
        assert "Kept (--keep peak)" in lab.report(command, trace)
        assert "Kept" not in lab.report(command, everything)
    assert json_of(lab, "table", runs["all whole"])["kept"] is None


def test_stats_of_a_bounded_trace_count_the_whole_run(lab: Any, runs: dict[str, Run]) -> None:
    whole = json_of(lab, "stats", runs["all whole"])["whole_run"]
    assert json_of(lab, "stats", runs["peak whole"])["whole_run"] == whole
    assert whole["alloc_count"] >= 180_000


def test_phases_are_listed_though_their_events_are_gone(lab: Any, runs: dict[str, Run]) -> None:
    assert json_of(lab, "stats", runs["peak whole"])["phases"] == ["small", "large", "last"]


def test_a_moment_before_what_is_kept_is_refused(lab: Any, runs: dict[str, Run]) -> None:
    [trace] = runs["peak whole"].traces
    result = lab.peakline("table", str(trace), "--at", "0.0001")
    assert result.returncode == 2
    assert "lies before the events that this trace keeps" in result.stderr


@pytest.mark.parametrize("text", ["some", "last", "last:2", "last:1MiB", "last:2PiB"])
def test_an_unknown_keep_is_refused_before_the_program_runs(
    lab: Any, tmp_path: Path, text: str
) -> None:
    result = lab.peakline("run", "--keep", text, "-o", str(tmp_path / "x.peak"), PROGRAM, "whole")
    assert result.returncode == 2
    assert f"--keep {text} is not known: all, peak, or last:SIZE" in result.stderr


def test_an_early_refusal_is_known(lab: Any) -> None:
    run = lab.run(PROGRAM, "refused", options=["--keep", "peak"])
    assert run.status == 0, run.stderr
    [oom] = json.loads(lab.report("oom", run.trace, "--json"))["ooms"]
    assert oom["is_caught"] and oom["requested_bytes"] == 1 << 42


def test_reserved_memory_of_the_whole_run_is_explained_without_its_events(
    lab: Any, runs: dict[str, Run]
) -> None:
    every, kept = (
        json_of(lab, "leaks", runs[case], "--measure", "reserved")
        for case in ("all whole", "peak whole")
    )
    assert every["older_requests"] == {}
    for found in (every, kept):
        assert sum(row["bytes"] for row in found["rows"]) == found["end_bytes"]
        assert found["begin_bytes"] == 0
    for field in ("bytes", "live_bytes", "pieces"):
        totals = [sum(row[field] for row in found["rows"]) for found in (every, kept)]
        assert totals[0] == totals[1]
    assert every["end_bytes"] == kept["end_bytes"] > 0
    older = [row for row in kept["rows"] if row["line"].startswith("requests from before")]
    assert sum(kept["older_requests"].values()) == sum(row["bytes"] for row in older) > 0
    [line] = kept["older_requests"]
    assert {line} == {row["line"] for row in every["rows"]}
    [trace] = runs["peak whole"].traces
    early = lab.peakline("leaks", "--measure", "reserved", "--since", "0.01", str(trace))
    assert (early.returncode, "single events are known from" in early.stderr) == (2, True)
