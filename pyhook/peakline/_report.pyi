"""The report engine: reads traces, makes reports. Built from report/."""

from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from typing import Any, TypedDict

from typing_extensions import Unpack

class Options(TypedDict, total=False):
    """Options of a report; defined only here, not in the module."""

    by: str
    frame: str
    at: str | float
    during: str | None
    device: str | int | None
    measure: str
    top: int
    hide: Sequence[str] | None
    symbols: Sequence[str] | None
    full_paths: bool
    cwd: str | None
    depth: int
    fold: bool
    min_bytes: int
    search: int
    findings: bool
    native: bool
    where: Sequence[str] | str | None
    settings: Sequence[str] | str | None
    device_memory: int
    empty_cache_at: str | None
    search_settings: bool
    smallest_device: bool
    unverified: bool
    peak_budget: int
    budget_of: str
    recomputed: str
    flops: Sequence[str]
    layers: Sequence[str]
    sizes: Sequence[str]
    at_sizes: Sequence[str]

# Values of an option with their meanings, the default first: by, frame, at, measure.
CHOICES: dict[str, dict[str, str]]
# Categories in stacking order, from below: name, then the colours of its area and of text on it,
# each for a light and a dark background.
CATEGORIES: tuple[tuple[str, tuple[str, str], tuple[str, str]], ...]
# Limit for automatic reports: longer traces get only requested ones.
MOST_EVENTS_UNASKED: int
# Numbers of memory of the host in columns of devices.
PINNED_DEVICE: int
CPU_DEVICE: int

class TraceError(Exception):
    """A trace or an option allows no answer; the text suggests a fix."""

def pack(
    path: str,
    packed_path: str,
    level: int = 9,
    progress: Callable[[float], object] | None = None,
) -> tuple[int, int]: ...
def store_outline(path: str, outline: str, /) -> bool: ...
def store_sources(path: str, /) -> bool: ...

# Returns the pickled value: plain values only. ValueError: it holds anything else, or is cut off.
def load_plain(data: bytes, /) -> Any: ...

# Returns is_expandable and max_split_bytes of the text of torch's allocator settings.
def split_rules(settings: str, /) -> tuple[bool, int]: ...

# Returns the bytes that torch rounds a request up to.
def round_up(settings: str, requested_bytes: int, /) -> int: ...

class TraceWriter:
    """Writes a trace that was recorded elsewhere; ids are 0 for none, times in ticks."""

    def __init__(self, path: str, start_realtime_ns: int, /) -> None: ...
    def string(self, text: str, /) -> int: ...
    def node(self, parent: int, file: str, line: int, name: str, /) -> int: ...
    def context(self, node: int, flags: int, tag: int = 0, /) -> int: ...
    def stream(self, handle: int, /) -> int: ...
    def meta(self, key: str, value: str, /) -> None: ...
    def alloc(
        self,
        tick: int,
        context: int,
        device: int,
        stream: int,
        requested_bytes: int,
        block_bytes: int,
        address: int,
        /,
    ) -> int: ...
    # kind: 0 plain, 1 requested, 2 completed
    def free(
        self, tick: int, ordinal: int, block_bytes: int, kind: int, context: int, /
    ) -> None: ...
    # action: 1 alloc, 2 free, 3 map, 4 unmap
    def segment(
        self, tick: int, action: int, device: int, stream: int, address: int, size: int, /
    ) -> None: ...
    def in_pool(self, tick: int, pool: int, /) -> None: ...  # for the previous segment
    def oom(
        self, tick: int, context: int, device: int, requested_bytes: int, free_bytes: int, /
    ) -> None: ...
    def mark(self, tick: int, kind: int, string: int, /) -> None: ...
    def finish(self) -> None: ...

class Trace:
    """One trace: a path, or the bytes of a trace in memory."""

    def __init__(
        self,
        source: str | PathLike[str] | bytes | bytearray | memoryview,
        progress: Callable[[float], object] | None = None,
    ) -> None: ...
    def info(self) -> dict[str, Any]: ...
    def summary_data(self, **options: Unpack[Options]) -> dict[str, Any]: ...
    # The document for text reports: see report/render/document/document.h.
    def document(self, name: str, **options: Unpack[Options]) -> dict[str, Any]: ...
    def report(self, name: str, *, json: bool = False, **options: Unpack[Options]) -> str: ...
    # The data for comparing runs, as JSON: peaks by device and phase, rows of the peak by four
    # keys, the end of the run.
    def outline(self, **options: Unpack[Options]) -> str: ...
    # The levels by step as JSON, for laying runs over each other.
    def step_levels(self, **options: Unpack[Options]) -> str: ...
    # The outline that store_outline() put into the trace.
    def stored_outline(self) -> str | None: ...
    # The bytes of each column, and new names as JSON: see report/views/events/events.h.
    def events(self, **options: Unpack[Options]) -> Iterator[tuple[dict[str, bytes], str]]: ...
    # budget: bytes of the compressed columns. Returns JSON, then the columns that it lists, one
    # after the other.
    def page(
        self,
        *,
        budget: float = 8e6,
        from_seconds: float = 0.0,
        to_seconds: float = ...,
        with_source: bool = True,
        **options: Unpack[Options],
    ) -> tuple[str, bytes]: ...
