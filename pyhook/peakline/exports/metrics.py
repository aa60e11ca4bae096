"""A run as a few numbers: metrics for Prometheus, scalars for TensorBoard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

from peakline.base.output import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from peakline.exports.asked import Asked
    from peakline.recording import Recording

_LINES = 20  # largest lines of the moment


def write_openmetrics(recording: Recording, asked: Asked, out: BinaryIO) -> None:
    """Write metrics of the run and of the lines that hold memory at a moment.

    Source of the format: https://prometheus.io/docs/specs/om/open_metrics_spec/.
    """
    summary = recording.document("summary", top=1)
    lines: list[str] = []

    def gauge(name: str, meaning: str, samples: Iterable[tuple[dict[str, str], float]]) -> None:
        lines.append(f"# TYPE peakline_{name} gauge")
        if name.endswith("_bytes"):
            lines.append(f"# UNIT peakline_{name} bytes")
        lines.append(f"# HELP peakline_{name} {meaning}")
        for labels, value in samples:
            lines.append(f"peakline_{name}{_labels(labels)} {value}")

    def of_devices(key: str) -> list[tuple[dict[str, str], float]]:
        return [
            ({"device": str(one["device"])}, one["allocated"][key]) for one in summary["devices"]
        ]

    gauge("peak_bytes", "Highest level of allocated memory.", of_devices("peak_bytes"))
    gauge("end_bytes", "Allocated memory at the end.", of_devices("live_at_end_bytes"))
    gauge("total_bytes", "Sum of all allocations.", of_devices("total_allocated_bytes"))
    gauge("allocations", "Number of allocations.", of_devices("alloc_count"))
    gauge("duration_seconds", "Length of the run.", [({}, summary["duration_seconds"])])
    lines.insert(len(lines) - 1, "# UNIT peakline_duration_seconds seconds")
    for by in ("category", "line"):
        table = recording.table(by=by, top=_LINES, at=asked.at, device=asked.device)
        gauge(
            f"{by}_bytes",
            f"Memory at {_escaped(table.document['at'])}, by {by}.",
            [({by: row.key}, row.bytes) for row in table],
        )
    out.write(("\n".join(lines) + "\n# EOF\n").encode(errors="replace"))


def _labels(labels: dict[str, str]) -> str:
    if not labels:
        return ""
    texts = [f'{name}="{_escaped(text)}"' for name, text in labels.items()]
    return "{" + ",".join(texts) + "}"


def _escaped(text: str) -> str:
    return printable(text).replace("\\", r"\\").replace('"', r"\"")


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
