"""The questions that people ask, and the clicks to their answers: `pytest -s` prints the table.

A click is a tab, or a button of the summary. An answer is an element that is visible on the screen
and has all words of it; they come from the commands.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import peakline._report as engine
from lab import Lab, Run
from peakline.base.sizes import size_of
from peakline.pages.data import read_page
from shown import Shown

Show = Callable[..., Shown]

# Whether any visible element has all of the words.
SHOWN = """(words) => [...document.querySelectorAll("main tr, main p, main h2, main li, main dl")]
    .some((one) => one.offsetParent && words.every((word) => one.textContent.includes(word)))"""
CLICKS = """() => [...document.querySelectorAll("#tabs button, #summary button")]
    .filter((one) => one.offsetParent).length"""
CLICK = """(number) => [...document.querySelectorAll("#tabs button, #summary button")]
    .filter((one) => one.offsetParent)[number].click()"""


def clicks_to(shown: Shown, words: list[str]) -> int:
    """The least number of clicks from the summary; 2: more than one."""
    shown.tab("summary")
    if shown.page.evaluate(SHOWN, words):
        return 0
    for number in range(shown.page.evaluate(CLICKS)):
        shown.tab("summary")
        shown.page.evaluate(CLICK, number)
        shown.drawn()
        if shown.page.evaluate(SHOWN, words):
            return 1
    return 2


def answers_of(lab: Lab, run: Run) -> dict[str, list[str]]:
    """The answer to each question about one run."""
    table = lab.table(run.trace)
    line = table["rows"][0]
    module = lab.table(run.trace, "--by", "module")["rows"][0]
    tensors = json.loads(lab.report("tensors", run.trace, "--json", "--at", "peak"))["tensors"]
    tensor = max(filter(lambda one: one["dtype"], tensors), key=lambda one: one["bytes"])
    advice = json.loads(lab.report("advise", run.trace, "--json"))
    page = read_page(engine.Trace(str(run.trace)))
    levels = page.columns["growth_level"] * int(page.names["byte_unit"])
    gained = int(levels[-1] - levels[1])
    return {
        "Which line holds most at the peak?": [size_of(line["bytes"]), Path(line["key"]).name],
        "Which module?": [size_of(module["bytes"]), module["key"]],
        "When is the peak, in which phase?": [
            f"{table['peak_seconds']:.3f} s",
            f"step {advice['step']} {advice['phase']}",
        ],
        "What grew between two steps?": [f"{'+' * (gained > 0)}{size_of(gained)}", "per step"],
        "Which tensors live across the peak?": [
            size_of(tensor["bytes"]),
            f"{tensor['dtype']} {tensor['shape']}",
            f"{tensor['allocated_seconds']:.3f} s",
        ],
        "What should I change?": [advice["advice"][0]["title"]],
    }


def test_every_question_is_answered_in_one_click(
    show: Show, lab: Lab, run: Run, rank_runs: list[Run], ranks_file: Path
) -> None:
    heaviest = max(rank_runs, key=lambda one: one.said["peak"])
    shown = show(file=ranks_file)
    shown.until("document.querySelector('#ranks tbody tr')")
    questions = answers_of(lab, heaviest)
    clicks = {question: clicks_to(shown, words) for question, words in questions.items()}
    clicks["Which rank is the heaviest?"] = clicks_to(
        shown, [size_of(heaviest.said["peak"]), "in rank 2"]
    )
    refused = json.loads(lab.report("oom", run.trace, "--json"))["ooms"][-1]
    why = [size_of(refused["requested_bytes"]), size_of(refused["free_bytes"])]
    clicks["Why did it run out of memory?"] = clicks_to(show(), why)
    width = max(map(len, clicks))
    print("\n" + "\n".join(f"{question:{width}}  {count}" for question, count in clicks.items()))
    assert len(clicks) == 8
    assert max(clicks.values()) <= 1, clicks
