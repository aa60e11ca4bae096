"""Phases and steps of unchanged programs, against torch's own counters at their edges."""

from __future__ import annotations

import json
from typing import Any

import pytest
from lab import Lab, Run

MODELS = ("mlp", "resnet50", "gpt2")


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
    # What follows the last step of the optimizer is of no step.
    seen[-1][0] = None
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
