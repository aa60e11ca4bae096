"""`peakline run --hold`: when to look for what keeps memory alive."""

from __future__ import annotations

import argparse
import re

_WORDS = re.compile(r"[1-9][0-9]*|end|[0-9]+(?:\.[0-9]+)?s")


def add_hold_argument(parser: argparse.ArgumentParser) -> None:
    """Add --hold."""
    parser.add_argument(
        "--hold",
        default="",
        metavar="STEP",
        help="Record what keeps the largest blocks alive, for peakline holders: after the STEPth"
        " step of an optimizer (where none is made: of peakline.step(), or batch of a DataLoader),"
        " at the end (end: as the main function returns, and when all is"
        " over), or at several of these (10,20,end); also when memory runs out, and on SIGUSR2. A"
        " search may take 2 seconds, or as given (100,5s)",
    )


def problem_of_hold(text: str) -> str:
    """Return what is wrong with a value of --hold, or ''."""
    words = text.split(",") if text else []
    for word in words:
        if not _WORDS.fullmatch(word):
            return f"--hold {text}: '{word}' is no step (100), no end, and no time (5s)"
    if words and all(word.endswith("s") for word in words):
        return f"--hold {text}: says how long, and not when: --hold 100,{words[0]}"
    return ""
