"""`peakline plan`: predicted peaks against torch's own of really run subsets, and its proof."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from lab import PROGRAMS


@pytest.fixture(scope="module")
def trained(lab: Any) -> tuple[dict[str, Any], Path]:
    """Return what torch measured for subsets of two models, and the folder of their traces."""
    program = str(PROGRAMS / "plan_models.py")
    names = ("gpt", "postnorm", "resnet", "hidden_mask")
    run = lab.unrecorded(lab.folder / "plan", sys.executable, program, "4", *names)
    lab.unrecorded(run.folder, sys.executable, program, "all", *names)
    return run.said, run.folder


def predicted(trace: Path, layers: list[str], recomputed: str = "") -> dict[str, Any]:
    from peakline._report import Trace

    opened = Trace(str(trace))
    known = json.loads(opened.report("plan", json=True, peak_budget=1))["all_layers"]
    # A path begins with its model where the process has several.
    own = [one for one in known if any(f".{one}".endswith(f".{layer}") for layer in layers)]
    assert len(own) == len(layers)
    text = opened.report("plan", json=True, peak_budget=1, layers=own, recomputed=recomputed)
    return json.loads(text)


def bytes_of(document: dict[str, Any]) -> int:
    return int(document["predicted"]["requested_bytes"])


@pytest.mark.parametrize("name", ["gpt", "postnorm", "resnet"])
def test_one_recording_is_careful(trained: Any, name: str) -> None:
    said, folder = trained
    for layers, real in said[name]["peaks"][1:]:
        assert real <= bytes_of(predicted(folder / f"{name}.peak", layers)) <= real * 1.03, layers


@pytest.mark.parametrize("name", ["gpt", "postnorm", "resnet", "hidden_mask"])
def test_two_recordings_are_careful(trained: Any, name: str) -> None:
    said, folder = trained
    other = str(folder / f"{name}.all.peak")
    for layers, real in said[name]["peaks"][1:]:
        document = predicted(folder / f"{name}.peak", layers, other)
        assert document["recordings"] == 2
        assert real <= bytes_of(document) <= real * 1.03, layers


def test_a_mask_that_a_recording_cannot_see_makes_it_no_upper_bound(trained: Any) -> None:
    said, folder = trained
    everything = said["hidden_mask"]["layers"]
    document = predicted(folder / "hidden_mask.peak", everything)
    assert bytes_of(document) < said["hidden_mask"]["peak_of_all"]
    assert not document["predicted"]["is_upper_bound"] and document["recordings"] == 1


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


def test_a_run_that_ran_out_of_memory_has_no_plan(lab: Any, tmp_path: Path) -> None:
    run = lab.recorded(tmp_path, str(PROGRAMS / "plan_one.py"), device="h200:900MiB")
    assert "OutOfMemoryError" in run.stderr
    # Its level never rose above this device, which did not hold it.
    for more in (("--budget", "h200"), ("--layers", "h.0")):
        document = json.loads(lab.report("plan", run.trace, *more, "--json"))
        assert not document["fits_as_it_is"] and not document["feasible"]
        assert "ran out of memory" in document["refusal"]
    assert "Peak so far" in lab.report("plan", run.trace, "--budget", "h200")


def test_edits_of_the_program_have_the_peaks_of_real_runs(lab: Any) -> None:
    from peakline._report import Trace

    program = str(PROGRAMS / "plan_edits.py")
    run = lab.unrecorded(lab.folder / "edits", sys.executable, program)
    assert run.status == 0, run.stderr
    trace = Trace(str(run.folder / "plain.peak"))
    budget = run.said["plain"] - 1
    document = json.loads(trace.report("plan", json=True, peak_budget=budget))
    edits = {one["rule"]: one for one in document["edits"]}
    assert edits["optimizer_state"]["peak_bytes"] == run.said["no_state"]
    # 8 chunks are what `advise` takes at least; no logits at all would be the most.
    chunks = edits["loss_of_all_tokens"]
    assert chunks["least_bytes"] < run.said["chunks"] <= chunks["peak_bytes"]
    assert chunks["found"]["layers"] == []
    state = edits["optimizer_state_8bit"]
    assert run.said["no_state"] < state["peak_bytes"] < run.said["plain"]
    both = edits["optimizer_state_8bit+loss_of_all_tokens"]
    assert both["peak_bytes"] < min(state["peak_bytes"], chunks["peak_bytes"])


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
