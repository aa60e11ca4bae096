"""The extension modules, and the error of a command."""

from __future__ import annotations

from types import ModuleType

from peakline.base.output import LinesError


class CommandError(LinesError):
    """Bad use or bad input: shown as ``peakline: error: ...``, exit code 2."""


def report_engine() -> ModuleType:
    """The extension module, or an error that says how to build it."""
    try:
        from peakline import _report
    except ImportError as error:
        raise CommandError(f"the report engine is not built ({error}); run: make build") from error
    return _report


def recorder() -> ModuleType:
    """The extension module, or an error that says how to build it."""
    try:
        from peakline import _recorder
    except ImportError as error:
        raise CommandError(f"the recorder is not built ({error}); run: make build") from error
    return _recorder
