"""Bounded traces know torch's segments and the driver's requests of before their first event."""

from __future__ import annotations

import json
import signal
from typing import Any

import peakline
import pytest
from lab import ON_GPU, PROGRAMS, Lab, Run, together
from peakline import _report

PROGRAM = PROGRAMS / "stands_before.py"
SETTINGS = {
    "train": ("train", ""),
    "expandable": ("pieces", "expandable_segments:True"),
    "async": ("pieces", "backend:cudaMallocAsync"),
    "pools": ("pools", ""),
    "graphs": ("graphs", ""),
    "streams": ("streams", ""),
}
# As many hundreds of blocks as fill what is kept more than once.
KEPT = {"all": 10, "peak": 3000}
CASES = [
    *((name, keep, "whole") for name in SETTINGS for keep in ("all", "peak")),
    ("train", "peak", "killed"),
]
BOUNDED = [case for case in CASES if case[1] != "all"]


@pytest.fixture(scope="module")
def runs(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str, str], Run]:
    base = tmp_path_factory.mktemp("standing")

    def recording(case: tuple[str, str, str]) -> Any:
        name, keep, end = case
        word, settings = SETTINGS[name]
        return lambda: lab.recorded(
            base / f"{name}-{keep[:4]}-{end}",
            str(PROGRAM),
            word,
            end,
            options=["-q", "-o", "run.peak", "--keep", keep],
            environment={"PYTORCH_CUDA_ALLOC_CONF": settings, "CHURN": str(KEPT[keep])},
        )

    return together({case: recording(case) for case in CASES})


def moments_of(run: Run) -> list[tuple[float, dict[str, Any]]]:
    start_ns = _report.Trace(str(run.traces[0])).info()["start_monotonic_ns"]
    return [((one["monotonic_ns"] - start_ns) / 1e9, one) for one in run.last_said["moments"]]


def report(lab: Lab, name: str, run: Run, at: str, *options: str) -> Any:
    return json.loads(lab.report(name, run.traces[0], "--json", "--at", at, *options))


def bytes_of(ledger: dict[str, Any], *kinds: str) -> int:
    return sum(part["bytes"] for part in ledger["parts"] if part["kind"] in kinds)


@pytest.mark.parametrize("case", BOUNDED, ids="-".join)
def test_the_early_events_are_gone(lab: Lab, runs: Any, case: tuple[str, str, str]) -> None:
    run = runs[case]
    assert run.status == (-signal.SIGKILL if "killed" in case else 0), run.stderr
    seconds, _ = moments_of(run)[0]
    kept = report(lab, "table", run, str(seconds))["kept"]
    assert kept["events_dropped"] > 100_000
    assert kept["from_seconds"] < seconds


@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_the_ledger_closes_at_moments_that_are_kept(
    lab: Lab, runs: Any, case: tuple[str, str, str]
) -> None:
    run = runs[case]
    whole = runs[case[0], "all", "whole"]
    for (seconds, said), (whole_seconds, _) in zip(moments_of(run), moments_of(whole), strict=True):
        ledger = peakline.open(run.traces[0]).ledger(at=seconds).document
        assert ledger["device_used_bytes"] == said["used"]
        parts = sum(part["bytes"] for part in ledger["parts"])
        assert parts + ledger["unexplained_bytes"] == said["used"]
        assert bytes_of(ledger, "torch", "pool") == said["reserved"]
        whole_ledger = peakline.open(whole.traces[0]).ledger(at=whole_seconds).document
        if "killed" in case:  # NVML is asked at the end: nobody knows whose the context is
            for part in (*ledger["parts"], *whole_ledger["parts"]):
                part["name"] = part["name"].removesuffix(", and what others hold")
        assert ON_GPU or ledger["parts"] == whole_ledger["parts"]
        assert ON_GPU or ledger["unexplained_bytes"] == whole_ledger["unexplained_bytes"]


@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_levels_of_the_driver_are_torchs_own(
    lab: Lab, runs: Any, case: tuple[str, str, str]
) -> None:
    run = runs[case]
    for seconds, said in moments_of(run):
        table = report(lab, "table", run, str(seconds), "--measure", "reserved")
        assert table["total_bytes"] == said["reserved"]
        assert sum(row["bytes"] for row in table["rows"]) == said["reserved"]
        ledger = peakline.open(run.traces[0]).ledger(at=seconds).document
        device = report(lab, "table", run, str(seconds), "--measure", "device")
        unasked = bytes_of(ledger, "context", "rounding", "graphs")
        assert device["total_bytes"] == said["used"] - unasked - ledger["unexplained_bytes"]
    peak = report(lab, "table", run, "peak", "--measure", "reserved")
    most = max(said["reserved"] for _, said in moments_of(run))
    assert peak["total_bytes"] == peak["peak_bytes"] == most
    timeline = json.loads(lab.report("timeline", run.traces[0], "--measure", "reserved", "--json"))
    assert timeline["peak_bytes"] == most


@pytest.mark.parametrize("case", [case for case in CASES if case[0] != "async"], ids="-".join)
def test_segments_are_those_of_torchs_snapshot(
    lab: Lab, runs: Any, case: tuple[str, str, str]
) -> None:
    run = runs[case]
    for seconds, said in moments_of(run):
        found = report(lab, "map", run, str(seconds))["segments"]
        assert [
            {
                "address": one["address"],
                "bytes": one["bytes"],
                "used": sum(block["bytes"] for block in one["blocks"]),
                "stream": one["stream"],
                "blocks": len(one["blocks"]),
            }
            for one in found
        ] == said["segments"]
        state = report(lab, "fragmentation", run, str(seconds))
        assert state["reserved_bytes"] == sum(state["causes"].values()) == said["reserved"]
        assert state["causes"]["live"] == said["allocated"]
        assert state["causes"]["live"] + state["causes"]["waiting"] == said["active"]


@pytest.mark.parametrize("name", [name for name in SETTINGS if name != "async"])
def test_causes_are_those_of_a_recording_of_every_event(lab: Lab, runs: Any, name: str) -> None:
    found = []
    for keep in ("all", "peak"):
        run = runs[name, keep, "whole"]
        states = [report(lab, "fragmentation", run, str(at)) for at, _ in moments_of(run)]
        found.append([(one["causes"], one["largest_hole_bytes"]) for one in states])
    assert found[0] == found[1]


def test_a_peak_before_what_is_kept_is_refused(lab: Lab, runs: Any) -> None:
    trace = runs["train", "peak", "whole"].traces[0]
    assert lab.peakline("map", str(trace), "--at", "0.000001").returncode == 2
