"""Sizes of steps as people write them: of recordings, to predict, and of the samples of a file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_WORD = re.compile(r"(batch|length|new)=([0-9]+)")
_MOST = 1 << 20
# The parts of all samples that are at most so long; the last one is the longest sample.
_PARTS = (0.5, 0.9, 0.99, 1.0)


@dataclass(frozen=True)
class StepSize:
    """Samples at once, the length of each, and its new tokens in generate(); 0: not named."""

    batch: int = 0
    length: int = 0
    new: int = 0

    @property
    def words(self) -> str:
        """The size for the engine."""
        return f"{self.batch} {self.length}" + (f" {self.new}" if self.new else "")


@dataclass(frozen=True)
class Lengths:
    """The lengths of the samples of a file, by part of the samples: at most so long."""

    count: int
    by_part: tuple[tuple[float, int], ...]
    longest_line: int


def size_of_words(text: str) -> StepSize:
    """Return the size of "batch=8,length=512".

    Raises:
        ValueError: it is none.
    """
    found: dict[str, int] = {}
    for word in text.split(","):
        match = _WORD.fullmatch(word.strip())
        if match is None or not 1 <= int(match[2]) <= _MOST or match[1] in found:
            raise ValueError(f"'{text}' is no size: batch=8,length=512 (numbers up to {_MOST})")
        found[match[1]] = int(match[2])
    return StepSize(**found)


def recording_of_words(word: str) -> tuple[str, StepSize]:
    """Return the file and the size of "a.peak:batch=8,length=512", or of "a.peak".

    Raises:
        ValueError: the part behind the colon is no size.
    """
    path, colon, size = word.rpartition(":")
    if not colon or Path(word).exists():
        return word, StepSize()
    named = size_of_words(size)
    if named.new:
        raise ValueError(f"{word}: new= belongs to --at; a recording shows its new tokens")
    return path, named


def lengths_of(word: str) -> Lengths:
    """Read the lengths in a file: one number per line, or FILE:FIELD of JSON lines.

    A field that is a list has the length of the list.

    Raises:
        ValueError: a line has no length.
        OSError: the file cannot be read.
    """
    path, colon, field = word.rpartition(":")
    if not colon or Path(word).exists():
        path, field = word, ""
    counted: dict[int, int] = {}
    first_line: dict[int, int] = {}
    for number, length in _numbers(Path(path), field):
        counted[length] = counted.get(length, 0) + 1
        first_line.setdefault(length, number)
    if not counted:
        raise ValueError(f"{path}: no lengths in it")
    count = sum(counted.values())
    return Lengths(count, tuple(_parts(counted, count)), first_line[max(counted)])


def _parts(counted: dict[int, int], count: int) -> Iterator[tuple[float, int]]:
    lengths = iter(sorted(counted))
    length, below = 0, 0
    for part in _PARTS:
        while below < part * count:
            length = next(lengths)
            below += counted[length]
        yield part, length


def _numbers(path: Path, field: str) -> Iterator[tuple[int, int]]:
    with path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                value = json.loads(line)
                value = value[field] if field else value
            except (ValueError, TypeError, KeyError):
                value = None
            length = len(value) if isinstance(value, list) else value
            if isinstance(length, bool) or not isinstance(length, int) or length < 1:
                wanted = f"no number or list in {field!r}" if field else "no whole number"
                raise ValueError(f"{path}, line {number}: {wanted}")
            yield number, min(length, _MOST)
