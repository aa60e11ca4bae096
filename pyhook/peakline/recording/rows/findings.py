"""The rows of reports that explain, compare or predict.

Each field is the field of this name in report/render/JSON.md; a test compares them. Bytes are
integers, seconds count from the start of the trace.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from peakline.recording.rows.memory import Location
from peakline.recording.rows.reading import named


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
    try_: str | None = field(metadata=named("try"))  # for `peakline advise --try`


@dataclass(frozen=True)
class PlanRow:
    """A set of layers to checkpoint: no cheaper set has this peak."""

    cost_flops: int | None  # recomputed in a step; None: shapes are unknown
    cost_share: float | None  # of the FLOPs of a step
    peak_bytes: int
    layers: tuple[str, ...]


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
    more_holder_count: int = field(metadata=named("more_holders"))


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
    shared: tuple[LedgerRow, ...]  # memory of other processes, and for them


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
    device_alloc_count: int = field(metadata=named("device_allocs"))
    device_free_count: int = field(metadata=named("device_frees"))
    retry_count: int = field(metadata=named("retries"))
    oom: RefusedRequest | None
    served_refusal_count: int = field(metadata=named("served_refusals"))
    first_served: RefusedRequest | None
    smallest_device_bytes: int | None
    is_worse: bool
