"""A terminal for tests: runs a command on one of a given size and returns what it wrote.

Widths are counted with Python's own table of characters, not with the library that is tested.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Colours and weights: the only commands to the terminal that a report may write.
STYLE = re.compile(r"\x1b\[([0-9;]*)m")
UNWANTED = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "PYTHONIOENCODING")


@dataclass(frozen=True)
class Screen:
    """What a command wrote to its terminal."""

    status: int
    written: str

    @property
    def text(self) -> str:
        """Without colours and weights."""
        return STYLE.sub("", self.written).replace("\r\n", "\n")

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @property
    def styles(self) -> set[str]:
        """The numbers of all colours and weights."""
        return {number for found in STYLE.findall(self.written) for number in found.split(";")}


def on_terminal(
    *words: object,
    columns: int = 80,
    environment: Mapping[str, str] | None = None,
    cwd: Path = ROOT,
    timeout_seconds: float = 240,
) -> Screen:
    """Run `peakline` with standard output and standard error on a terminal."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    kept = {name: value for name, value in os.environ.items() if name not in UNWANTED}
    settings = {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "PYTHONPATH": str(ROOT / "pyhook")}
    process = subprocess.Popen(
        [sys.executable, "-m", "peakline", *map(str, words)],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**kept, **settings, **(environment or {})},
        cwd=cwd,
    )
    os.close(slave)
    written = b""
    while True:
        try:
            part = os.read(master, 1 << 16)
        except OSError:  # the last one has closed its end
            break
        if not part:
            break
        written += part
    os.close(master)
    return Screen(process.wait(timeout_seconds), written.decode("utf-8", "surrogateescape"))


def columns_of(line: str) -> int:
    """Return the columns that a terminal needs for a line."""
    return sum(map(_columns_of_character, line))


def _columns_of_character(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
