"""Phases and steps of unchanged programs, against torch's own counters at their edges."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from lab import Lab, Run

MODELS = ("mlp", "in_closure", "resnet50", "gpt2")


def run_of(lab: Lab, model: str) -> Run:
    return lab.once("phase_levels.py", model)


def phases_of(lab: Lab, model: str) -> dict[str, Any]:
    return json.loads(lab.report("phases", run_of(lab, model).trace, "--json"))


@pytest.mark.parametrize("model", MODELS)
def test_levels_and_peaks_are_torchs_own(lab: Lab, model: str) -> None:
    told = phases_of(lab, model)
    assert told["step_source"] == "optimizer"
    found = {
        (phase["step"], phase["name"]): [
            phase["begin_bytes"],
            phase["end_bytes"],
            phase["peak_bytes"],
        ]
        for phase in told["phases"]
        if phase["depth"] == 0
    }
    seen = run_of(lab, model).said["phases"]
    for step, name, *figures in seen:
        assert found[step, name] == figures, (step, name)


@pytest.mark.parametrize("model", MODELS)
def test_every_byte_of_a_phase_is_allocated_or_freed(lab: Lab, model: str) -> None:
    for phase in phases_of(lab, model)["phases"]:
        traffic = phase["allocated_bytes"] - phase["freed_bytes"]
        assert traffic == phase["delta_bytes"]
        assert phase["peak_bytes"] >= max(phase["begin_bytes"], phase["end_bytes"])


def test_the_table_of_a_phase_sums_to_its_peak(lab: Lab) -> None:
    trace = run_of(lab, "resnet50").trace
    for phase in phases_of(lab, "resnet50")["phases"]:
        if phase["step"] == 1:
            table = lab.table(trace, "--at", f"{phase['name']}@1", "--by", "category")
            assert table["total_bytes"] == phase["peak_bytes"]
            assert sum(row["bytes"] for row in table["rows"]) == phase["peak_bytes"]


def test_recomputation_lies_within_the_backward_pass(lab: Lab) -> None:
    phases = phases_of(lab, "gpt2")["phases"]
    again = [phase for phase in phases if phase["name"] == "recomputation"]
    assert len(again) >= 3
    assert all(phases[phase["parent"]]["name"] == "backward" for phase in again)


def named_phases(lab: Lab, trace: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    told = json.loads(lab.report("phases", trace, "--json"))
    assert (told["complete"], told["problems"]) == (True, [])
    return told, {phase["name"]: phase for phase in told["named"]}


@pytest.mark.parametrize("way", ["under-run", "own-trace"])
def test_phases_that_were_open_before_cuda_and_the_trace_hold_their_blocks(
    lab: Lab, way: str
) -> None:
    run = lab.run("early_phases.py", way, recorded=way == "under-run")
    trace = run.trace if way == "under-run" else run.trace.parent / "own.peak"
    told, phases = named_phases(lab, trace)
    # One that ended before held nothing, and is not there.
    assert {name: phase["allocated_bytes"] for name, phase in phases.items()} == run.said["sizes"]
    order = [phase["name"] for phase in told["named"]]
    parents = {
        name: None if phase["parent"] is None else order[phase["parent"]]
        for name, phase in phases.items()
    }
    outermost = {"other": None, "outer": None}
    assert parents == {**outermost, "inner": "outer", "nested": "other", "late": "other"}
    assert phases["late"]["thread"] == phases["other"]["thread"] != phases["outer"]["thread"]
    steps = {step["name"]: step["allocated_bytes"] for step in told["steps"]}
    outer = run.said["sizes"]["outer"]
    notes = [(note["text"], note["level_bytes"]) for note in told["notes"]]
    early = [("before CUDA", 0)] if way == "under-run" else []
    assert notes == [*early, ("half way", outer)]
    assert told["note_count"] == len(notes)
    assert "  half way\n" in lab.report("phases", trace)
    assert steps == {"second": outer, "third": run.said["sizes"]["other"] - outer}


@pytest.mark.parametrize("way", ["under-run", "own-trace"])
def test_regions_that_were_open_before_the_recording_hold_their_blocks(lab: Lab, way: str) -> None:
    run = lab.run("early_regions.py", way, recorded=way == "under-run")
    trace = run.trace if way == "under-run" else run.trace.parent / "own.peak"
    told = json.loads(lab.report("phases", trace, "--json"))
    assert (told["complete"], told["problems"]) == (True, [])
    sizes: Counter[str] = Counter()
    for phase in told["named"]:
        sizes[phase["name"]] += phase["allocated_bytes"]
    # One that ended before held nothing, and is not there.
    wanted = {name: size for name, size in run.said["sizes"].items() if size}
    for name in ("between", "seen", "seen within"):
        sizes.pop(name, None)
    assert sizes == wanted
    # Torch's profiler sees the same ones as without us.
    assert run.said["before"] == run.said["after"] == ["seen", "seen within"]
