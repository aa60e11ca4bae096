"""The metrics of a recording: one table for ``export openmetrics`` and ``live --serve``.

Source of the format: https://prometheus.io/docs/specs/om/open_metrics_spec/.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from peakline.base.engine import report_engine
from peakline.base.output import printable

if TYPE_CHECKING:
    from peakline.recording import Recording

PREFIX = "peakline_"
CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
# The meanings by name; examples/monitoring/README.md has the same. Those with a device have a
# sample for each device, `category_bytes` and `line_bytes` one for each row.
METRICS: Mapping[str, str] = {
    "peak_bytes": "Highest level of allocated memory.",
    "end_bytes": "Allocated memory at the end, or now if the program runs.",
    "total_bytes": "Sum of all allocations.",
    "allocations": "Number of allocations.",
    "duration_seconds": "Length of the run.",
    "refused_requests": "Number of requests that ran out of memory.",
    "growth_bytes_per_hour": "Memory that steps add and keep, at the rate of the whole run.",
    "reserved_bytes": "Memory in the segments of torch.",
    "cached_bytes": "Reserved memory that no live block uses.",
    "other_bytes": "Used memory of the device beside torch: libraries, contexts, other processes.",
    "used_bytes": "Memory of the device in use.",
    "device_bytes": "Memory of the device.",
    "category_bytes": "Memory of each category.",
    "line_bytes": "Memory of each of the largest lines.",
}
_UNITS = ("bytes", "seconds")
_SECONDS_OF_HOUR = 3600
_LONGEST_LABEL = 200


@dataclass(frozen=True)
class Sample:
    """A value of a metric."""

    metric: str
    value: float
    labels: Mapping[str, str]


def samples_of(
    recording: Recording, *, at: str, line_count: int, device: str | None = None
) -> list[Sample]:
    """Return the metrics of a recording. Reserved memory, categories and lines are those `at`.

    Raises:
        peakline._report.TraceError: there is nothing to read.
    """
    summary = recording.document("summary", top=1)
    found = [*_of_run(recording, summary)]
    for one in summary["devices"]:
        labels = {"device": str(one["device"])}
        values = _of_device(recording, one, at)
        found += [Sample(metric, value, labels) for metric, value in values.items()]
    for by, count in (("category", 0), ("line", line_count)):
        table = recording.document("table", by=by, top=count, at=at, device=device)
        shown = {"device": str(table["device"])}
        found += [
            Sample(f"{by}_bytes", row["bytes"], {by: row["key"], **shown}) for row in table["rows"]
        ]
    return found


def _of_run(recording: Recording, summary: Mapping[str, Any]) -> Iterator[Sample]:
    seconds = summary["duration_seconds"]
    yield Sample("duration_seconds", seconds, {})
    refused = recording.document("stats", top=1)["records"]["out_of_memory"]
    yield Sample("refused_requests", refused, {})
    leaks = recording.document("leaks", top=0, findings=False)
    if not leaks["is_too_short"] and seconds:
        growing = [row for row in leaks["growth"] if not row["is_slow"]]
        per_second = sum(
            row["bytes_per_step"] * leaks["unit_count"] / seconds
            if row["bytes_per_step"] is not None
            else row["bytes_per_second"]
            for row in growing
        )
        yield Sample("growth_bytes_per_hour", per_second * _SECONDS_OF_HOUR, {})


def _of_device(recording: Recording, device: Mapping[str, Any], at: str) -> dict[str, float]:
    allocated = device["allocated"]
    values = {
        "peak_bytes": allocated["peak_bytes"],
        "end_bytes": allocated["live_at_end_bytes"],
        "total_bytes": allocated["total_allocated_bytes"],
        "allocations": allocated["alloc_count"],
    }
    with suppress(report_engine().TraceError):  # host memory, or a trace without the driver's calls
        ledger = recording.document("ledger", at=at, device=str(device["device"]))
        of_torch = [one for one in ledger["parts"] if one["kind"] == "torch"]
        reserved = sum(one["bytes"] for one in of_torch)
        live = sum(one["bytes"] for one in of_torch if one["name"] == "torch live")
        used = ledger["device_used_bytes"]
        values |= {"reserved_bytes": reserved, "cached_bytes": reserved - live}
        values |= {"other_bytes": used - reserved, "used_bytes": used}
        values["device_bytes"] = ledger["device_total_bytes"]
    return values


def metrics_text(samples: Sequence[Sample]) -> str:
    """Return samples in the format of OpenMetrics; the samples of a metric stand together.

    Names that differ only in parts that labels cannot have are one sample: their sum.
    """
    lines = []
    for metric, meaning in METRICS.items():
        of_metric: dict[str, float] = {}
        for one in samples:
            if one.metric == metric:
                labels = _labels(one.labels)
                of_metric[labels] = of_metric.get(labels, 0) + one.value
        if not of_metric:
            continue
        name = PREFIX + metric
        lines.append(f"# TYPE {name} gauge")
        lines += [f"# UNIT {name} {unit}" for unit in _UNITS if name.endswith(f"_{unit}")]
        lines.append(f"# HELP {name} {meaning}")
        lines += [f"{name}{labels} {value}" for labels, value in of_metric.items()]
    return "\n".join([*lines, "# EOF"]) + "\n"


def with_labels(samples: Iterable[Sample], labels: Mapping[str, str]) -> list[Sample]:
    """Return the samples with further labels, and texts of bounded length."""
    return [
        Sample(
            one.metric,
            one.value,
            {name: _shortened(text) for name, text in {**one.labels, **labels}.items()},
        )
        for one in samples
    ]


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_LABEL else f"...{text[-_LONGEST_LABEL:]}"


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    texts = [f'{name}="{_escaped(text)}"' for name, text in labels.items()]
    return "{" + ",".join(texts) + "}"


def _escaped(text: str) -> str:
    return printable(text).replace("\\", r"\\").replace('"', r"\"")
