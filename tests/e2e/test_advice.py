"""`peakline advise`: what it says a change saves is what the changed program saves.

tests/programs/could_save.py has a training for each rule, with the fault and without. The oracle is
torch's own peak of both.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import peakline
import pytest
from lab import PROGRAMS

SOURCE = (PROGRAMS / "could_save.py").read_text()
RULES = re.findall(r"^    (\w+),$", SOURCE.split("RULES")[1], re.MULTILINE)
EXACT = {
    "zero_grad_late",
    "optimizer_temporaries",
    "optimizer_state",
    "optimizer_state_8bit",
    "held_to_next_step",
    "results_kept",
}
WITHIN_2_PERCENT = {"zero_grad_keeps", "checkpoint_layers"}


def advice(lab: Any, rule: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the document of a training with this fault, and what it says of the fault."""
    run = lab.once("could_save.py", rule)
    document = json.loads(lab.report("advise", run.trace, "--json"))
    assert document["peak_bytes"] == run.said[rule]
    found = [one for one in document["advice"] if one["rule"] == rule]
    assert len(found) == 1, document["advice"]
    return document, found[0]


def saved(lab: Any, rule: str) -> int:
    """Return what the mended training saves, by torch's own counters."""
    return (
        lab.once("could_save.py", rule).said[rule]
        - lab.once("could_save.py", "mended", recorded=False).said[rule]
    )


@pytest.mark.parametrize("rule", sorted(EXACT))
def test_an_exact_figure_is_the_measured_one(lab: Any, rule: str) -> None:
    _, found = advice(lab, rule)
    assert found["exact"]
    assert found["saves_bytes"] == saved(lab, rule) > 0


@pytest.mark.parametrize("rule", sorted(WITHIN_2_PERCENT))
def test_other_figures_are_within_2_percent(lab: Any, rule: str) -> None:
    _, found = advice(lab, rule)
    assert not found["exact"]
    assert found["saves_bytes"] == pytest.approx(saved(lab, rule), rel=0.02)


@pytest.mark.parametrize("rule", sorted(set(RULES) - EXACT - WITHIN_2_PERCENT))
def test_without_a_sure_figure_none_is_given(lab: Any, rule: str) -> None:
    _, found = advice(lab, rule)
    assert found["saves_bytes"] is None
    assert found["held_bytes"] > 0
    assert saved(lab, rule) > 0


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        ("zero_grad_late", "            optimizer.zero_grad()"),
        ("zero_grad_keeps", "        optimizer.zero_grad(set_to_none=MENDED)"),
    ],
)
def test_the_call_to_change_is_named(lab: Any, rule: str, code: str) -> None:
    _, found = advice(lab, rule)
    assert SOURCE.splitlines()[found["location"]["line"] - 1] == code


@pytest.mark.parametrize("rule", RULES)
def test_the_line_to_change_is_in_the_program(lab: Any, rule: str) -> None:
    _, found = advice(lab, rule)
    place = found["location"]
    assert Path(place["file"]).name == "could_save.py"
    assert f"could_save.py:{place['line']} " in found["key"]


ALONE = (
    "zero_grad_late",
    "zero_grad_keeps",
    "optimizer_state",
    "held_to_next_step",
    "graph_unused",
)


@pytest.mark.parametrize("rule", ALONE)
def test_nothing_else_is_blamed(lab: Any, rule: str) -> None:
    document, _ = advice(lab, rule)
    other = ["optimizer_state_8bit"] if rule == "optimizer_state" else []  # of the same blocks
    rules = [one["rule"] for one in document["advice"]]
    assert [one for one in rules if one != "large_line"] == [rule, *other]


def test_python_returns_the_same_document(lab: Any) -> None:
    run = lab.once("could_save.py", "zero_grad_late")
    document, _ = advice(lab, "zero_grad_late")
    known = ("rule", "title", "evidence", "change", "saves_bytes", "exact", "location")
    found = peakline.open(run.trace).advise().document["advice"]
    assert [[one[key] for key in known] for one in found] == [
        [one[key] for key in known] for one in document["advice"]
    ]


def test_the_text_gives_figures_and_changes(lab: Any) -> None:
    run = lab.once("could_save.py", "zero_grad_late")
    text = lab.report("advise", run.trace)
    assert re.search(r"^saves \d+\.\d+ MB  +Gradients of the step before", text, re.MULTILINE)
    assert "-> call zero_grad() directly after the optimizer's step()" in text
    # A path is not broken.
    assert max(len(line) for line in text.splitlines() if " at " not in line) <= 80
