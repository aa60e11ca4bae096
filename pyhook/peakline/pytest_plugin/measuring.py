"""Reads the memory use of tests from traces. Prints nothing and decides nothing.

A test is a phase of the recording, named after it; see `following.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peakline.base.sizes import size_of

if TYPE_CHECKING:
    from types import ModuleType

    from peakline.recording import Location, Recording

Device = int | str  # a number, or "all" for the sum
_BETWEEN_FRAMES = " <- "  # between frames in the keys of stacks
_RUNNERS = ("_pytest/", "pluggy/")  # as keys name their files
_TORCH = "torch/"
_UNITTEST = "/unittest/case.py:"
_WORKSPACE = "category=workspace"


@dataclass(frozen=True)
class Shown:
    """The amount of detail: lines (0: all), frames of each, and whether to show native ones."""

    lines: int
    frames: int = 1
    native: bool = False


@dataclass(frozen=True)
class Use:
    """The memory use of one device during a test."""

    device: Device
    peak_bytes: int
    begin_bytes: int
    alloc_count: int
    allocated_bytes: int

    @property
    def own_bytes(self) -> int:
        """Increase above the level at its beginning, in bytes."""
        return self.peak_bytes - self.begin_bytes


@dataclass(frozen=True)
class Left:
    """Bytes that a stack left allocated."""

    bytes: int
    frames: tuple[Location, ...]
    key: str  # the same as text


def recorder_that_is_on() -> ModuleType | None:
    """Return the recorder of this process, None if it is off, as before CUDA is initialised."""
    try:
        from peakline import _recorder
    except ImportError:
        return None
    return _recorder if _recorder.status()["is_on"] else None


def trace_of_process() -> Path | None:
    """Return this process's own recording, None if it writes none."""
    recorder = recorder_that_is_on()
    path = recorder.trace_path() if recorder is not None else ""
    return Path(path) if path else None


def alloc_count() -> int:
    """Return the number of allocations that the recorder of this process has seen."""
    recorder = recorder_that_is_on()
    return recorder.status()["allocs"] if recorder is not None else 0


def level_bytes(device: int) -> int:
    """Return the current level of a device in bytes."""
    recorder = recorder_that_is_on()
    return recorder.device_bytes(device, 0, False) if recorder is not None else 0


def uses_of_phases(trace: Path, device: Device | None = None) -> dict[str, list[Use]]:
    """Return the use of each GPU (or of the given device) in every phase that the program named."""
    import peakline
    from peakline._report import TraceError

    uses: dict[str, list[Use]] = {}
    try:
        recording = peakline.open(trace)
        first = recording.document("phases", device=device)
    except TraceError:  # it has no event yet, or not this device
        return uses
    if device is not None:
        _add_uses(uses, first, device)
        return uses
    for one in (listed["device"] for listed in first["devices"]):
        if isinstance(one, int):  # host memory belongs to no GPU
            known = one == first["device"]
            _add_uses(uses, first if known else recording.document("phases", device=one), one)
    return uses


def _add_uses(uses: dict[str, list[Use]], document: dict[str, Any], device: Device) -> None:
    for named in document["named"]:
        use = Use(
            device,
            named["peak_bytes"],
            named["begin_bytes"],
            named["alloc_count"],
            named["allocated_bytes"],
        )
        uses.setdefault(named["name"], []).append(use)


def lines_at_peak(trace: Path, phase: str, device: Device, shown: Shown) -> list[str]:
    """Return the lines that hold memory at the peak within a phase, as text."""
    import peakline

    by = "line" if shown.frames == 1 and not shown.native else "stack"
    rows = peakline.open(trace).table(
        during=phase, device=device, by=by, native=shown.native, top=shown.lines
    )
    lines = [line for row in rows for line in _lines_of(row.bytes, row.key, shown.frames)]
    return lines + _more(rows.document["row_count"] - len(rows))


def left_between(trace: Path, begin: str, end: str, device: Device) -> list[Left]:
    """Return the stacks that hold more at the phase `end` than at `begin`, the largest first.

    Workspaces of cuBLAS and the like stay by design; they are left out.
    """
    import peakline

    recording = peakline.open(trace)
    before = _bytes_at(recording, begin, device)
    before.update(_bytes_at(recording, end, device, _WORKSPACE))
    before.subtract(_bytes_at(recording, begin, device, _WORKSPACE))
    left = []
    for row in recording.table(at=end, device=device, by="stack", top=0):
        more = row.bytes - before[row.key]
        if more > 0:
            left.append(Left(more, row.stack, row.key))
    return sorted(left, key=lambda one: -one.bytes)


def lines_of_left(left: Sequence[Left], shown: Shown) -> list[str]:
    """Return the remaining allocations as lines of text."""
    kept = left[: shown.lines] if shown.lines else left
    lines = [line for one in kept for line in _lines_of(one.bytes, one.key, shown.frames)]
    return lines + _more(len(left) - len(kept))


def _bytes_at(
    recording: Recording, phase: str, device: Device, where: str | None = None
) -> Counter[str]:
    from peakline._report import TraceError

    try:
        rows = recording.table(at=phase, device=device, by="stack", top=0, where=where)
    except TraceError:  # CUDA was not initialised by then
        return Counter()
    return Counter({row.key: row.bytes for row in rows})


def _lines_of(count: int, key: str, frames: int) -> list[str]:
    """Return the key of a row as lines: the innermost frames, the size before the first."""
    size = size_of(count)
    locations = _from_outside_torch(_without_pytest(key.split(_BETWEEN_FRAMES)))
    indent = " " * (len(size) + 2)
    lines = [f"{size}  {locations[0]}", *(indent + location for location in locations[1:frames])]
    return [*lines, f"{indent}..."] if 1 < frames < len(locations) else lines


def _without_pytest(locations: list[str]) -> list[str]:
    """Return the frames up to the one that pytest (or unittest) called."""
    is_outside = (location.startswith(_RUNNERS) or _UNITTEST in location for location in locations)
    end = next((i for i, found in enumerate(is_outside) if found and i > 0), len(locations))
    return locations[:end]


def _from_outside_torch(locations: list[str]) -> list[str]:
    """Return the frames from the line that tables show; deep models have many of torch below."""
    start = next((i for i, location in enumerate(locations) if not location.startswith(_TORCH)), 0)
    return locations[start:]


def _more(count: int) -> list[str]:
    return [f"... and {count} more"] if count > 0 else []
