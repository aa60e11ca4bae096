"""``MemoryTracer`` of gpu_optimizer: levels by layer, fragmentation, timeline, flame graph."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peakline.base.output import write_lines
from peakline.compat.window import Window
from peakline.exports import FORMATS
from peakline.exports.asked import Asked
from peakline.exports.references import timeline_document

_GB, _MB = 1024**3, 1024**2


@dataclass
class LayerMemoryStats:
    """A layer in the traced part; bytes, fractions, milliseconds."""

    layer_name: str
    peak_allocated: int
    peak_reserved: int
    total_allocations: int
    total_deallocations: int
    avg_fragmentation: float
    duration_ms: float


@dataclass
class MemoryEvent:
    """An allocation, a free, or the beginning or end of a layer; seconds since the start, bytes."""

    timestamp: float
    event_type: str
    size_bytes: int
    layer_name: str | None
    allocated_bytes: int
    reserved_bytes: int
    fragmentation_ratio: float


class MemoryTracer:
    """Traces a model. ``max_events`` has no effect: a trace on disk holds every event."""

    def __init__(
        self,
        max_events: int = 100000,
        device: str = "cuda:0",
        enable_fragmentation_tracking: bool = True,
    ) -> None:
        """Prepare; nothing is recorded before `trace` or `start_tracing`."""
        self.max_events = max_events
        self.device = device
        self.enable_fragmentation_tracking = enable_fragmentation_tracking
        self._window = Window()
        self._names: set[str] | None = None
        self._finished: dict[str, Any] | None = None  # timeline of a finished part

    @contextlib.contextmanager
    def trace(self, model: Any) -> Iterator[MemoryTracer]:
        """Trace the ``with`` block, which uses `model`."""
        self.start_tracing(model)
        try:
            yield self
        finally:
            self.stop_tracing()

    def start_tracing(self, model: Any) -> None:
        """Begin a traced part."""
        if self._window.is_running:
            raise RuntimeError("Tracing already in progress")
        self._window, self._finished = Window(), None
        self._names = {name for name, _ in model.named_modules()} | {type(model).__name__}
        self._window.start()

    def stop_tracing(self) -> None:
        """End the traced part."""
        self._window.stop()

    @property
    def events(self) -> list[MemoryEvent]:
        """Every event of the traced part, in order."""
        return [MemoryEvent(**one) for one in self._document()["events"]]

    def get_layer_stats(self) -> dict[str, LayerMemoryStats]:
        """Return the layers of the model that allocated or hold memory, by name."""
        layers = self._document()["layer_stats"]
        return {name: LayerMemoryStats(**one) for name, one in layers.items()}

    def get_peak_memory_per_layer(self) -> dict[str, int]:
        """Return the highest level while each layer ran, in bytes."""
        return {name: one.peak_allocated for name, one in self.get_layer_stats().items()}

    def get_fragmentation_stats(self) -> dict[str, float]:
        """Return the mean of (reserved - allocated) / reserved while each layer ran."""
        return {name: one.avg_fragmentation for name, one in self.get_layer_stats().items()}

    def export_flame_graph(self, output_path: str) -> None:
        """Write the peak of the traced part for speedscope."""
        self._export("speedscope", output_path, f"Flame graph exported to: {output_path}")
        write_lines("View at: https://www.speedscope.app/")

    def export_timeline(self, output_path: str) -> None:
        """Write events, layers and totals as JSON."""
        self._export("memory-timeline", output_path, f"Timeline exported to: {output_path}")

    def print_summary(self) -> None:
        """Print totals and the five layers with the highest peaks."""
        if not self._window.has_begun:
            write_lines("No events recorded.")
            return
        document = self._document()
        summary = document["summary"]
        write_lines(
            "=" * 60,
            "Memory Tracer Summary",
            "=" * 60,
            f"Total Events: {summary['total_events']}",
            f"Total Layers: {summary['total_layers']}",
            f"Peak Allocated: {summary['peak_allocated_mb'] * _MB / _GB:.2f} GB",
            f"Peak Reserved: {summary['peak_reserved_mb'] * _MB / _GB:.2f} GB",
            f"Avg Fragmentation: {summary['avg_fragmentation']:.2%}",
            "",
            "Top 5 Layers by Peak Memory:",
            "-" * 60,
        )
        layers = sorted(document["layer_stats"].values(), key=lambda one: -one["peak_allocated"])
        for one in layers[:5]:
            size = one["peak_allocated"] / _MB
            share = one["avg_fragmentation"]
            write_lines(f"  {one['layer_name'][:50]:50s} {size:8.2f} MB  (frag: {share:.1%})")
        write_lines("=" * 60)

    def _asked(self) -> Asked:
        return self._window.asked(device=self.device.partition(":")[2] or "0")

    def _document(self) -> dict[str, Any]:
        if not self._window.has_begun:
            raise ValueError("No events recorded. Run tracing first.")
        if self._finished is not None:
            return self._finished
        document = timeline_document(self._window.recording(), self._asked())
        names = self._names or set()
        layers = {name: one for name, one in document["layer_stats"].items() if name in names}
        document["layer_stats"] = layers
        document["summary"]["total_layers"] = len(layers)
        self._finished = None if self._window.is_running else document
        return document

    def _export(self, name: str, output_path: str, message: str) -> None:
        if not self._window.has_begun:
            raise ValueError("No events recorded. Run tracing first.")
        Path(output_path).parent.mkdir(parents=True, exist_ok=True)
        with Path(output_path).open("wb") as out:
            FORMATS[name].write(self._window.recording(), self._asked(), out)
        write_lines(message)
