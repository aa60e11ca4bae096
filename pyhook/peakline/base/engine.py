"""Loads the extension modules, and defines the error of commands."""

from __future__ import annotations

from types import ModuleType

from peakline.base.output import LinesError


class CommandError(LinesError):
    """Bad use or bad input: shown as ``peakline: error: ...``, exit code 2."""


def report_engine() -> ModuleType:
    """Return the extension module, or raise an error that explains how to build it."""
    try:
        from peakline import _report
    except ImportError as error:
        raise CommandError(f"the report engine is not built ({error}); run: make build") from error
    return _report


def recorder() -> ModuleType:
    """Return the extension module, or raise an error that explains how to build it."""
    try:
        from peakline import _recorder
    except ImportError as error:
        raise CommandError(f"the recorder is not built ({error}); run: make build") from error
    return _recorder
