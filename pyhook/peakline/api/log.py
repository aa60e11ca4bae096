"""The logger ``peakline`` for messages of the API; programs may configure it.

If the program configures no logging, messages go to standard error. ``PEAKLINE_LOG`` sets the
lowest level that is shown: ``debug``, ``info`` (the default), ``warning``, ``error``, or a number.
"""

from __future__ import annotations

import logging
import os

from peakline.base.output import say

_NAME = "peakline"
_VARIABLE = "PEAKLINE_LOG"


class _Terminal(logging.Handler):
    """Writes to the current standard error, unless handlers of the program receive the message."""

    def emit(self, record: logging.LogRecord) -> None:
        if logging.getLogger().handlers:
            return
        try:
            say(f"peakline: {record.getMessage()}")
        except OSError:
            self.handleError(record)


def logger() -> logging.Logger:
    """Return the logger; the first call sets its level, unless the program has set one."""
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
