"""Lists the commands to type next, within the width of the terminal."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TextIO

from peakline.base.output import say

_NEXT = "Next: "


def suggest_for(path: str, command: str) -> None:
    """Name the command to type next for one trace."""
    sys.stdout.flush()
    say(*next_commands([(f"{command} {shell_words([path])}", "")]))


def next_commands(commands: Sequence[tuple[str, str]]) -> list[str]:
    """Return the commands to type next, each with its description.

    The description is in a second column if the terminal has room for it, else on the next line.
    """
    column = max(len(command) for command, _ in commands)
    lines = [f"peakline {command:{column}}  {shows}".rstrip() for command, shows in commands]
    terminal = terminal_width(sys.stderr)
    if terminal and max(map(len, lines)) + len(_NEXT) > terminal:
        pairs = [(f"peakline {command}", f"    {shows}".rstrip()) for command, shows in commands]
        lines = [line for pair in pairs for line in pair if line]
    return [(" " * len(_NEXT) if number else _NEXT) + line for number, line in enumerate(lines)]


def shell_words(words: Iterable[str]) -> str:
    """Return words as a shell reads them, quoted where needed."""
    return shlex.join(words)


def shortened(text: str, width: int) -> str:
    """Return text in `width` columns, with its middle cut out if it is longer; 0: no limit."""
    if width == 0 or len(text) <= width:
        return text
    kept = max(width - 3, 20)
    return text[: kept // 3] + "..." + text[len(text) - (kept - kept // 3) :]


def shortener(width: int) -> Callable[[str, int], str]:
    """Return a function that cuts a text to the rest of a line, behind `used` columns; 0: no limit.

    However narrow the line is, 20 columns stay.
    """
    return lambda text, used: shortened(text, max(width - used, 20) if width else 0)


def terminal_width(stream: TextIO) -> int:
    """Return the columns of the terminal that `stream` writes to; 0 if it is no terminal."""
    return shutil.get_terminal_size().columns if stream.isatty() else 0
