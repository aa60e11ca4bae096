"""The end of a run is the end of the program's main, whatever its exit callbacks free."""

from __future__ import annotations

import json
from typing import Any

import pytest
from lab import Lab, Run

# The status that the program ends with.
WAYS = {"returns": 0, "exits": 3, "raises": 1, "thread": 0}


def run_of(lab: Lab, way: str) -> Run:
    run = lab.once("ends_main.py", way)
    assert run.status == WAYS[way], run.stderr
    return run


def level_of(run: Run) -> int:
    return run.last_said["level"]


def report(lab: Lab, way: str, command: str, *options: str) -> dict[str, Any]:
    return json.loads(lab.report(command, run_of(lab, way).trace, "--json", *options))


@pytest.mark.parametrize("way", WAYS)
def test_the_level_at_the_end_is_torchs_in_the_last_line(lab: Lab, way: str) -> None:
    level = level_of(run_of(lab, way))
    table = report(lab, way, "table", "--at", "end", "--by", "lifetime")
    assert table["total_bytes"] == level
    assert {row["key"]: row["bytes"] for row in table["rows"]} == {"held to the end": level}
    (device,) = report(lab, way, "summary")["devices"]
    assert device["allocated"]["live_at_end_bytes"] == level
    (device,) = report(lab, way, "phases")["devices"]
    assert device["level_bytes"] == level


def test_a_phase_that_an_exception_leaves_ends_there(lab: Lab) -> None:
    phase = report(lab, "raises", "phases")["phases"][-1]
    assert (phase["name"], phase["end_bytes"]) == ("forward", level_of(run_of(lab, "raises")))
    assert phase["end_seconds"] <= report(lab, "raises", "summary")["duration_seconds"]


def test_a_layer_holds_its_parameters_and_output_to_the_end(lab: Lab) -> None:
    (layer,) = report(lab, "returns", "layers")["layers"]
    assert (layer["held_bytes"], layer["total_deallocations"]) == (8 << 20, 0)
