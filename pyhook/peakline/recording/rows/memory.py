"""The rows of reports about memory at a moment, or during the run.

Each field is the field of this name in report/render/JSON.md; a test compares them. Bytes are
integers, seconds count from the start of the trace.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from peakline.recording.rows.reading import named


@dataclass(frozen=True)
class Location:
    """A frame: a line of Python, or a function of a library (``native``)."""

    file: str
    line: int
    function: str
    qualified_name: str = ""
    native: bool = False
    code: str | None = None

    def __str__(self) -> str:
        """Return the frame as tables write it."""
        return f"{self.file}:{self.line} ({self.qualified_name or self.function})"


@dataclass(frozen=True)
class Via:
    """The part of a row that one operator, inner line, or line of the program requested."""

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
    callers: tuple[Via, ...] = ()
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

    name: str = field(metadata=named("layer_name"))
    peak_allocated_bytes: int = field(metadata=named("peak_allocated"))
    peak_reserved_bytes: int | None = field(metadata=named("peak_reserved"))
    alloc_count: int = field(metadata=named("total_allocations"))
    free_count: int = field(metadata=named("total_deallocations"))
    free_share: float | None = field(
        metadata=named("avg_fragmentation")
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

    allocated_bytes: int = field(metadata=named("allocated"))
    reserved_bytes: int | None = field(metadata=named("cached"))
    max_allocated_bytes: int = field(metadata=named("max_allocated"))
    max_reserved_bytes: int | None = field(metadata=named("max_cached"))


@dataclass(frozen=True)
class StageRow:
    """The beginning or end of a module, a backward pass or an optimizer step."""

    step: int | None
    module: str
    stage: str
    levels: StageLevels = field(metadata=named("mem"))
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
    saved_seconds: float | None
    freed_seconds: float | None
    held_by: str | None
    made_at: str
    saved_by: str | None
    freed_by: str
    create_stack: tuple[Location, ...]
    save_stack: tuple[Location, ...] | None
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
