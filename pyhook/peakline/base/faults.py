"""Turns an unexpected error into one line, never a traceback.

Known errors are handled where they arise; this module handles the unknown ones.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from peakline.base.engine import CommandError
from peakline.base.output import say

_TRACEBACK = "PEAKLINE_TRACEBACK"  # set to anything: show the traceback
_PACKAGE = Path(__file__).parents[1]
_LONGEST = 300  # characters of the text of an error


def shows_traceback() -> bool:
    """Return whether the user wants a traceback."""
    return bool(os.environ.get(_TRACEBACK))


def is_expected(error: Exception) -> bool:
    """Return whether the text is meant for users: the error is of a command or of a trace."""
    engine = sys.modules.get("peakline._report")
    return isinstance(error, CommandError) or (
        engine is not None and isinstance(error, engine.TraceError)
    )


def sentence_of(error: Exception) -> str:
    """Return an error in one line: what, where, and what to do now."""
    if is_expected(error):
        return str(error)
    if isinstance(error, MemoryError):
        return "memory ran out: give a smaller file, or a machine with more memory"
    if isinstance(error, OSError) and error.strerror:
        named = f"{os.fsdecode(error.filename)}: " if error.filename else ""
        return f"{named}{error.strerror}"
    kind = type(error).__name__
    reason = " ".join(str(error).split())[:_LONGEST]
    what = f"{kind}: {reason}" if reason else kind
    return (
        f"this is a fault of peakline ({what}{_location_of(error)}); please report it, with the"
        f" file; {_TRACEBACK}=1 shows where"
    )


def _location_of(error: Exception) -> str:
    """Return the innermost of our lines in the traceback of the error."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename.startswith(str(_PACKAGE)):
            return f" in {Path(frame.filename).relative_to(_PACKAGE.parent)}:{frame.lineno}"
    return ""


@contextmanager
def failing_alone(what: str) -> Iterator[None]:
    """Report in one line that a part of the output is missing; the rest goes on."""
    try:
        yield
    except BrokenPipeError:
        raise
    except Exception as error:
        if shows_traceback():
            raise
        say(f"peakline: {what}: {sentence_of(error)}")
