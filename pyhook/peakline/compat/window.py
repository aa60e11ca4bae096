"""The part of this process's recording that a facade covers."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import uuid
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import peakline
from peakline.exports.asked import Asked
from peakline.recording import Recording


class Window:
    """Covers the time from `start` to `stop`: a trace of its own, or a phase of the open one.

    A trace of its own is in a temporary folder until the process ends. If CUDA is already
    initialised, torch's allocator is observed, as with `peakline.start_tracing`.
    """

    def __init__(self) -> None:
        """Record nothing yet."""
        self._open = ExitStack()
        self._path: Path | None = None
        self._during: str | None = None
        self.is_running = False

    def start(self) -> None:
        """Begin."""
        folder = Path(tempfile.mkdtemp(prefix="peakline-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        target = folder / f"{uuid.uuid4().hex}.peak"
        trace = self._open.enter_context(peakline.trace(target))
        self._path = trace.path
        # Under `peakline run` the trace covers the whole process; the block is a phase of it.
        self._during = target.name if trace.path != target else None
        self.is_running = True

    def stop(self) -> None:
        """End the part; without `start` it does nothing."""
        self._open.close()
        self.is_running = False

    @property
    def has_begun(self) -> bool:
        """Whether `start` was called."""
        return self._path is not None

    def recording(self) -> Recording:
        """Return the recording, also while it goes on."""
        if self._path is None:
            raise peakline.RecorderError("nothing was recorded: start the tracer first")
        return Recording(self._path)

    def asked(self, device: str | None = None, min_bytes: int = 0) -> Asked:
        """Return the request for an export of this part."""
        return Asked(self._during or "peak", self._during, device, min_bytes)

    def options(self, **more: Any) -> dict[str, Any]:
        """Return the options of reports about this part."""
        return {"during": self._during, **more} if self._during else more
