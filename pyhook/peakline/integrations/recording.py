"""Makes sure that this process is recorded while it trains.

Under ``peakline run`` it is. Otherwise a recording of its own begins, with the default name of
``peakline run``, and ends with the training.
"""

from __future__ import annotations

import contextlib
import os
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from peakline.api import torch_support, tracing
from peakline.api.log import logger

if TYPE_CHECKING:
    from types import ModuleType


class ProcessRecording:
    """The recording of this process, begun here if nobody else did."""

    def __init__(self, output: str) -> None:
        """`output`: a name with the placeholders of ``peakline run -o``; "": the default."""
        self._output = output
        self._is_own = False
        self._was_tracing = False

    def begin(self) -> str:
        """Begin to record, unless the process is recorded; return why that is impossible, or ""."""
        # Under `peakline run` the recorder starts with CUDA.
        if self._is_own or torch_support.preloaded() or open_recorder() is not None:
            return ""
        from peakline.api.devices import missing_device

        missing = "" if os.environ.get("PEAKLINE_SIMULATED") else missing_device()
        if missing:
            return f"{missing} (peakline run --simulate h200 SCRIPT simulates one)"
        try:
            self._open()
        except (ImportError, OSError, tracing.RecorderError) as error:
            return str(error)
        recorder = open_recorder()
        if recorder is not None:
            logger().info("recording to %s", recorder.trace_path())
        return ""

    def end(self) -> Path | None:
        """End a recording that began here; return the trace, None if nothing was allocated."""
        recorder = open_recorder()
        path = Path(recorder.trace_path()) if recorder is not None else None
        is_empty = recorder is None or recorder.status()["allocs"] == 0
        if self._is_own:
            self._is_own = False
            tracing.end_trace(stop=not self._was_tracing)
            if is_empty and path is not None:
                path.unlink(missing_ok=True)
        return None if is_empty else path

    def _open(self) -> None:
        """Begin a trace. Nothing has to end it: a program may die while it trains."""
        tracing.switch_allocator()
        recorder = tracing.recorder_that_is_on("start_tracing")
        self._was_tracing = bool(recorder.status()["is_tracing"])
        wanted = Path(recorder.expand_trace_name(self._output)).absolute()
        for number in count(1):
            suffix = wanted.suffix if number == 1 else f".{number}{wanted.suffix}"
            with contextlib.suppress(FileExistsError):
                tracing.begin_trace(wanted.with_suffix(suffix), overwrite=False)
                break
        self._is_own = True


def open_recorder() -> ModuleType | None:
    """Return the recorder of this process, None if it writes no trace."""
    try:
        from peakline import _recorder
    except ImportError:
        return None
    return _recorder if _recorder.status()["is_on"] and _recorder.trace_path() else None
