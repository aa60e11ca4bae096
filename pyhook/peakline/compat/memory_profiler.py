"""``MemoryTracer`` of pytorch-memory-tracing: the memory of a training step, without a GPU.

The estimate comes from the simulated GPU: ``peakline run --simulate h200 script.py``. On a real
device the same calls measure. All sizes are bytes; a device is a number or a torch.device.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import peakline
from peakline.base.output import joined
from peakline.compat.profiler_report import creation_lines, report_lines
from peakline.compat.window import Window
from peakline.exports import FORMATS

if TYPE_CHECKING:
    import torch

_MB = 1024 * 1024
_LOGGER = "peakline.memory_profiler"
_LEVEL = "MEMORY_PROFILER_LOG_LEVEL"
_PLAIN = "[%(levelname)s | %(name)s | %(asctime)s] %(message)s"


def get_logger(name: str) -> logging.Logger:
    """Return a logger below the one that `configure_logging` sets up."""
    return logging.getLogger(_LOGGER if name == _LOGGER else f"{_LOGGER}.{name}")


def configure_logging(
    level: int | None = None,
    log_to_file: bool = False,
    log_file: str | None = None,
    rich_format: bool = True,
) -> None:
    """Log to the terminal, and with `log_to_file` also to a file.

    Args:
        level: default ``MEMORY_PROFILER_LOG_LEVEL`` (a number), else INFO.
        log_to_file: also write `log_file`, by default ``memory_profiler.log``.
        log_file: name of the file.
        rich_format: log the message alone; otherwise level, name and time precede it.
    """
    logger = logging.getLogger(_LOGGER)
    logger.setLevel(level if level is not None else int(os.environ.get(_LEVEL, logging.INFO)))
    logger.propagate = False
    for old in list(logger.handlers):
        logger.removeHandler(old)
        old.close()
    console = logging.StreamHandler()
    console.setFormatter(logging.Formatter("%(message)s" if rich_format else _PLAIN))
    logger.addHandler(console)
    if log_to_file:
        file = logging.FileHandler(log_file or "memory_profiler.log")
        file.setFormatter(logging.Formatter(_PLAIN))
        logger.addHandler(file)


def _logger_of_its_own(level: int | None) -> logging.Logger:
    """Return a logger with this level that writes to the targets of `configure_logging`."""
    logger = logging.Logger(_LOGGER, logging.NOTSET if level is None else level)
    logger.parent = logging.getLogger(_LOGGER)
    return logger


class DeviceBytes(dict[int, int]):
    """Bytes by device number; lookups also accept a torch.device."""

    def __missing__(self, device: Any) -> int:
        """Return the bytes of a torch.device; 0 for an unknown device."""
        index = device if isinstance(device, int) else getattr(device, "index", None) or 0
        return self.get(index, 0)


class _Modules:
    """Replaces the dispatch mode of the reference tool; hooks are not needed here."""

    def register_hooks_to_module(self, module: Any) -> list[Any]:
        """Do nothing: a recording knows modules without hooks."""
        del module
        return []

    def remove_hooks(self, handles: list[Any]) -> None:
        """Do nothing."""


class MemoryTracer:
    """Traces the memory of a block: ``with MemoryTracer(device="cuda") as tracer``."""

    def __init__(self, device: str | torch.device = "cuda", log_level: int | None = None) -> None:
        """Prepare; nothing is recorded before the block."""
        if not logging.getLogger(_LOGGER).handlers:
            configure_logging()
        self._logger = _logger_of_its_own(log_level)
        self.device = device
        self.memory_dispatch_mode = _Modules()
        self._window = Window()
        self._levels: dict[str, DeviceBytes] = {}

    def __enter__(self) -> MemoryTracer:
        """Begin."""
        self._window = Window()
        self._window.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End; the measurements remain available."""
        self._levels = {name: _levels_now(name) for name in ("allocated", "max_allocated")}
        self._window.stop()

    def create_fake_tensor(
        self,
        *shape: int,
        dtype: torch.dtype | None = None,
        device: Any = None,
        requires_grad: bool = False,
    ) -> torch.Tensor:
        """Return a tensor of this shape; on the simulated GPU it has no values."""
        import torch

        dtype = torch.float16 if dtype is None else dtype
        made = torch.zeros(shape, dtype=dtype, device=device or self.device)
        return made.requires_grad_(requires_grad)

    def create_fake_tensor_from_tensor(
        self, tensor: torch.Tensor, device: Any = None
    ) -> torch.Tensor:
        """Return a tensor like this one on the device."""
        import torch

        return torch.zeros_like(tensor, device=device or self.device)

    def register_plugin(self, plugin: object) -> None:
        """Do nothing: the simulated device is below the libraries that plugins patch."""

    @contextlib.contextmanager
    def track_phase(self, name: str) -> Iterator[None]:
        """Name a part of the block."""
        with peakline.phase(name):
            yield

    def get_current_memory_allocated(self) -> DeviceBytes:
        """Return the allocated bytes of each device, now or at the end of the finished block."""
        return self._levels.get("allocated") or _levels_now("allocated")

    def get_max_memory_allocated(self) -> DeviceBytes:
        """Return the peak of each device in bytes."""
        return self._levels.get("max_allocated") or _levels_now("max_allocated")

    def get_memory_stats(self) -> dict[str, Any]:
        """Return the bytes of phases and modules by name."""
        recording = self._window.recording()
        phases = {one.name: one.peak_bytes for one in recording.phases() if one.name}
        layers = recording.layers(**self._window.options(top=0))
        return {
            "current": dict(self.get_current_memory_allocated()),
            "peak": dict(self.get_max_memory_allocated()),
            "phases": phases,
            "modules": {one.name: one.peak_held_bytes for one in layers},
        }

    def print_memory_stats(self, detailed: bool = False, header: str | None = None) -> None:
        """Log the report; `detailed` adds the allocations of each module in each phase."""
        lines = report_lines(self.get_memory_stats(), header)
        if detailed:
            lines += creation_lines(self._window.recording().events(**self._window.options()))
        self._logger.info("%s", joined(lines))

    def save_peak_snapshot(self, path: str | Path, min_memory_mb: float = 0.0) -> None:
        """Write the tensors that are live at the peak as JSON."""
        asked = self._window.asked(min_bytes=int(min_memory_mb * _MB))
        with Path(path).open("wb") as out:
            FORMATS["memory-snapshot"].write(self._window.recording(), asked, out)


def _levels_now(name: str) -> DeviceBytes:
    import torch

    count = torch.cuda.device_count()
    ask = torch.cuda.memory_allocated if name == "allocated" else torch.cuda.max_memory_allocated
    return DeviceBytes({device: ask(device) for device in range(count)})
