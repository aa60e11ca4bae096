"""Facts about the processes of this machine, from /proc (proc(5))."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Mapping:
    """A file, or a part of one, in the memory of a process; ``span`` is "BEGIN-END" in hex."""

    span: str
    permissions: str
    offset: int
    path: str

    @property
    def begin(self) -> int:
        """The first address."""
        return int(self.span.partition("-")[0], 16)


def mappings_of(pid: int) -> list[Mapping]:
    """Return the mapped files of a process, in the order of their addresses.

    Raises:
        OSError: there is no such process, or it belongs to another user.
    """
    lines = Path(f"/proc/{pid}/maps").read_bytes().split(b"\n")
    found = (line.split(None, 5) for line in lines)
    return [
        Mapping(
            words[0].decode(),
            words[1].decode(),
            int(words[2], 16),
            os.fsdecode(words[5].replace(b"\\012", b"\n")),
        )
        for words in found
        if len(words) == 6 and words[5].startswith(b"/")
    ]


def command_of(pid: int) -> list[str]:
    """Return the words of a process's command line; none if it ended.

    Raises:
        OSError: it belongs to another user.
    """
    try:
        text = Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return text.decode(errors="replace").split("\0")[:-1]


def script_of(words: list[str]) -> str:
    """Return the Python script in a command line, or ''."""
    return next((word for word in words[1:] if word.endswith(".py")), "")


def process_ids() -> Iterator[int]:
    """Yield the ids of all processes."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            yield int(entry.name)


def descendants(pid: int) -> list[int]:
    """Return the children of a process, theirs, and so on."""
    parents: dict[int, list[int]] = {}
    for one in process_ids():
        try:
            stat = Path(f"/proc/{one}/stat").read_text()
        except OSError:
            continue
        # The name in parentheses may hold anything; the parent is the second word after it.
        parents.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(one)
    found: list[int] = []
    waiting = list(parents.get(pid, []))
    while waiting:
        one = waiting.pop()
        found.append(one)
        waiting += parents.get(one, [])
    return found
