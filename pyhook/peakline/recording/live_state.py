"""The current state of a trace that is still written, for ``peakline live``. Prints nothing.

Nothing runs in the recorded program: the file is opened again each time, and read as far as the
recorder has committed it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peakline.base.device_names import is_gpu, memory_of_device, name_of_device
from peakline.base.engine import report_engine
from peakline.base.processes import descendants, mappings_of, process_ids

if TYPE_CHECKING:
    from peakline._report import Trace

# The pause between readings is at least this many times the duration of a reading.
PAUSE_SHARE = 4


@dataclass(frozen=True)
class LiveLine:
    """One line of the program, and the memory that it holds now."""

    key: str
    held_bytes: int
    block_count: int
    via: str  # the operators that it called in torch; "" if unknown


@dataclass(frozen=True)
class LiveState:
    """A trace at the moment it was read; bytes are the sum of all devices."""

    path: str
    pid: int
    is_being_written: bool
    seconds: float  # of the last event, since recording began; if the program ended: of its main
    level_bytes: int
    peak_bytes: int
    peak_seconds: float
    device_name: str
    device_bytes: int  # of all devices that hold memory; 0: unknown
    is_simulated: bool
    step: int | None  # the last one that began
    phase: str  # "" between phases
    peak_place: str  # step and phase of the peak
    lines: list[LiveLine]
    line_count: int
    levels: list[int]  # highest levels of equal parts of the time
    problems: list[str]


def read_state(trace: Trace, line_count: int, level_count: int) -> LiveState:
    """Read a trace that was just opened.

    Raises:
        peakline._report.TraceError: there is nothing to read yet, or never will be.
    """
    info = trace.info()
    options: dict[str, Any] = {"device": "all", "top": line_count}
    table = json.loads(trace.report("table", json=True, at="end", **options))
    phases = json.loads(trace.report("phases", json=True, device="all", top=1))
    timeline = json.loads(trace.report("timeline", json=True, top=level_count, device="all"))
    meta: dict[str, str] = info["meta"]
    # "all" is the sum of the GPUs; without a GPU, memory of the host is shown.
    devices: list[int | str] = [table["device"]]
    if table["device"] == "all":
        devices = [one["device"] for one in table["devices"] if is_gpu(one["device"])]
    end = float(timeline["end_seconds"])
    now = _phase_at(phases, end)
    if not info["is_being_written"]:  # objects are freed after the end of main
        summary = json.loads(trace.report("summary", json=True, top=1))
        end = float(summary["duration_seconds"])
    return LiveState(
        path=str(info["file"]),
        pid=int(info["pid"]),
        is_being_written=bool(info["is_being_written"]),
        seconds=end,
        level_bytes=int(table["total_bytes"]),
        peak_bytes=int(table["peak_bytes"]),
        peak_seconds=float(table["peak_seconds"]),
        device_name=_device_name(meta, devices),
        device_bytes=sum(memory_of_device(meta, one) for one in devices),
        is_simulated=bool(table["simulated"]),
        step=phases["steps"][-1]["step"] if phases["steps"] else None,
        phase=str(now["name"]) if now else "",
        peak_place=place_at(phases, float(table["peak_seconds"])),
        lines=[_line(row) for row in table["rows"]],
        line_count=int(table["row_count"]),
        levels=[int(point["max_bytes"]) for point in timeline["points"]],
        problems=[] if info["is_being_written"] else list(table["problems"]),
    )


def duration_of(seconds: float) -> str:
    """Return a duration for people: 12.3 s, 4:05 min, 2:31:07 h."""
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02} h" if hours else f"{minutes}:{rest:02} min"


def _phase_at(phases: dict[str, Any], seconds: float) -> dict[str, Any] | None:
    """Return the outermost phase of this moment; an open phase ends with the trace."""
    found: list[dict[str, Any]] = [
        one
        for one in phases["phases"]
        if one["depth"] == 0 and one["begin_seconds"] <= seconds <= one["end_seconds"]
    ]
    return found[-1] if found else None


def place_at(phases: dict[str, Any], seconds: float) -> str:
    """Return step and phase of a moment, of a report on phases: "step 3 backward"; '': neither."""
    phase = _phase_at(phases, seconds)
    if phase is None:
        return ""
    step = "" if phase["step"] is None else f"step {phase['step']} "
    return f"{step}{phase['name']}"


def _device_name(meta: dict[str, str], devices: list[int | str]) -> str:
    names = {meta.get(f"device.{one}.name", name_of_device(one)) for one in devices}
    many = f"{len(devices)} x " if len(devices) > 1 else ""
    return f"{many}{', '.join(sorted(names))}"


def _line(row: dict[str, Any]) -> LiveLine:
    via = [part["name"] for part in row["via"] if part["name"]]
    more = f", +{len(via) - 1} more" if len(via) > 1 else ""
    return LiveLine(
        key=str(row["key"]),
        held_bytes=int(row["bytes"]),
        block_count=int(row["count"]),
        via=f"{via[0]}{more}" if via else "",
    )


def traces_of_process(pid: int, is_trace: Callable[[str], bool]) -> list[str]:
    """Return the traces that this process and its descendants write, its own first.

    A recorder keeps the first page of its file mapped. `is_trace` is called for regular files that
    the processes share by a mapping.

    Raises:
        ProcessLookupError: there is no such process.
        PermissionError: it belongs to another user.
    """
    if not Path(f"/proc/{pid}").is_dir():
        raise ProcessLookupError(f"there is no process {pid}")
    return traces_of([pid, *descendants(pid)], is_trace)


def traces_of_machine(is_trace: Callable[[str], bool]) -> list[str]:
    """Return the traces that processes write now; those of other users cannot be seen."""
    return traces_of(sorted(process_ids()), is_trace, skips_others=True)


def traces_of(
    processes: Iterable[int], is_trace: Callable[[str], bool], *, skips_others: bool = False
) -> list[str]:
    """Return the traces that these processes write, in their order; see traces_of_process."""
    found: dict[str, None] = {}
    for one in processes:
        try:
            mapped = mappings_of(one)
        except (FileNotFoundError, ProcessLookupError):  # it ended meanwhile
            continue
        except PermissionError:
            if skips_others:
                continue
            raise
        files = dict.fromkeys(file.path for file in mapped if file.permissions.endswith("s"))
        # Opening a pipe or a device could block or have side effects.
        found.update(dict.fromkeys(one for one in files if Path(one).is_file() and is_trace(one)))
    return list(found)


def is_readable() -> Callable[[str], bool]:
    """Return a function that checks whether a file is a trace."""
    engine = report_engine()

    def is_trace(path: str) -> bool:
        try:
            engine.Trace(path)
        except engine.TraceError:
            return False
        return True

    return is_trace
