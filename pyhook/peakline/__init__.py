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
    from peakline._report import TraceError
    from peakline.api.holding import HeldBlock, Holder, Holders, holders
    from peakline.differences.reports import check, diff, reserved_growth
    from peakline.launch.options import RunOptions
    from peakline.launch.recorded_run import RecordedRun, run, simulate
    from peakline.recording import Recording, Report
    from peakline.recording import open as open
    from peakline.runs.ranks import ranks

__version__ = "0.1.0"

# Not "open": `from peakline import *` would hide the builtin.
__all__ = [
    "Assumption",
    "HeldBlock",
    "Holder",
    "Holders",
    "RecordedRun",
    "RecorderError",
    "Recording",
    "Report",
    "RunOptions",
    "Status",
    "TraceError",
    "TraceFile",
    "assume",
    "check",
    "diff",
    "holders",
    "library_path",
    "mark",
    "phase",
    "ranks",
    "report_stats",
    "reserved_growth",
    "reset",
    "run",
    "simulate",
    "start_tracing",
    "status",
    "step",
    "stop_tracing",
    "switch_allocator",
    "trace",
]

_LATER = {
    **dict.fromkeys(("HeldBlock", "Holder", "Holders", "holders"), "peakline.api.holding"),
    **dict.fromkeys(("Recording", "Report", "open"), "peakline.recording"),
    **dict.fromkeys(("RecordedRun", "run", "simulate"), "peakline.launch.recorded_run"),
    **dict.fromkeys(("check", "diff", "reserved_growth"), "peakline.differences.reports"),
    "RunOptions": "peakline.launch.options",
    "ranks": "peakline.runs.ranks",
    "TraceError": "peakline._report",
}

if not TYPE_CHECKING:  # mypy would accept any name

    def __getattr__(name: str) -> object:
        """Import a name of the API on first use."""
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(_LATER[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_LATER})


def load_ipython_extension(shell: object) -> None:
    """Add the magics ``%%peakline`` and ``%peakline_live``; called by ``%load_ext peakline``."""
    from peakline.pages.notebook import PeaklineMagics

    shell.register_magics(PeaklineMagics)  # type: ignore[attr-defined]
