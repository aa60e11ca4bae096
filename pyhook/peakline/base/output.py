"""The one way out for text: to a terminal, a pipe, a file.

Names come from somebody else's program, trace or file: they may hold escape sequences of a
terminal, marks that turn the direction of text, and line breaks that would forge a line of ours.
Whoever writes gives lines; a line break within one is part of a name. The names themselves stay
true in JSON (escaped) and in binary formats. `printable` is the same function as
report/render/format/printable.h, which a test compares. tests/rules finds writing that goes around.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console

# Controls; marks of direction; separators of lines; what nobody sees; halves of characters, which
# stand for bytes that are no UTF-8 in names of files.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff"
    "\ufeff\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e007f]"
)


def printable(text: str, instead: str = "?", keep: str = "") -> str:
    """Return text without what a terminal would obey or hide, but for `keep`."""
    if text.isascii() and text.isprintable():
        return text
    return _UNSAFE.sub(lambda found: found[0] if found[0] in keep else instead, text)


class LinesError(Exception):
    """Its arguments are lines: one sentence, and what stands below it."""

    def __str__(self) -> str:
        """Return all lines."""
        return joined(self.args)

    def in_short(self) -> str:
        """Return the first and the last line: between them is what a compiler said."""
        return " ".join(dict.fromkeys((self.args[0], self.args[-1])))


def joined(lines: tuple[str, ...] | list[str]) -> str:
    """Return lines as one text, without an end of the last one."""
    return "\n".join(map(printable, lines))


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return "; did you mean NAME?" for the known name that is most alike, or ''."""
    import difflib

    near = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean {near[0]}?" if near else ""


def write_lines(*lines: str, to: TextIO | None = None) -> None:
    """Write lines to standard output, or to another stream."""
    _write("".join(f"{printable(line)}\n" for line in lines), to or sys.stdout)


def write_report(text: str, to: TextIO | None = None) -> None:
    """Write a text of several lines that the engine made, whose names are printable already."""
    _write(text, to or sys.stdout)


def say(*lines: str) -> None:
    """Write lines to standard error at once."""
    _write("".join(f"{printable(line)}\n" for line in lines), sys.stderr)


def say_error(error: Exception, what: str = "peakline: error") -> None:
    """Write an error to standard error; only a LinesError has several lines."""
    first, *more = error.args if isinstance(error, LinesError) else [str(error)]
    say(f"{what}: {first}", *more)


def _write(text: str, stream: TextIO | None) -> None:
    if stream is not None:  # the program has closed it before Python began
        stream.write(printable(text, keep="\n"))
        stream.flush()


def json_text(value: object, **layout: Any) -> str:
    """Return a value as JSON; names stay true, as escapes. `layout`: what json.dumps takes."""
    return _UNSAFE.sub(_json_escape, json.dumps(value, **layout))


def _json_escape(found: re.Match[str]) -> str:
    # A raw line break is of the layout: within a text json.dumps has escaped it.
    return "\n" if found[0] == "\n" else json.dumps(found[0])[1:-1].replace("\x7f", "\\u007f")


def write_json(value: object, indent: int | None = None) -> None:
    """Write a value as a JSON document to standard output."""
    write_report(json_text(value, indent=indent) + "\n")


def console_of(stream: TextIO, **options: Any) -> Console:
    """Return what draws on a terminal; names in it are text, never markup. It loads rich."""
    from peakline.base.console import SafeConsole

    return SafeConsole(file=stream, **options)
