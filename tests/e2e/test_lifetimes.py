"""How long blocks are held, against a program that holds each of them for a known time."""

from __future__ import annotations

from typing import Any

import pytest
from lab import Lab

# Lifetime: the phase at whose peak the block is live.
WHEN = {
    "held to backward": "forward@1",
    "held to the end": "forward@1",
    "freed within the phase": "forward@1",
    "freed within the operator": "sorting@1",
    "held to the optimizer": "backward@1",
}


def rows_at(lab: Lab, phase: str) -> dict[str, Any]:
    run = lab.once("lifetimes.py")
    table = lab.table(run.trace, "--by", "lifetime", "--at", phase, "--measure", "requested")
    return {row["key"]: row for row in table["rows"]}


@pytest.mark.parametrize("lifetime", WHEN)
def test_a_block_is_held_as_long_as_the_program_holds_it(lab: Lab, lifetime: str) -> None:
    said = lab.once("lifetimes.py").said
    wanted = said["sizes"][lifetime]
    if lifetime == "held to the end":
        wanted += said["parameter"]
    row = rows_at(lab, WHEN[lifetime])[lifetime]
    # Beside it the scalars of the loss: a few bytes each.
    assert wanted <= row["bytes"] < wanted + 4096, row
