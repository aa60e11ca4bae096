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

if TYPE_CHECKING:
    from types import ModuleType


class ProcessRecording:
    """The recording of this process, begun here if nobody else did."""

    def __init__(self, output: str) -> None:
        """`output`: a name with the placeholders of ``peakline run -o``; "": the default."""
        self._output = output
        self._own: contextlib.ExitStack | None = None

    def begin(self) -> str:
        """Begin to record, unless the process is recorded; return why that is impossible, or ""."""
        # Under `peakline run` the recorder starts with CUDA.
        if self._own is not None or torch_support.preloaded() or open_recorder() is not None:
            return ""
        from peakline.api.devices import missing_device

        missing = "" if os.environ.get("PEAKLINE_SIMULATED") else missing_device()
        if missing:
            return f"{missing} (peakline run --simulate h200 SCRIPT simulates one)"
        try:
            self._own = self._opened()
        except (ImportError, OSError, tracing.RecorderError) as error:
            return str(error)
        return ""

    def end(self) -> Path | None:
        """End a recording that began here; return the trace, None if nothing was allocated."""
        recorder = open_recorder()
        path = Path(recorder.trace_path()) if recorder is not None else None
        is_empty = recorder is None or recorder.status()["allocs"] == 0
        if self._own is not None:
            self._own.close()
            self._own = None
            if is_empty and path is not None:
                path.unlink(missing_ok=True)
        return None if is_empty else path

    def _opened(self) -> contextlib.ExitStack:
        tracing.switch_allocator()
        recorder = tracing.recorder_that_is_on("start_tracing")
        wanted = Path(recorder.expand_trace_name(self._output)).absolute()
        opened = contextlib.ExitStack()
        for number in count(1):
            suffix = wanted.suffix if number == 1 else f".{number}{wanted.suffix}"
            with contextlib.suppress(FileExistsError):
                opened.enter_context(tracing.trace(wanted.with_suffix(suffix)))
                break
        return opened


def open_recorder() -> ModuleType | None:
    """Return the recorder of this process, None if it writes no trace."""
    try:
        from peakline import _recorder
    except ImportError:
        return None
    return _recorder if _recorder.status()["is_on"] and _recorder.trace_path() else None
