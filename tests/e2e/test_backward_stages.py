"""The backward stages of modules against torch's counters, read by two kinds of hooks.

A row is [step, module, stage, allocated, reserved, blocks made so far, bytes of the gradient it
was given].
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from lab import Lab

# The rows of the model itself stand for the pass as a whole, with the gradient of the loss.
WHOLE = {"chain": {"Sequential"}, "gpt2": {"GPT2LMHeadModel", "transformer"}}
LOSS_GRADIENT = 512
Key = tuple[int, str, str]


def seen(lab: Lab, model: str, who: str) -> list[list[Any]]:
    if model == "gpt2":
        pytest.importorskip("transformers")
    rows = lab.once("backward_levels.py", model, who).said["seen"]
    return [row for row in rows if row[1] not in WHOLE[model]]


def told(lab: Lab, model: str, who: str) -> dict[Key, list[int]]:
    trace = lab.once("backward_levels.py", model, who).trace
    stages = json.loads(lab.report("stages", trace, "--json", "--top", "0"))["stages"]
    rows = [row for row in stages if "backward" in row["stage"]]
    kept = [row for row in rows if row["module"] not in WHOLE[model]]
    levels = {
        (row["step"], row["module"], row["stage"]): [row["mem"]["allocated"], row["mem"]["cached"]]
        for row in kept
    }
    assert len(levels) == len(kept)  # every module has one backward pass in a step
    return levels


def largest_block(requested_bytes: int) -> int:
    """The allocator leaves up to 1 MiB at the end of a large block."""
    rounded = -(-requested_bytes // 512) * 512
    return rounded + (1 << 20 if rounded > 1 << 20 else 0)


def key(row: list[Any]) -> Key:
    return (row[0], row[1], row[2])


def test_backward_stages_are_the_levels_of_hooks_on_tensors(lab: Lab) -> None:
    rows = seen(lab, "chain", "tensors")
    found = told(lab, "chain", "tensors")
    assert len(rows) == 3 * 38
    wanted = {key(row): row[3:5] for row in rows}
    # The first modules of the chain end with the pass, after it has let the loss's gradient go.
    for row in rows:
        if row[1] in ("0", "0.norm") and row[2] == "post backward":
            wanted[key(row)][0] -= LOSS_GRADIENT
    assert found == wanted


@pytest.mark.parametrize("model", ["chain", "gpt2"])
def test_backward_calls_are_those_that_full_backward_hooks_see(lab: Lab, model: str) -> None:
    rows = seen(lab, model, "modules")
    found = told(lab, model, "modules")
    assert {key(row) for row in rows} == found.keys()
    assert len(rows) >= 3 * 38
    begins = [row for row in rows if row[2] == "pre backward"]
    assert {key(row): row[3:5] for row in begins} == {key(row): found[key(row)] for row in begins}


def test_full_backward_hooks_differ_by_the_gradients_they_keep(lab: Lab) -> None:
    found = told(lab, "chain", "modules")
    differing = 0
    given_to_open: dict[str, int] = {}
    for row in lab.once("backward_levels.py", "chain", "modules").said["seen"]:
        _, module, stage, allocated, reserved, _, given = row
        if stage == "pre backward":
            given_to_open[module] = largest_block(given)
            continue
        kept_by_hooks = sum(given_to_open.values())
        del given_to_open[module]
        if module in WHOLE["chain"]:
            continue
        difference = allocated - found[key(row)][0]
        assert 0 <= difference <= kept_by_hooks + LOSS_GRADIENT, row
        assert reserved == found[key(row)][1]
        differing += difference != 0
    assert differing >= 3 * 10
