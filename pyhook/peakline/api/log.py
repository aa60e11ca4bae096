"""What the API has to say: the logger ``peakline``, for programs that configure logging.

Where the program configures nothing, messages go to standard error. ``PEAKLINE_LOG`` is the lowest
level that is shown: ``debug``, ``info`` (the default), ``warning``, ``error``, or a number.
"""

from __future__ import annotations

import logging
import os

from peakline.base.output import say

_NAME = "peakline"
_VARIABLE = "PEAKLINE_LOG"


class _Terminal(logging.Handler):
    """Writes to standard error as it is then, unless the program's own handlers get the message."""

    def emit(self, record: logging.LogRecord) -> None:
        if logging.getLogger().handlers:
            return
        try:
            say(f"peakline: {record.getMessage()}")
        except OSError:
            self.handleError(record)


def logger() -> logging.Logger:
    """Return the logger; the first call sets its level, where the program has not."""
    found = logging.getLogger(_NAME)
    if not any(isinstance(one, _Terminal) for one in found.handlers):
        found.addHandler(_Terminal())
        if found.level == logging.NOTSET:
            found.setLevel(_level(os.environ.get(_VARIABLE, "")))
    return found


def _level(text: str) -> int:
    if text.isdigit():
        return int(text)
    known = {"debug": logging.DEBUG, "warning": logging.WARNING, "error": logging.ERROR}
    return known.get(text.lower(), logging.INFO)
