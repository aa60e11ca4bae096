"""`--steps`: end a program after some steps of its optimizers, or record only some of them."""

from __future__ import annotations

import argparse
import re

_RANGE = re.compile(r"([0-9]+)\.\.([0-9]+)?")
_ENDS = (
    "End the program with status 0 when its optimizers have made N steps; what it printed is"
    " flushed, its exit handlers do not run"
)


def add_steps_argument(parser: argparse.ArgumentParser) -> None:
    """Add the option that ends a program early; also without a simulated GPU."""
    parser.add_argument("--steps", type=int, metavar="N", help=_ENDS)


def add_recorded_steps_argument(parser: argparse.ArgumentParser) -> None:
    """Add the option of ``peakline run``, which takes ranges, too."""
    parser.add_argument(
        "--steps",
        metavar="N",
        help=f"{_ENDS}. A..B: record only steps A to B (5..8), or A.. from step A on; the program"
        " runs to its own end, and what it holds when step A begins is 'untraced'",
    )


def problem_of_steps(text: str | None, *, is_recorded: bool) -> str:
    """Return what is wrong with a value of --steps of ``peakline run``, or ''."""
    if text is None:
        return ""
    if text.lstrip("-").isdecimal():
        is_early = int(text) < 1
        return f"--steps {text}: a program can end after 1 step at the earliest" * is_early
    found = _RANGE.fullmatch(text)
    if found is None:
        return f"--steps {text}: give a number of steps (8), or those to record (5..8, 5..)"
    first, last = int(found[1]), found[2]
    if first < 1 or (last is not None and int(last) < first):
        return f"--steps {text}: steps count from 1, and the last is not before the first"
    if not is_recorded:
        return f"--steps {text} says what to record: leave --no-record out"
    return ""


def waited_steps(text: str | None) -> int:
    """Return how many steps pass before the recording begins."""
    found = _RANGE.fullmatch(text or "")
    return int(found[1]) - 1 if found else 0
