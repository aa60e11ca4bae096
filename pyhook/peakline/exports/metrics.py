"""A run as a few numbers: metrics for Prometheus, scalars for TensorBoard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

from peakline.monitor.metrics import metrics_text, samples_of

if TYPE_CHECKING:
    from peakline.exports.asked import Asked
    from peakline.recording import Recording

_LINES = 20  # largest lines of the moment


def write_openmetrics(recording: Recording, asked: Asked, out: BinaryIO) -> None:
    """Write metrics of the run and of the lines that hold memory at a moment."""
    samples = samples_of(recording, at=asked.at, line_count=_LINES, device=asked.device)
    out.write(metrics_text(samples).encode(errors="replace"))


def write_tensorboard(recording: Recording, _asked: Asked, out: BinaryIO) -> None:
    """Write the peak and the final level of every step, and of the phases within."""
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.record_writer import RecordWriter

    start = recording.info()["start_realtime_ns"] * 1e-9
    writer = RecordWriter(_Kept(out))
    writer.write(Event(wall_time=start, file_version="brain.Event:2").SerializeToString())

    def add(tag: str, step: int, seconds: float, value: float) -> None:
        summary: Any = Summary(value=[Summary.Value(tag=tag, simple_value=value)])
        event = Event(wall_time=start + seconds, step=step, summary=summary)
        writer.write(event.SerializeToString())

    for step in recording.steps():
        number = step.step or 0
        add("memory/peak_bytes", number, step.end_seconds, step.peak_bytes)
        add("memory/end_bytes", number, step.end_seconds, step.end_bytes)
    for phase in recording.phases():
        if phase.step is not None and phase.depth == 0:
            tag = f"memory/{phase.name}/peak_bytes"
            add(tag, phase.step, phase.end_seconds, phase.peak_bytes)
    writer.flush()


class _Kept:
    """A file that its writer must not close."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out

    def write(self, data: bytes) -> None:
        self._out.write(data)

    def flush(self) -> None:
        self._out.flush()

    def close(self) -> None:
        pass
