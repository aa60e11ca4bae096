"""Which lines of a PyTorch program hold the GPU memory at its peak.

Three ways in: ``peakline run train.py`` on the command line, ``LD_PRELOAD=$(peakline preload)``,
or in the program::

    import peakline

    model = load()               # reported as "untraced"
    peakline.start_tracing()
    model(batch)
    peakline.stop_tracing()
    peakline.report_stats()

Importing this package starts nothing and imports neither torch nor the native libraries.
"""

from peakline.holding import HeldBlock, Holder, Holders, holders
from peakline.recording import Recording
from peakline.recording import open_recording as open  # noqa: A004
from peakline.reports import advise, leaks, ledger, oom_report, whatif
from peakline.tracing import (
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


def load_ipython_extension(shell: object) -> None:
    """Add the cell magic ``%%peakline``; called by ``%load_ext peakline``."""
    from peakline.notebook import PeaklineMagics

    shell.register_magics(PeaklineMagics)  # type: ignore[attr-defined]
