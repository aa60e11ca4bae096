"""Categories and phases of programs that do more than to call a module, against the objects."""

from __future__ import annotations

import json
from typing import Any

from lab import Lab


def phases_of(lab: Lab) -> list[dict[str, Any]]:
    return json.loads(lab.report("phases", lab.once("kept_blocks.py").trace, "--json"))["phases"]


def bytes_at(lab: Lab, moment: str) -> dict[str, int]:
    run = lab.once("kept_blocks.py")
    rows = lab.table(run.trace, "--by", "category", "--at", moment)["rows"]
    return {row["key"]: row["bytes"] for row in rows}


def test_passes_without_gradients_are_phases_of_their_own(lab: Lab) -> None:
    names = [phase["name"] for phase in phases_of(lab) if phase["depth"] == 0]
    first_backward = names.index("backward")
    # Those of the five passes, and that of the first step with its loss.
    assert names[:first_backward].count("forward") == 6


def test_a_loss_beside_the_module_is_an_activation(lab: Lab) -> None:
    said = lab.once("kept_blocks.py").said
    at_loss = bytes_at(lab, "after the loss@0")
    # The logarithm of the logits, which cross_entropy keeps, and more.
    assert at_loss["activation"] >= said["logits"]
    assert at_loss["input"] < said["batch"] + 4096


def test_what_outlives_its_step_is_kept_and_no_input(lab: Lab) -> None:
    said = lab.once("kept_blocks.py").said
    at_loss = bytes_at(lab, "after the loss@0")
    # The copies of the parameters, and the output of the last pass, which is no cache.
    assert at_loss["kept"] == said["average"] + said["outputs"]
    assert "cache" not in at_loss


def test_a_pass_that_dies_has_activations(lab: Lab) -> None:
    said = lab.once("kept_blocks.py").said
    assert bytes_at(lab, "dying")["activation"] >= said["logits"]


def test_zero_grad_belongs_to_the_step_before(lab: Lab) -> None:
    steps = [phase["step"] for phase in phases_of(lab) if phase["name"] == "zero_grad"]
    assert steps == [0, 0, 1, 1]
