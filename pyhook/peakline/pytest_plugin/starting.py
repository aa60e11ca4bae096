"""Starts the recording: pytest again under `peakline run`, or within this process.

``--peakline`` starts pytest again: only libraries loaded before torch can provide a simulated GPU.
Without it, tests with a marker are recorded within this process.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from peakline.pytest_plugin.options import Settings

# Set in a process that was started again: the folder of the traces.
_STARTED = "PEAKLINE_PYTEST"
WHY_NOT = pytest.StashKey[str]()  # reason why --peakline cannot record
_NO_TORCH = "torch is not installed here"


def was_started() -> bool:
    """Return whether this process was started again, or is a worker of one that was."""
    return bool(os.environ.get(_STARTED))


def folder_of_traces() -> Path:
    """Return the folder with the traces of a process that was started again."""
    return Path(os.environ[_STARTED])


def start_again(config: pytest.Config, settings: Settings) -> int | None:
    """Start pytest again, recorded, and return its status; None if that is impossible."""
    device = _device(settings)
    why_not = _why_not(simulated=bool(device))
    if why_not:
        config.stash[WHY_NOT] = why_not
        return None
    capture = config.pluginmanager.getplugin("capturemanager")
    if capture is not None:
        capture.stop_global_capturing()
    with tempfile.TemporaryDirectory(prefix="peakline-pytest-") as scratch:
        folder = Path(settings.traces or scratch).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        # Traces that will be removed need not be named.
        quiet = "-q" if settings.traces else "-qq"
        simulate = ["--simulate", device] if device else []
        command = [sys.executable, "-m", "peakline", "run", quiet, *simulate]
        command += ["-o", str(folder / f"{settings.traces_prefix}.%p.peak"), *_program()]
        words = [str(word) for word in config.invocation_params.args]
        environment = {**os.environ, _STARTED: str(folder)}
        process = subprocess.Popen(
            [*command, *words], env=environment, cwd=config.invocation_params.dir
        )
        while True:
            # Ctrl-C reaches that pytest too, and it must print its summary.
            with contextlib.suppress(KeyboardInterrupt):
                return process.wait()


def _program() -> list[str]:
    """Return the command of this pytest: only `python -m` puts the folder on sys.path."""
    script = Path(sys.argv[0])
    if script.name in ("pytest", "py.test") and script.is_file():
        return ["--", sys.executable, str(script)]
    return ["-m", "pytest"]


def _device(settings: Settings) -> str:
    """Return the device to simulate, '' for the real one."""
    from peakline.api.devices import missing_device

    return settings.simulate or ("h200" if missing_device() else "")


def _why_not(*, simulated: bool) -> str:
    if importlib.util.find_spec("torch") is None:
        return _NO_TORCH
    if not simulated:
        return ""
    from peakline.builds.native_build import BuildError, find_torch
    from peakline.builds.simulated_build import ensure_simulated_gpu, has_simulated_gpu

    try:
        torch = find_torch()
        if not has_simulated_gpu(torch):  # peakline run updates it
            ensure_simulated_gpu(torch)
    except BuildError as error:
        return error.in_short()
    return ""


class OwnRecording:
    """The recording of a process that runs without `peakline run`."""

    def __init__(self, settings: Settings) -> None:
        """Begin without a recording."""
        self._settings = settings
        self._open = contextlib.ExitStack()
        self._was_tried = False
        self.why_not = ""

    def begin(self) -> None:
        """Begin to record, once; `why_not` has the reason if that is impossible."""
        from peakline.api import torch_support

        # Under `peakline run` the recorder starts with CUDA.
        if self._was_tried or torch_support.preloaded():
            return
        self._was_tried = True
        self.why_not = self._begin()

    def end(self) -> None:
        """Close the file."""
        self._open.close()

    def _begin(self) -> str:
        import peakline
        from peakline.api.devices import missing_device

        if importlib.util.find_spec("torch") is None:
            return _NO_TORCH
        missing = "" if os.environ.get("PEAKLINE_SIMULATED") else missing_device()
        if missing:
            return f"{missing}; pytest --peakline simulates one"
        try:
            self._open.enter_context(peakline.trace(self._file(), overwrite=True))
        except (ImportError, OSError, peakline.RecorderError) as error:
            return str(error)
        return ""

    def _file(self) -> Path:
        kept = self._settings.traces
        folder = Path(
            kept or self._open.enter_context(tempfile.TemporaryDirectory(prefix="peakline-pytest-"))
        )
        return folder.absolute() / f"{self._settings.traces_prefix}.{os.getpid()}.peak"
