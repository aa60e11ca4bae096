"""Runs the command lines of a page and compares their output with the page.

A fenced block of commands is run line by line: `peakline run` on a simulated device if its program
exists, and other commands if they read a trace that the page recorded. A block of text behind it
shows lines of the output, in their order; `...` stands for any lines, or for the rest of one.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
GAP = "..."


def commands_to_run(block: str, folder: Path) -> Iterator[list[str]]:
    """Return the words behind `peakline` of each line that can run in the folder."""
    for line in block.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["peakline"] and _has_its_input(words[1:], folder):
            yield words[1:]


def _has_its_input(words: Sequence[str], folder: Path) -> bool:
    if words[0] == "run" and "--simulate" not in words:
        return False
    inputs = [
        word
        for word, before in zip(words[1:], words, strict=False)
        if word.endswith((".py", ".peak")) and before not in ("-o", "--output")
    ]
    return bool(inputs) and all((folder / word).exists() for word in inputs)


def without_times(line: str) -> str:
    """Return a line without seconds, which differ from run to run."""
    return re.sub(r"\b\d+\.\d+ s\b", "N s", line.rstrip())


def missing_line(shown: Sequence[str], output: Sequence[str]) -> str | None:
    """Return the first line of a page that the output does not have in its place, else None."""
    at, free = 0, True
    for line in map(without_times, shown):
        if line == GAP:
            free = True
            continue
        start = re.escape(line.removesuffix(GAP).rstrip()) if line.endswith(GAP) else None
        last = len(output) if free else min(at + 1, len(output))
        found = next(
            (
                number
                for number in range(at, last)
                if (re.match(start, output[number]) if start else output[number] == line)
            ),
            None,
        )
        if found is None:
            return line
        at, free = found + 1, False
    return None


def faults_of_page(text: str, folder: Path, run: Callable[[list[str]], str]) -> Iterator[str]:
    """Return a line for each output that differs from the page; `run` returns an output."""
    output: list[str] | None = None
    for language, block in FENCED.findall(text):
        if language == "":
            outputs = [run(words) for words in commands_to_run(block, folder)]
            output = [without_times(line) for one in outputs for line in one.splitlines()]
        elif language == "text" and output:
            missing = missing_line(block.splitlines(), output)
            if missing is not None:
                yield "\n".join([f"no line: {missing}", "in:", *output])
