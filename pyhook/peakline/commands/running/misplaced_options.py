"""Finds options of peakline after the program, where they are arguments of the program."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from peakline.base.next_commands import shell_words
from peakline.launch.simulation import problem_of_device

_SIMULATE = "--simulate"


def problem_of_device_behind(program: Sequence[str]) -> str:
    """Return a correction if a device is named after the program, else ''.

    Other options may belong to the program: see `misplaced`.
    """
    if program[:1] == ["--"]:
        return ""
    words = [part for word in program for part in _parts(word)]
    for at, word in enumerate(words[:-1]):
        if word == _SIMULATE and not problem_of_device(words[at + 1]):
            device = f"{_SIMULATE} {words[at + 1]}"
            rest = shell_words([*words[:at], *words[at + 2 :]])
            return (
                f"{device} follows the program, which would get it; put it first:"
                f" peakline run {device} {rest} (a program that takes it itself: run -- COMMAND)"
            )
    return ""


def _parts(word: str) -> list[str]:
    name, equals, value = word.partition("=")
    return [name, value] if equals and name == _SIMULATE else [word]


def misplaced(program: Sequence[str], own_options: Sequence[str]) -> list[str]:
    """Return the words after a program that are long options of `peakline run`."""
    if program[0] == "--":
        return []
    names = [word.split("=")[0] for word in program[1:]]
    own = {name for name in own_options if name.startswith("--")} - {"--help"}
    return [name for name in names if name in own]


def hint_of_options_behind(program: Sequence[str], behind: Sequence[str]) -> str:
    """Return a hint if a script gets options of `peakline run` that it does not name, or ''.

    `behind` is the result of `misplaced`. A script that has the name, with - or _, may take the
    option itself.
    """
    script = Path(program[0])
    if not behind or script.suffix != ".py":
        return ""
    try:
        text = script.read_text(errors="replace")
    except OSError:
        return ""
    foreign = [
        word for word in behind if not re.search(rf"\b{word[2:].replace('-', '[-_]')}\b", text)
    ]
    if not foreign:
        return ""
    return (
        f"{script} gets {', '.join(foreign)}, which it does not name; options of peakline run stand"
        f" before the script: peakline run {' '.join(foreign)} ... {shell_words([str(script)])}"
    )
