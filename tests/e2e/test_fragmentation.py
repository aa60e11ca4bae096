"""The map of torch's segments and the causes of every reserved byte, against torch's snapshot."""

from __future__ import annotations

import json
from typing import Any

import pytest
from lab import Lab

PROGRAM = "map_of_segments.py"
EXPANDABLE = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}


def report(lab: Lab, name: str, trace: Any, moment: str) -> Any:
    return json.loads(lab.report(name, trace, "--json", "--at", moment))


@pytest.mark.parametrize("environment", [None, EXPANDABLE], ids=["plain", "expandable"])
@pytest.mark.parametrize("moment", ["peak", "end"])
def test_segments_blocks_and_holes_are_those_of_the_snapshot(
    lab: Lab, moment: str, environment: dict[str, str] | None
) -> None:
    run = lab.once(PROGRAM, environment=environment)
    said = run.said[moment]
    found = report(lab, "map", run.trace, moment)
    segments = [
        {
            "address": one["address"],
            "bytes": one["bytes"],
            "used": sum(block["bytes"] for block in one["blocks"]),
            "stream": one["stream"],
            "blocks": len(one["blocks"]),
        }
        for one in found["segments"]
    ]
    names = ("address", "bytes", "used", "stream", "blocks")
    assert segments == [{name: one[name] for name in names} for one in said["segments"]]
    for one in found["segments"]:
        pieces = one["blocks"] + one["holes"]
        assert sum(piece["bytes"] for piece in pieces) == one["bytes"]


@pytest.mark.parametrize("environment", [None, EXPANDABLE], ids=["plain", "expandable"])
@pytest.mark.parametrize("moment", ["peak", "end"])
def test_the_causes_sum_to_what_torch_reserved(
    lab: Lab, moment: str, environment: dict[str, str] | None
) -> None:
    run = lab.once(PROGRAM, environment=environment)
    said = run.said[moment]
    found = report(lab, "fragmentation", run.trace, moment)
    causes = found["causes"]
    assert sum(causes.values()) == found["reserved_bytes"] == said["reserved"]
    assert causes["live"] == said["allocated"]
    assert causes["live"] + causes["waiting"] == said["active"]
    assert (causes["unit"] + causes["partial"] > 0) == (environment is not None)
    if environment is None:
        whole = sum(one["bytes"] for one in said["segments"] if one["blocks"] == 0)
        assert causes["whole"] == whole
        pinned = sum(one["bytes"] - one["used"] for one in said["segments"] if one["blocks"])
        assert causes["pinned"] == pinned


def test_free_bytes_of_pools_in_use_are_private_until_they_are_released(lab: Lab) -> None:
    found = report(lab, "fragmentation", lab.once("holds_a_pool.py").trace, "end")
    said = lab.once("holds_a_pool.py").said
    assert found["causes"]["private"] == said["free_in_pool"] > 0
    assert sum(found["causes"].values()) == said["reserved"]


def test_what_goes_back_without_a_line_is_what_does(lab: Lab) -> None:
    run = lab.once("pins_segments.py")
    lines = report(lab, "fragmentation", run.trace, "end")["lines"]
    sole = {one["location"].rpartition("(")[2].rstrip(")"): one["sole_bytes"] for one in lines}
    for name, bytes_back in run.said["back"].items():
        assert sole[name] == bytes_back, name
    assert any(run.said["back"].values())
