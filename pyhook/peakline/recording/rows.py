"""The rows of reports: each field is the field of this name in report/render/JSON.md.

Bytes are integers, seconds count from the start of the trace. A field without a unit in the JSON
has another name here (`_named`). `row_of` makes a row from JSON; a test compares the fields of each
class with the engine's output.
"""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from dataclasses import dataclass, field
from typing import Any, TypeVar

Row = TypeVar("Row")


def _named(name_in_json: str) -> dict[str, str]:
    """Return the metadata of a field that has another name in JSON."""
    return {"json": name_in_json}


def json_name(one: dataclasses.Field[Any]) -> str:
    """Return the name of a field in JSON."""
    return str(one.metadata.get("json", one.name))


@dataclass(frozen=True)
class Location:
    """A frame: a line of Python, or a function of a library (``native``)."""

    file: str
    line: int
    function: str
    qualified_name: str = ""
    native: bool = False

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

    name: str = field(metadata=_named("layer_name"))
    peak_allocated_bytes: int = field(metadata=_named("peak_allocated"))
    peak_reserved_bytes: int | None = field(metadata=_named("peak_reserved"))
    alloc_count: int = field(metadata=_named("total_allocations"))
    free_count: int = field(metadata=_named("total_deallocations"))
    free_share: float | None = field(
        metadata=_named("avg_fragmentation")
    )  # of reserved bytes, on average
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
    """Values of torch's counters at the beginning or end of a stage."""

    allocated_bytes: int = field(metadata=_named("allocated"))
    reserved_bytes: int | None = field(metadata=_named("cached"))
    max_allocated_bytes: int = field(metadata=_named("max_allocated"))
    max_reserved_bytes: int | None = field(metadata=_named("max_cached"))


@dataclass(frozen=True)
class StageRow:
    """The beginning or end of a module, a backward pass or an optimizer step."""

    step: int | None
    module: str
    stage: str
    levels: StageLevels = field(metadata=_named("mem"))
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
    try_: str | None = field(metadata=_named("try"))  # for `peakline advise --try`


@dataclass(frozen=True)
class LedgerRow:
    """A part of the device: torch, a library, the context ..."""

    kind: str
    name: str
    bytes: int
    count: int


@dataclass(frozen=True)
class HolderPath:
    """A variable, graph or cycle that holds a block: `path` names it from its root."""

    kind: str
    path: str


@dataclass(frozen=True)
class HeldBlockRow:
    """A large block in a search for holders (``peakline run --hold``)."""

    block_bytes: int
    requested_bytes: int
    device: int | str
    address: int
    name: str | None
    module: str
    made_at: str
    holders: tuple[HolderPath, ...]
    more_holder_count: int = field(metadata=_named("more_holders"))


@dataclass(frozen=True)
class RefusedRow:
    """A request that a device could not serve. None: unknown."""

    number: int
    is_caught: bool
    seconds: float
    device: int
    stream: int
    step: int | None
    phase: str
    module: str
    location: str | None
    requested_bytes: int
    device_request_bytes: int
    free_bytes: int | None
    total_bytes: int | None
    limit_bytes: int | None
    live_bytes: int
    reserved_bytes: int
    waiting_bytes: int
    free_in_segments_bytes: int | None
    usable_bytes: int | None
    largest_free_block_bytes: int | None
    largest_of_other_streams_bytes: int | None
    largest_of_other_pools_bytes: int | None
    pinned_bytes: int | None
    other_pools_bytes: int | None
    outside_bytes: int | None
    other_process_bytes: int | None
    missing_bytes: int | None
    refused_by: str
    reason: str
    served_with: str | None


@dataclass(frozen=True)
class GrowthRow:
    """A line (module ...) that holds more from step to step. In a run without steps, per second."""

    key: str
    keys: tuple[str, ...]
    location: Location | None
    bytes_per_step: float | None
    blocks_per_step: float | None
    bytes_per_second: float | None
    blocks_per_second: float | None
    first_step: int | None
    first_seconds: float | None
    total_bytes: int
    steps_per_rise: int
    is_replaced: bool
    is_slow: bool
    is_certain: bool
    is_beside_inputs: bool
    holders: tuple[HolderPath, ...]


@dataclass(frozen=True)
class PinningRow:
    """A line with blocks in torch's segments, and the bytes that return when they are freed."""

    location: str | None
    own_bytes: int
    count: int
    oldest_seconds: float
    median_lived_seconds: float | None
    longest_lived_seconds: float | None
    freed_count: int
    sole_bytes: int
    sole_free_bytes: int
    shared_bytes: int


@dataclass(frozen=True)
class SegmentBlock:
    """A block in a segment; `is_waiting`: freed, but another stream still uses it."""

    address: int
    bytes: int
    requested_bytes: int
    is_waiting: bool
    location: str | None


@dataclass(frozen=True)
class SegmentHole:
    """A free range in a segment, and why it stays reserved."""

    address: int
    bytes: int
    cause: str


@dataclass(frozen=True)
class SegmentRow:
    """A segment of torch's allocator, with the blocks and the holes in it, by address."""

    address: int
    bytes: int
    stream: int
    pool: int
    is_expandable: bool
    blocks: tuple[SegmentBlock, ...]
    holes: tuple[SegmentHole, ...]


@dataclass(frozen=True)
class DifferenceRow:
    """A line (module ...) of two runs; `key_before` is None if only the second run has it."""

    key: str
    key_before: str | None
    bytes_before: int
    bytes_after: int
    delta_bytes: int
    count_before: int
    count_after: int
    location: Location | None


@dataclass(frozen=True)
class ProcessRow:
    """A process of a run, with its peak; `peak_at`: seconds since 1970, UTC."""

    rank: int | None
    attempt: int
    host: str
    pid: int
    file: str
    local_rank: int | None
    device: int | str
    peak_bytes: int
    peak_at: float
    phase: str | None
    step: int | None
    complete: bool
    too_low: str | None


@dataclass(frozen=True)
class RefusedRequest:
    """The first request that a device would refuse."""

    location: str | None
    requested_bytes: int
    seconds: float
    phase: str
    step: int | None


@dataclass(frozen=True)
class PredictedRow:
    """The run under other settings of torch's allocator; `oom` is None if it fits."""

    settings: str
    empties_cache: bool
    reserved_peak_bytes: int
    device_alloc_count: int = field(metadata=_named("device_allocs"))
    device_free_count: int = field(metadata=_named("device_frees"))
    retry_count: int = field(metadata=_named("retries"))
    oom: RefusedRequest | None
    served_refusal_count: int = field(metadata=_named("served_refusals"))
    first_served: RefusedRequest | None
    smallest_device_bytes: int | None
    is_worse: bool


def row_of(kind: type[Row], document: dict[str, Any]) -> Row:
    """Return a row from its JSON object; unknown fields are ignored."""
    hashable: Any = kind
    return kind(
        **{name: read(document[key]) for name, key, read in _readers(hashable) if key in document}
    )


@functools.cache
def _readers(kind: Any) -> list[tuple[str, str, Any]]:
    hints = typing.get_type_hints(kind)
    fields = dataclasses.fields(kind)
    return [(one.name, json_name(one), _reader(hints[one.name])) for one in fields]


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
