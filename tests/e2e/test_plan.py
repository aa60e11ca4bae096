"""`peakline plan`: predicted peaks against torch's own of really run subsets, and its proof."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from lab import PROGRAMS

# The careful side of a prediction: it may be lower than the truth by so much.
SLACK = 64 << 10


@pytest.fixture(scope="module")
def trained(lab: Any) -> tuple[dict[str, Any], Path]:
    """Return what torch measured for subsets of two models, and the folder of their traces."""
    program = PROGRAMS / "plan_models.py"
    names = ("gpt", "postnorm")
    run = lab.unrecorded(lab.folder / "plan", sys.executable, str(program), "4", *names)
    return run.said, run.folder


def predicted(trace: Path, layers: list[str]) -> dict[str, Any]:
    from peakline._report import Trace

    opened = Trace(str(trace))
    known = json.loads(opened.report("plan", json=True, peak_budget=1))["all_layers"]
    # A path begins with its model where the process has several.
    own = [one for one in known if one.partition("h.")[1] and one[one.index("h.") :] in layers]
    assert len(own) == len(layers)
    return json.loads(opened.report("plan", json=True, peak_budget=1, layers=own))


def bytes_of(document: dict[str, Any]) -> int:
    return int(document["predicted"]["requested_bytes"])


@pytest.mark.parametrize("name", ["gpt", "postnorm"])
def test_one_recording_gives_an_upper_bound(trained: Any, name: str) -> None:
    said, folder = trained
    for layers, real in said[name]["peaks"][1:]:
        bound = bytes_of(predicted(folder / f"{name}.peak", layers))
        assert real - SLACK <= bound <= real * 1.15, layers


def test_the_cost_is_what_torch_counts(trained: Any) -> None:
    said, folder = trained
    from peakline._report import Trace

    trace = Trace(str(folder / "gpt.peak"))
    most = said["gpt"]["peaks"][0][1]
    document = json.loads(trace.report("plan", json=True, peak_budget=most - 1))
    [change] = [one for one in document["plan"] if one["layers"]]
    counted = said["gpt"]["flops"] * len(change["layers"])
    assert change["cost_flops"] == pytest.approx(counted, rel=0.01)
    # Layers that cost the same: the first ones are the best.
    assert change["layers"] == said["gpt"]["layers"][: len(change["layers"])]


def test_an_impossible_budget_has_the_lowest_peak_and_what_holds_it(trained: Any, lab: Any) -> None:
    _, folder = trained
    result = lab.peakline("plan", "--budget", "1MiB", str(folder / "gpt.peak"))
    assert result.returncode == 0, result.stderr
    assert "No set of layers fits: the lowest peak is" in result.stdout
    assert re.search(r"parameter", result.stdout)
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_the_plan_runs_on_a_device_where_a_cheaper_one_does_not(lab: Any) -> None:
    program = str(PROGRAMS / "plan_one.py")
    words = ("plan", "--try", program, "--simulate", "h200", "--budget", "300MiB", "--json")
    result = lab.peakline(*words, "--python", lab.python)
    assert result.returncode == 0, result.stderr + result.stdout
    document = json.loads(result.stdout)
    assert document["run"]["fits"] and document["proof"]["cheaper_refuted"]
    assert abs(document["run"]["difference_bytes"]) < document["baseline_bytes"] // 50
    [change] = [one for one in document["plan"] if one["layers"]]
    assert 0 < change["cost_share"] < 0.34


@pytest.mark.parametrize(
    ("case", "reason"),
    [("twice", "several times"), ("reentrant", "keep values for a backward pass")],
)
def test_layers_that_it_cannot_judge_are_left_out(
    lab: Any, tmp_path: Path, case: str, reason: str
) -> None:
    run = lab.run("plan_one.py", case)
    document = json.loads(lab.report("plan", run.trace, "--budget", "1MiB", "--json"))
    assert document["all_layers"] == []
    assert any(reason in sentence for sentence in (*document["left_out"], document["refusal"]))
    assert document["refusal"]
