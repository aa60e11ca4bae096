"""Lists the commands to type next, within the width of the terminal."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import TextIO

from peakline.base.output import say

_NEXT = "Next: "
_GOES_ON = " \\"
_LEAST_COLUMNS = 30
# Words of a shell: quoted parts, which may have spaces, and escaped characters belong to a word.
_SHELL_WORDS = re.compile(r"""(?:[^\s'"\\]|'[^']*'|"(?:[^"\\]|\\.)*"|\\.)+""")


def suggest_for(path: str, command: str) -> None:
    """Name the command to type next for one trace."""
    suggest([(f"{command} {shell_words([path])}", "")])


def suggest(commands: Sequence[tuple[str, str]]) -> None:
    """Name the commands to type next, each with its description."""
    sys.stdout.flush()
    say(*next_commands(commands))


def next_commands(commands: Sequence[tuple[str, str]]) -> list[str]:
    """Return the commands to type next, each with its description.

    The description is in a second column if the terminal has room for it, else on the next line.
    No line is wider than the terminal, unless a single word is.
    """
    column = max(len(command) for command, _ in commands)
    lines = [f"peakline {command:{column}}  {shows}".rstrip() for command, shows in commands]
    terminal = terminal_width(sys.stderr)
    room = max(terminal - len(_NEXT), _LEAST_COLUMNS)
    if terminal and max(map(len, lines)) > room:
        lines = [line for pair in commands for line in _below(*pair, room)]
    return [(" " * len(_NEXT) if number else _NEXT) + line for number, line in enumerate(lines)]


def _below(command: str, shows: str, room: int) -> list[str]:
    """Return a command, and its description below it, in lines of `room` columns.

    A command that is wider goes on in the next line behind a backslash, so that it can be copied.
    """
    whole = f"peakline {command}"
    lines = [whole] if len(whole) <= room else []
    line = ""
    for word in () if lines else _SHELL_WORDS.findall(whole):
        if line and len(f"{line} {word}") > room - len(_GOES_ON):
            lines.append(line + _GOES_ON)
            line = f"    {word}"
        else:
            line = f"{line} {word}" if line else word
    lines += [line] if line else []
    return lines + [f"    {line}" for line in textwrap.wrap(shows, room - 4)]


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
