"""`run --saved`: when autograd saves a block, and where, against torch's own hooks."""

from __future__ import annotations

import json
from typing import Any

from lab import PROGRAMS, Lab

PROGRAM = PROGRAMS / "saves_tensors.py"


def tensors_at_end(lab: Lab, trace: Any) -> list[dict[str, Any]]:
    return json.loads(lab.report("tensors", trace, "--json", "--at", "end", "--top", "0"))[
        "tensors"
    ]


def line_in_program(stack: list[dict[str, Any]]) -> int:
    return next(one["line"] for one in stack if one["file"].endswith(PROGRAM.name))


def test_each_block_was_first_saved_where_torch_says(lab: Lab) -> None:
    run = lab.run(PROGRAM.name, options=["--saved"])
    saved = [one for one in tensors_at_end(lab, run.trace) if one["saved_seconds"] is not None]
    saved.sort(key=lambda one: one["saved_seconds"])
    found = [[one["address"], line_in_program(one["save_stack"])] for one in saved]
    assert found == run.said["saved"]
    assert len(found) > 15
    operators = {one["saved_by"] for one in saved}
    assert {"aten::native_layer_norm", "aten::gelu", "aten::_softmax"} <= operators, operators
    for one in saved:
        assert one["allocated_seconds"] <= one["saved_seconds"]
        assert one["freed_seconds"] is None
    assert "Saved by" in lab.report("tensors", run.trace, "--at", "end")


def test_a_recording_that_cannot_see_it_says_so(lab: Lab) -> None:
    environment = {"PEAKLINE_TORCH_PART": "/none"}
    options = ["--saved", "--backend", "observe"]
    run = lab.run(PROGRAM.name, options=options, environment=environment)
    assert "what autograd saves is not visible here: --saved records nothing" in run.stderr
    assert len(tensors_at_end(lab, run.trace)) > 20


def test_nothing_is_recorded_of_it_without_the_option(lab: Lab) -> None:
    run = lab.run(PROGRAM.name)
    rows = tensors_at_end(lab, run.trace)
    assert {(one["saved_seconds"], one["saved_by"], one["save_stack"]) for one in rows} == {
        (None, None, None)
    }
    assert "Saved by" not in lab.report("tensors", run.trace, "--at", "end")
