"""What bytes are for, against torch's own memory timeline (torch.profiler) of the same run."""

from __future__ import annotations

import pytest
from lab import Lab, Run

# The timeline has no buffers: to it those of a batch norm are parameters (mean and variance, which
# are updated like them) and nothing (the counter).
BUFFERS = {"convolution": {"PARAMETER": 1024, "NONE": 512}}
SAME = {
    "PARAMETER": "parameter",
    "GRADIENT": "gradient",
    "OPTIMIZER_STATE": "optimizer state",
    "ACTIVATION": "activation",
    "INPUT": "input",
    "NONE": "workspace",  # of cuBLAS and cuDNN: memory that is no tensor
}
MODELS = ("perceptron", "convolution", "attention")
ROOT_GRADIENT = 512


@pytest.fixture(scope="module")
def run(lab: Lab) -> Run:
    return lab.once("timeline_categories.py")


def ours_at(lab: Lab, run: Run, moment: str) -> dict[str, int]:
    rows = lab.table(run.trace, "--by", "category", "--at", moment)["rows"]
    return {row["key"]: row["bytes"] for row in rows}


def sees_workspaces(lab: Lab, run: Run) -> bool:
    """Whether the timeline of this torch has all memory that is no tensor: that of 2.11 has not."""
    moment = "perceptron.0.forward"
    return ours_at(lab, run, moment).get("workspace", 0) == run.said[moment].get("NONE", 0)


def theirs_at(run: Run, moment: str) -> dict[str, int]:
    """The timeline's bytes, by our names; what it tells of buffers taken out."""
    told = dict(run.said[moment])
    buffers = BUFFERS.get(moment.split(".")[0], {})
    for category, size in buffers.items():
        told[category] -= size
    named = {SAME.get(category, category): size for category, size in told.items() if size}
    return {**named, "buffer": sum(buffers.values())} if buffers else named


@pytest.mark.parametrize("model", MODELS)
def test_categories_between_the_phases_are_the_timelines(lab: Lab, run: Run, model: str) -> None:
    moments = [moment for moment in run.said if moment.startswith(f"{model}.")]
    assert len(moments) == 6
    found = {moment: ours_at(lab, run, moment) for moment in moments}
    expected = {moment: theirs_at(run, moment) for moment in moments}
    if not sees_workspaces(lab, run):
        for categories in (*found.values(), *expected.values()):
            categories.pop("workspace", None)
    assert found == expected


@pytest.mark.parametrize("model", MODELS)
def test_categories_at_the_peak_are_the_timelines(lab: Lab, run: Run, model: str) -> None:
    if not sees_workspaces(lab, run):
        pytest.skip("the timeline of this torch lacks workspaces: its peak is another moment")
    ours, theirs = ours_at(lab, run, model), theirs_at(run, model)
    # Within the backward pass the timeline calls all that is neither a gradient nor kept from
    # before a detail of autograd: also what checkpointing computes again, to us activations ...
    recomputed = ours["activation"] - theirs["activation"] + ROOT_GRADIENT
    assert recomputed > 0 if model == "attention" else recomputed == 0
    # ... but not the gradient of the loss, which to it is an activation.
    ours["temporary"] += recomputed - ROOT_GRADIENT
    ours["activation"] -= recomputed - ROOT_GRADIENT
    theirs["temporary"] = theirs.pop("AUTOGRAD_DETAIL")
    assert ours == theirs
