"""The abilities of a terminal (colours, characters, columns), and texts cut to its columns."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from peakline.base.output import console_of, printable

if TYPE_CHECKING:
    from rich.console import Console

# rich, too, reads these as the wish to be treated as a terminal.
_TERMINAL_WISHES = ("FORCE_COLOR", "TTY_COMPATIBLE")
_LOCALE_VARIABLES = ("LC_ALL", "LANG")
_COLUMNS_OF_TEXT = 100
_EVERYTHING = "utf-8"  # the encoding of a terminal that has every character
_MOST_MARKS = 3  # accents and the like per character; a name may have thousands


@dataclass(frozen=True)
class Marks:
    """Our non-ASCII characters, which a terminal may lack, and its encoding."""

    gap: str
    branch: str
    last_branch: str
    trunk: str
    encoding: str

    @classmethod
    def ascii(cls) -> Marks:
        """Return the marks for a pipe or a file, which can hold every name."""
        return cls("...", "|-", "`-", "| ", _EVERYTHING)

    def shown(self, text: str) -> str:
        """Return the text with "?" for characters that the terminal lacks or would obey.

        The text direction is isolated. The result takes no more columns than the text.
        """
        text = printable(text)
        if text.isascii():
            return text
        if self.encoding != _EVERYTHING:
            text = "".join(character for character in text if not _is_mark(character))
        text = _with_few_marks(text).encode(self.encoding, "replace").decode(self.encoding)
        return f"\u2068{text}\u2069" if _has_direction(text) else text


@dataclass(frozen=True)
class Terminal:
    """A stream that is a terminal."""

    console: Console
    marks: Marks

    @property
    def width(self) -> int:
        """Its number of columns."""
        return self.console.width

    @property
    def is_interactive(self) -> bool:
        """Return whether a person can browse here, with every character."""
        is_dumb = self.console.is_dumb_terminal or self.marks.encoding != _EVERYTHING
        return sys.stdin.isatty() and self.console.file.isatty() and not is_dumb


def terminal_of(
    stream: TextIO, *, is_plain: bool = False, has_color: bool = True
) -> Terminal | None:
    """Return the terminal that `stream` writes to; None if the literal form must be written.

    NO_COLOR, FORCE_COLOR and TTY_COMPATIBLE have the same meaning as in rich.
    """
    if is_plain or not (stream.isatty() or any(map(os.environ.get, _TERMINAL_WISHES))):
        return None
    console = console_of(stream, no_color=None if has_color else True, soft_wrap=False)
    return Terminal(console, _marks_of(console.encoding)) if console.is_terminal else None


def text_of(stream: TextIO) -> Terminal:
    """Return the layout target for a file or a pipe: no colours, COLUMNS or 100 columns."""
    columns = os.environ.get("COLUMNS", "")
    width = int(columns) if columns.isdigit() and int(columns) > 0 else _COLUMNS_OF_TEXT
    console = console_of(stream, width=width, force_terminal=False, color_system=None)
    return Terminal(console, _marks_of(console.encoding))


def _marks_of(encoding: str) -> Marks:
    is_utf = encoding.lower().startswith("utf") and not _is_c_locale()
    if is_utf:
        return Marks("…", "├ ", "└ ", "│ ", _EVERYTHING)
    return Marks("...", "|-", "`-", "| ", "ascii" if _is_c_locale() else encoding)


def _is_c_locale() -> bool:
    """Return whether the user set the locale C, for which Python writes UTF-8 nevertheless."""
    names = (os.environ.get(name, "") for name in _LOCALE_VARIABLES)
    return next(filter(None, names), "") in ("C", "POSIX")


def _has_direction(text: str) -> bool:
    return any(unicodedata.bidirectional(one) in ("R", "AL", "AN") for one in text)


def _is_mark(character: str) -> bool:
    """Return whether a character takes no column of its own."""
    return unicodedata.category(character) in ("Mn", "Me", "Cf")


def _with_few_marks(text: str) -> str:
    kept: list[str] = []
    marks = 0
    for character in text:
        marks = marks + 1 if _is_mark(character) else 0
        if marks <= _MOST_MARKS:
            kept.append(character)
    return "".join(kept)


def cells(text: str) -> int:
    """Return the columns of a text; a wide character takes two."""
    from rich.cells import cell_len

    return len(text) if text.isascii() else cell_len(text)


def cut_end(text: str, room: int, gap: str) -> str:
    """Return the text in at most `room` columns, with its end cut off if it is longer."""
    if cells(text) <= room:
        return text
    return _taken(text, room - len(gap)) + gap if room > len(gap) else gap[:room]


def cut_middle(text: str, room: int, gap: str) -> str:
    """Return the text in at most `room` columns; cuts its middle, and keeps more of its end."""
    if cells(text) <= room:
        return text
    kept = room - len(gap)
    if kept < 2:
        return cut_end(text, room, gap)
    start, end = kept // 3, kept - kept // 3
    return _taken(text, start) + gap + _taken(reversed(text), end)[::-1]


def _taken(text: Iterable[str], room: int) -> str:
    taken: list[str] = []
    for character in text:
        room -= cells(character)
        if room < 0:
            break
        taken.append(character)
    return "".join(taken)
