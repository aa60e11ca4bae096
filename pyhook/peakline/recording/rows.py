"""The rows of reports: each field is the field of this name in report/render/JSON.md.

Bytes are integers, seconds count from the start of the trace. `row_of` makes a row from JSON; a
test compares the fields of each class with the engine's output.
"""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from dataclasses import dataclass
from typing import Any, TypeVar

Row = TypeVar("Row")


@dataclass(frozen=True)
class Location:
    """A frame: a line of Python, or a function of a library (``native``)."""

    file: str
    line: int
    function: str
    qualified_name: str
    native: bool

    def __str__(self) -> str:
        """Return the frame as tables write it."""
        return f"{self.file}:{self.line} ({self.qualified_name or self.function})"


@dataclass(frozen=True)
class Via:
    """The part of a row that one operator, or inner line, requested."""

    name: str | None
    bytes: int
    count: int


@dataclass(frozen=True)
class TableRow:
    """Memory of one line (module, category ...) at a moment."""

    key: str
    keys: tuple[str, ...]
    bytes: int
    cumulative_bytes: int
    median_bytes: int
    count: int
    backward_bytes: int
    share: float
    location: Location | None
    via: tuple[Via, ...]
    stack: tuple[Location, ...] = ()


@dataclass(frozen=True)
class AllocatorRow:
    """Allocations of one line (module ...) over the whole run."""

    key: str
    keys: tuple[str, ...]
    bytes: int
    count: int
    location: Location | None
    via: tuple[Via, ...]


@dataclass(frozen=True)
class LayerRow:
    """A module with everything that runs in it, over the whole run."""

    layer_name: str
    peak_allocated: int
    peak_reserved: int | None
    total_allocations: int
    total_deallocations: int
    avg_fragmentation: float | None
    duration_ms: float
    peak_held_bytes: int
    held_bytes: int
    allocated_bytes: int
    backward_bytes: int
    call_count: int


@dataclass(frozen=True)
class OperatorRow:
    """A call of an operator that allocates, and the levels after it."""

    op_index: int
    name: str
    op: str
    module: str | None
    phase: str
    step: int | None
    seconds: float
    delta_bytes: int
    alloc_count: int
    alloc_bytes: int
    allocated_bytes: int
    active_bytes: int
    reserved_bytes: int | None


@dataclass(frozen=True)
class StageLevels:
    """Values of torch's counters at the beginning or end of a stage, in bytes."""

    allocated: int
    cached: int | None
    max_allocated: int
    max_cached: int | None


@dataclass(frozen=True)
class StageRow:
    """The beginning or end of a module, a backward pass or an optimizer step."""

    step: int | None
    module: str
    stage: str
    mem: StageLevels
    seconds: float


@dataclass(frozen=True)
class TensorRow:
    """A block of memory with its whole lifetime."""

    bytes: int
    requested_bytes: int
    block_bytes: int
    device: int | str
    address: int
    name: str | None
    category: str
    module: str
    op: str
    phase: str
    step: str
    lifetime: str
    allocated_seconds: float
    freed_seconds: float | None
    held_by: str | None
    made_at: str
    freed_by: str
    create_stack: tuple[Location, ...]
    release_stack: tuple[Location, ...] | None
    shape: tuple[int, ...] | None = None
    dtype: str | None = None


@dataclass(frozen=True)
class PhaseRow:
    """A phase: forward, backward ..., or a region that the program named."""

    name: str
    step: int | None
    depth: int
    parent: int | None
    thread: int
    begin_seconds: float
    end_seconds: float
    begin_bytes: int
    end_bytes: int
    delta_bytes: int
    peak_bytes: int
    peak_seconds: float
    allocated_bytes: int
    freed_bytes: int
    alloc_count: int
    free_count: int


@dataclass(frozen=True)
class TimelinePoint:
    """A part of the run: the level at its beginning, and the highest level within."""

    seconds: float
    level_bytes: int
    max_bytes: int


@dataclass(frozen=True)
class AdviceRow:
    """A change that would lower the peak."""

    rule: str  # the cause; docs/findings.md has an entry for each
    kind: str  # fault, trade or fact
    title: str
    saves_bytes: int | None
    exact: bool
    held_bytes: int
    key: str | None
    location: Location | None
    other_keys: tuple[str, ...]  # further lines that hold a tenth of the peak or more
    evidence: str  # the evidence in the recording
    change: str | None  # None: no change is known
    try_: str | None  # "try" in JSON


@dataclass(frozen=True)
class LedgerRow:
    """A part of the device: torch, a library, the context ..."""

    kind: str
    name: str
    bytes: int
    count: int


def row_of(kind: type[Row], document: dict[str, Any]) -> Row:
    """Return a row from its JSON object; unknown fields are ignored."""
    values = {}
    hashable: Any = kind
    for name, read in _readers(hashable).items():
        key = name.rstrip("_")
        if key in document:
            values[name] = read(document[key])
    return kind(**values)


@functools.cache
def _readers(kind: Any) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    return {one.name: _reader(hints[one.name]) for one in dataclasses.fields(kind)}


def _reader(hint: Any) -> Any:
    """Return a function that makes a value of this type from its JSON."""
    if isinstance(hint, types.UnionType):
        inner = [one for one in typing.get_args(hint) if one is not type(None)]
        if len(inner) > 1:  # a number or a text
            return _same
        read = _reader(inner[0])
        return lambda value: None if value is None else read(value)
    if typing.get_origin(hint) is tuple:
        read = _reader(typing.get_args(hint)[0])
        return lambda values: tuple(map(read, values))
    if dataclasses.is_dataclass(hint):
        return functools.partial(row_of, typing.cast("type[Any]", hint))
    if hint in (int, str):
        # A damaged trace gives null.
        return lambda value: hint() if value is None else value
    return _same


def _same(value: Any) -> Any:
    return value
