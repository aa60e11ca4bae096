"""Reads the content of a page: the devices of one trace, and outlines of several traces."""

from __future__ import annotations

import gzip
import json
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from peakline.base.device_names import is_gpu, is_worth_showing, name_of_device
from peakline.base.engine import report_engine
from peakline.base.faults import failing_alone
from peakline.base.files import reading
from peakline.recording.growth import UNITS, growth_of_file
from peakline.recording.plans import SNIPPET, frontier_of_file

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from peakline._report import Options, Trace
    from peakline.pages.files import ComparedLines
    from peakline.pages.options import PageOptions
    from peakline.pages.page import DeviceData

_MOST_FILES_BY_STEP = 64

_Read = TypeVar("_Read")


def read_devices(path: str, options: PageOptions) -> list[DeviceData]:
    """Return the device with the highest peak, and all others unless one was requested.

    They share the size budget.

    Raises:
        peakline._report.TraceError: it cannot be read, or has nothing to show.
    """
    engine = report_engine()
    budget = options.budget_megabytes * 1e6
    with reading(path) as trace:
        first = _read(trace, options, 1)
        others = _other_devices(first) if options.report.get("device") is None else []
        share = 1 + len(others)
        if others and len(gzip.compress(first.columns, 6)) > budget / share:
            first = _read(trace, options, share)
        pages = [first]
        for device in others:
            # A device may be idle in a part of the run.
            what = f"{name_of_device(device)} is not on the page"
            with suppress(engine.TraceError) if options.is_part else failing_alone(what):
                pages.append(_read(trace, options, share, device))
        return pages


def read_files(options: PageOptions, outlines: Sequence[str], shown: int) -> list[DeviceData]:
    """Return the devices of the shown file, and of all others if each is wanted.

    Raises:
        peakline._report.TraceError: the shown one cannot be read.
    """
    files = options.files
    if not options.each or len(files) < 2:
        return read_devices(files[shown], options)
    from peakline.pages.files import labels_of

    labels = labels_of(outlines)
    part = replace(options, budget_megabytes=options.budget_megabytes / len(files))
    devices = []
    for i in sorted(range(len(files)), key=lambda i: i != shown):
        nothing = nullcontext() if i == shown else failing_alone(f"{files[i]} is not in the page")
        with nothing:
            devices += [
                replace(one, file=i, label=_label_of(labels[i], one))
                for one in read_devices(files[i], part)
            ]
    return devices


def _label_of(label: str, device: DeviceData) -> str:
    """Return "rank 1", or "rank 1, CPU memory" for a device that is not the compared one."""
    number = json.loads(device.names)["device"]
    return label if is_gpu(number) else f"{label}, {name_of_device(number)}"


@dataclass(frozen=True)
class GrowthContent:
    """Growth as a page shows it: sentences for its summary, and the rows of `leaks` for its tab."""

    sentences: tuple[str, ...] = ()
    leaks: dict[str, Any] | None = None


def read_growth(path: str) -> GrowthContent:
    """Return the growth in a trace; nothing if it is not known."""
    with failing_alone("growth is not on the page"):
        sentences, document = growth_of_file(path)
        return GrowthContent(tuple(sentences), _leaks_of(document) if document else None)
    return GrowthContent()


def read_plan(path: str) -> dict[str, Any] | None:
    """Return the sets of layers that lower the peak, with the lines to paste; None: no plan."""
    plan = None
    # Traces that keep no times or no peak have no plan.
    with failing_alone("the plan is not on the page"), suppress(report_engine().TraceError):
        plan = frontier_of_file(path)
    return None if plan is None else {**plan, "snippet": "\n".join(SNIPPET)}


def _leaks_of(document: dict[str, Any]) -> dict[str, Any]:
    """Return the part of `leaks --json` that the page shows; `unit` is of its rates."""
    one, _ = UNITS[document["unit"]]
    by_time = document["unit"] == "time"
    rows = [
        {
            "key": row["key"],
            "bytes_per_unit": row["bytes_per_second" if by_time else "bytes_per_step"],
            "total_bytes": row["total_bytes"],
            "since": f"{row['first_seconds']:.3f} s" if by_time else f"{one} {row['first_step']}",
            "holders": [holder["path"] for holder in row["holders"]],
        }
        for row in document["growth"]
    ]
    return {"verdict": document["verdict"], "one": one, "device": document["device"], "rows": rows}


def read_outlines(page: PageOptions) -> list[str]:
    """Return the outlines of several traces; reads several traces at once, each in one pass.

    Raises:
        peakline._report.TraceError: one of them cannot be read; the text names it.
    """
    options = _without_stacks(page)

    def read(trace: Trace) -> str:
        return trace.outline(**options)

    return _read_each(page.files, read)


def read_step_levels(page: PageOptions) -> list[str | None]:
    """Return the levels by step of the first files; None: a trace without events.

    Raises:
        peakline._report.TraceError: one of them cannot be read; the text names it.
    """
    options = _without_stacks(page)

    def read(trace: Trace) -> str | None:
        return trace.step_levels(**options) if trace.info()["has_events"] else None

    return _read_each(page.files[:_MOST_FILES_BY_STEP], read)


def _without_stacks(page: PageOptions) -> Options:
    """Return the options of the page but for that of whole stacks, which compared files lack."""
    options = page.report.copy()
    options.pop("native", None)
    return options


def _read_each(paths: Sequence[str], read: Callable[[Trace], _Read]) -> list[_Read]:
    engine = report_engine()
    from peakline.runs.pool import reading_pool

    with reading_pool(paths) as pool:
        return list(pool.map(lambda path: read(engine.Trace(path)), paths))


def compared_lines(page: PageOptions) -> ComparedLines:
    """Return what is known of lines in two traces beyond their bytes.

    Within one run, and with more than two traces (ranks of a run), there is nothing.

    Raises:
        peakline._report.TraceError: one of them cannot be read.
    """
    from peakline.differences.compare import compare
    from peakline.differences.side import side_of_trace
    from peakline.pages.files import ComparedLines
    from peakline.recording import Recording

    engine = report_engine()
    paths = page.files
    runs = [engine.Trace(path).info()["run_uuid"] for path in paths] if len(paths) == 2 else []
    if not runs or (runs[0] == runs[1] and int(runs[0], 16)):
        return ComparedLines()
    options = _without_stacks(page)
    before, after = (side_of_trace(Recording(path), **options) for path in paths)
    rows = compare(before, after).rows
    moved = [(row.before.at.key, row.at.key) for row in rows if row.before and row.has_moved]
    return ComparedLines(moved, [(row.at.key, row.why) for row in rows if row.why])


def _read(
    trace: Trace, page: PageOptions, share: int, device: int | str | None = None
) -> DeviceData:
    from peakline.pages.page import DeviceData

    options = page.report.copy()
    if device is not None:
        options["device"] = device
    names, columns = trace.page(
        budget=page.budget_megabytes * 1e6 / share,
        from_seconds=page.from_seconds,
        to_seconds=page.to_seconds,
        with_source=page.has_source,
        **options,
    )
    return DeviceData(names, columns)


def _other_devices(first: DeviceData) -> list[int | str]:
    """Return the other devices that held anything: GPUs, then the host, the highest peak first."""
    page = json.loads(first.names)
    others = [one for one in page["phases"]["devices"] if one["device"] != page["device"]]
    others.sort(key=lambda one: (not is_gpu(one["device"]), -one["peak_bytes"]))
    return [one["device"] for one in others if is_worth_showing(one)]
