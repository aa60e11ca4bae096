"""Refuses a torch snapshot in place of a trace, and suggests `peakline import`."""

from __future__ import annotations

import argparse
import zlib
from pathlib import Path

from peakline.base.engine import CommandError
from peakline.base.next_commands import shell_words
from peakline.imports.packed import open_unpacked

_PICKLE = 0x80  # pickle.PROTO, then the protocol
_PROTOCOLS = range(2, 6)
_TRACES = ("file", "files", "before", "after", "baseline")  # arguments that name traces


def refuse_snapshots(args: argparse.Namespace) -> None:
    """Refuse a pickle where the command takes a trace.

    Raises:
        CommandError: with the command that converts it to a trace.
    """
    if args.command == "import":
        return
    for name in _TRACES:
        value = getattr(args, name, None)
        for word in value if isinstance(value, list) else [value]:
            if isinstance(word, str) and is_pickle(Path(word)):
                words = shell_words([word])
                raise CommandError(
                    f"{word} is a pickle, as torch's snapshots are, and no trace; make one of it:"
                    f" peakline import {words}"
                )


def is_pickle(path: Path) -> bool:
    """Return whether a file begins like a pickle, gzipped or not."""
    if not path.is_file():
        return False
    try:
        with open_unpacked(path) as file:
            begin = file.read(2)
    except (OSError, EOFError, zlib.error):
        return False
    return len(begin) == 2 and begin[0] == _PICKLE and begin[1] in _PROTOCOLS


def trace_name(source: Path) -> str:
    """Return the name for the trace of a snapshot."""
    return f"{Path(source.name.removesuffix('.gz')).stem}.peak"
