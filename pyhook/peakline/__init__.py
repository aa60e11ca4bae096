"""Shows which lines of a PyTorch program hold the GPU memory at its peak.

There are three ways to use it: ``peakline run train.py`` on the command line,
``LD_PRELOAD=$(peakline preload)``, or calls in the program::

    import peakline

    model = load()               # reported as "untraced"
    peakline.start_tracing()
    model(batch)
    peakline.stop_tracing()
    peakline.report_stats()

Importing this package starts nothing and imports neither torch nor the native libraries. The
modules that read recordings are imported on first use, because pytest imports the package for its
plugin wherever it is installed.
"""

import importlib
from typing import TYPE_CHECKING

from peakline.api.tracing import (
    Assumption,
    RecorderError,
    Status,
    TraceFile,
    assume,
    library_path,
    mark,
    phase,
    report_stats,
    reset,
    start_tracing,
    status,
    step,
    stop_tracing,
    switch_allocator,
    trace,
)

if TYPE_CHECKING:
    from peakline.api.holding import HeldBlock, Holder, Holders, holders
    from peakline.recording import Recording
    from peakline.recording import open_recording as open  # noqa: A004
    from peakline.recording.reports import advise, leaks, ledger, oom_report, whatif

__version__ = "0.1.0"

__all__ = [
    "Assumption",
    "HeldBlock",
    "Holder",
    "Holders",
    "Recording",
    "RecorderError",
    "Status",
    "TraceFile",
    "advise",
    "assume",
    "holders",
    "leaks",
    "ledger",
    "library_path",
    "mark",
    "oom_report",
    "open",
    "phase",
    "report_stats",
    "reset",
    "start_tracing",
    "status",
    "step",
    "stop_tracing",
    "switch_allocator",
    "trace",
    "whatif",
]

_LATER = {
    **dict.fromkeys(("HeldBlock", "Holder", "Holders", "holders"), "peakline.api.holding"),
    **dict.fromkeys(
        ("advise", "leaks", "ledger", "oom_report", "whatif"), "peakline.recording.reports"
    ),
    **dict.fromkeys(("Recording", "open"), "peakline.recording"),
}
_OTHER_NAMES = {"open": "open_recording"}  # their names in their modules

if not TYPE_CHECKING:  # mypy would accept any name

    def __getattr__(name: str) -> object:
        """Import a name of the API on first use."""
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(_LATER[name]), _OTHER_NAMES.get(name, name))
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(shell: object) -> None:
    """Add the cell magic ``%%peakline``; called by ``%load_ext peakline``."""
    from peakline.pages.notebook import PeaklineMagics

    shell.register_magics(PeaklineMagics)  # type: ignore[attr-defined]
