"""The only way for text to leave the product: to a terminal, a pipe or a file.

Names come from someone else's program, trace or file. They may hold terminal escape sequences,
marks of text direction, and line breaks that would forge a line of ours. Callers pass lines; a line
break within one is part of a name. JSON (escaped) and binary formats keep the names unchanged.
`printable` does the same as report/render/format/printable.h; a test compares them. tests/rules
finds output that bypasses this module.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console

# Control characters; marks of text direction; line separators; invisible characters; lone
# surrogates, which stand for bytes of file names that are not UTF-8.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff"
    "\ufeff\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e007f]"
)


def printable(text: str, instead: str = "?", keep: str = "") -> str:
    """Return text without characters that a terminal obeys or hides, except those in `keep`."""
    if text.isascii() and text.isprintable():
        return text
    return _UNSAFE.sub(lambda found: found[0] if found[0] in keep else instead, text)


class LinesError(Exception):
    """An error of several lines: a sentence, and the lines below it."""

    def __str__(self) -> str:
        """Return all lines."""
        return joined(self.args)

    def in_short(self) -> str:
        """Return the first and the last line; the lines between are output of a compiler."""
        return " ".join(dict.fromkeys((self.args[0], self.args[-1])))


def joined(lines: tuple[str, ...] | list[str]) -> str:
    """Return lines as one text, without a final line break."""
    return "\n".join(map(printable, lines))


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return "; did you mean NAME?" for the most similar known name, or ''."""
    import difflib

    near = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean {near[0]}?" if near else ""


def write_lines(*lines: str, to: TextIO | None = None) -> None:
    """Write lines to standard output, or to another stream."""
    _write("".join(f"{printable(line)}\n" for line in lines), to or sys.stdout)


def write_report(text: str, to: TextIO | None = None) -> None:
    """Write a text of several lines from the engine, whose names are already printable."""
    _write(text, to or sys.stdout)


def say(*lines: str) -> None:
    """Write lines to standard error and flush."""
    _write("".join(f"{printable(line)}\n" for line in lines), sys.stderr)


def say_error(error: Exception, what: str = "peakline: error") -> None:
    """Write an error to standard error; only a LinesError has several lines."""
    first, *more = error.args if isinstance(error, LinesError) else [str(error)]
    say(f"{what}: {first}", *more)


def _write(text: str, stream: TextIO | None) -> None:
    if stream is not None:  # None: closed before Python began
        stream.write(printable(text, keep="\n"))
        stream.flush()


def json_text(value: object, **layout: Any) -> str:
    """Return a value as JSON, names unchanged but escaped. `layout`: options of json.dumps."""
    return _UNSAFE.sub(_json_escape, json.dumps(value, **layout))


def _json_escape(found: re.Match[str]) -> str:
    # A raw line break belongs to the layout: json.dumps escapes line breaks within texts.
    return "\n" if found[0] == "\n" else json.dumps(found[0])[1:-1].replace("\x7f", "\\u007f")


def write_json(value: object, indent: int | None = None) -> None:
    """Write a value as a JSON document to standard output."""
    write_report(json_text(value, indent=indent) + "\n")


def console_of(stream: TextIO, **options: Any) -> Console:
    """Return a console that draws on a terminal; names in it are text, never markup. Loads rich."""
    from peakline.base.console import SafeConsole

    return SafeConsole(printable, file=stream, **options)
