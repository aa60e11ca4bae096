"""What holds memory, as the public asks about it: cycles, old errors, caches, and no more said."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from asking import PROGRAMS, cause_of

HOLD = ("-q", "--force", "-o", "run.peak", "--hold", "end")
# By program: the line that makes the block, and what is said to hold one made there.
ONLY_COLLECTOR = r": only the garbage collector frees it"
ANSWERS = {
    "cycle_of_hook": (
        r"Probe\.body\.weight in a reference cycle \(Probe\.body\._forward_hooks\[\d+\] -> self in"
        r" the closure of Probe\.__init__\.<locals>\.note_mean -> Probe\)" + ONLY_COLLECTOR
    ),
    "cycle_of_gradient": (
        r"Parameter\.grad in a reference cycle through a graph \(Parameter\.grad -> AccumulateGrad"
        r"( in its graph)? -> Parameter\): only setting \.grad to None frees it"
    ),
    "cycle_of_schedule": (
        r"Trainer\.\S+ in a reference cycle \(Trainer\.schedule\.lr_lambdas\[0\] -> self in the"
        r" closure of Trainer\.__init__\.<locals>\.<lambda> -> Trainer\)" + ONLY_COLLECTOR
    ),
    "held_by_exception": (
        r"kept\[0\] of step \({cause}\), in the traceback of OutOfMemoryError kept by"
        r" held_by_exception\.errors\[0\]"
    ),
    "held_by_cache": r"held_by_cache\.World\.example_count\.<tuple>\[0\]\.weight",
}
NOT_FOUND = "A block that is not found is held by C"


def searched(lab: Any, program: str, *options: str) -> tuple[Path, str]:
    run = lab.recorded(
        lab.folder / f"{program}-held", str(PROGRAMS / f"{program}.py"), options=(*HOLD, *options)
    )
    assert run.status == 0, run.stderr
    return run.trace, lab.report("holders", run.trace, "--top", "0")


@pytest.mark.parametrize("program", ANSWERS)
def test_the_holder_is_named_with_the_members_of_its_cycle(lab: Any, program: str) -> None:
    _, text = searched(lab, program)
    cause = re.escape(cause_of(PROGRAMS / f"{program}.py"))
    assert re.search(ANSWERS[program].replace("{cause}", cause), text), text
    assert NOT_FOUND not in text
    assert "held in C or C++" not in text


@pytest.mark.parametrize("program", ["twin_cycles_freed", "twin_many_objects"])
def test_of_what_variables_hold_no_cycle_is_said(lab: Any, program: str) -> None:
    trace, text = searched(lab, program)
    found = json.loads(lab.report("holders", trace, "--json"))
    assert found["is_complete"] is True
    assert found["known_object_count"] == found["object_count"]
    assert {block["holders"][0]["kind"] for block in found["blocks"]} == {"global"}
    for never in ("reference cycle", "time was up", NOT_FOUND):
        assert never not in text


def test_a_value_that_only_cpp_holds_is_said_to_be_that(lab: Any) -> None:
    trace, text = searched(lab, "twin_kept_in_script")
    assert NOT_FOUND in text
    assert "reference cycle" not in text
    found = json.loads(lab.report("holders", trace, "--json"))
    assert found["blocks"][0]["requested_bytes"] == 512 * 1024 * 4
    assert found["blocks"][0]["holders"] == []


def test_a_search_without_time_says_how_far_it_came_and_no_more(lab: Any) -> None:
    _, text = searched(lab, "cycle_of_hook", "--hold", "end,0.001s")
    assert re.search(r"[\d,]+ of about [\d,]{6,} objects searched", text)
    assert re.search(r"The time was up; of the other \d+ nothing is known", text)
    assert "not reached in the time of the search" in text
    for never in (NOT_FOUND, "reference cycle", "C++"):
        assert never not in text


def test_the_end_is_searched_before_the_variables_of_main_are_gone(lab: Any) -> None:
    trace, text = searched(lab, "held_in_main")
    cause = re.escape(cause_of(PROGRAMS / "held_in_main.py"))
    assert re.search(rf"results\[0\] of main \({cause}\)", text), text
    last = lab.report("holders", trace, "--search", "2")
    assert "Nothing was live any more: what functions held went when they returned" in last


def test_batches_that_are_evaluated_are_steps_of_leaks(lab: Any) -> None:
    run = lab.recorded(lab.folder / "evaluation-leaks", str(PROGRAMS / "results_kept.py"))
    found = json.loads(lab.report("leaks", run.trace, "--json"))
    assert (found["unit"], found["unit_count"]) == ("pass", 19)
    [row] = found["growth"]
    assert row["bytes_per_step"] == 64 * 256 * 4
    assert row["key"].split(" (")[0].endswith(cause_of(PROGRAMS / "results_kept.py"))
