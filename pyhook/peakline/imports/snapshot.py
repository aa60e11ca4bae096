"""Reads a snapshot of torch.cuda.memory: every field is checked here, and nowhere else.

Source of the format: the docstring of torch.cuda.memory._snapshot. A file may refer to one list
many times. A stack is read once, and any other list must occur only once, so the file bounds the
work.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, NamedTuple

from peakline.imports.fields import U64, Fields, entries_of
from peakline.imports.made import Made, Makers
from peakline.imports.settings import settings_text
from peakline.imports.writing import UnreadableError

_GPUS = 64  # format::kMaxGpus
HOST = 64  # format::kPinnedDevice
_BLOCK_BYTES = 1 << 48  # report/trace/definitions/definitions.h: kMaxBlockBytes
_MICROSECONDS = 1 << 53  # times since 1970, up to 285 years


class Action(NamedTuple):
    """An entry of a trace."""

    kind: str
    address: int
    size: int
    stream: int
    time_us: int
    made: Made
    more: int = 0  # out of memory: free bytes of the device; segments: their pool


class Block(NamedTuple):
    """A block of the state that is not free."""

    address: int
    size: int
    requested: int
    made: Made
    is_waiting: bool  # freed, and in use by another stream


class Segment(NamedTuple):
    """A segment of the state, with its blocks."""

    address: int
    size: int
    stream: int
    is_expandable: bool
    pool: int
    blocks: list[Block]


class Annotation(NamedTuple):
    """The beginning or end of a range that the program named."""

    begins: bool
    name: str
    time_us: int


@dataclass
class DeviceState:
    """The state of a device after its last action, and its actions."""

    number: int
    actions: list[Action] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)


@dataclass(frozen=True)
class Snapshot:
    """The content of a file."""

    devices: list[DeviceState]
    annotations: list[Annotation]
    settings: str


def read_snapshot(found: Any) -> Snapshot:
    """Return a snapshot from its unpickled value.

    Raises:
        UnreadableError: it is no snapshot; the message names the field.
    """
    if not isinstance(found, dict) or not isinstance(found.get("segments"), list):
        raise UnreadableError(
            "no snapshot of torch: it has no 'segments'; give a"
            " file of torch.cuda.memory._dump_snapshot()"
        )
    whole = Fields(found, "the snapshot")
    reader = _Reader()
    devices: dict[int, DeviceState] = {}
    traces = whole.list_of("device_traces")
    if len(traces) > _GPUS:
        raise UnreadableError(f"the snapshot has {len(traces)} devices; at most {_GPUS} are read")
    for number, trace in enumerate(traces):
        devices[number] = DeviceState(number, reader.trace(trace))
    for one in reader.entries(whole, "segments", "a segment"):
        number = one.number("device", _GPUS, 0)
        state = devices.setdefault(number, DeviceState(number))
        state.segments.append(reader.segment(one))
    if host := reader.host(whole):
        devices[HOST] = host
    annotations = [
        reader.annotation(one)
        for one in reader.entries(whole, "external_annotations", "an annotation")
    ]
    in_order = [devices[number] for number in sorted(devices)]
    return Snapshot(in_order, annotations, settings_text(found.get("allocator_settings")))


class _Reader:
    def __init__(self) -> None:
        self._lists: set[int] = set()  # id()s of the lists that were read
        self._makers = Makers()

    def entries(self, of: Fields, key: str, what: str) -> Iterator[Fields]:
        """Return the entries of a list that may occur only once."""
        return entries_of(self._once(of, key), f"{what} of the snapshot")

    def _once(self, of: Fields, key: str) -> list[Any]:
        values = of.list_of(key)
        if values and id(values) in self._lists:
            raise of.wrong(key, values, "which also occurs elsewhere")
        self._lists.add(id(values))
        return values

    def trace(self, trace: Any) -> list[Action]:
        """Return the actions of a device."""
        if not isinstance(trace, list):
            raise UnreadableError(
                "a trace of the snapshot is not one of torch's:"
                f" it is a {type(trace).__name__}, no list"
            )
        values = self._once(Fields({"trace": trace}, "the snapshot"), "trace")
        return list(map(self.action, values))

    def action(self, one: Any) -> Action:
        """Return an action. Runs millions of times, so correct numbers take a fast path."""
        if type(one) is not dict:
            [*_] = entries_of([one], "an action of the snapshot")
        try:
            kind, address, size, stream, time_us = _PLAIN_FIELDS(one)
        except KeyError:
            return self._checked(Fields(one, "an action of the snapshot"))
        if not (
            type(address) is type(size) is type(stream) is type(time_us) is int
            and 0 <= address < U64
            and 0 <= size < _BLOCK_BYTES
            and 0 <= stream < U64
            and 0 <= time_us < _MICROSECONDS
            and type(kind) is str
            and kind in _PLAIN
        ):
            return self._checked(Fields(one, "an action of the snapshot"))
        made = self._makers.of(one)
        # Equals Action(...), in half the time.
        return _NEW_TUPLE(Action, (kind, address, size, stream, time_us, made, 0))

    def _checked(self, one: Fields) -> Action:
        """Return an action that is rare, or that has a missing or wrong field."""
        kind = one.text("action")
        more = one.number("device_free", default=0) if kind == "oom" else _pool(one, "pool_id")
        return Action(
            kind,
            one.number("addr", default=0),
            one.number("size", _BLOCK_BYTES, 0),
            one.number("stream", default=0),
            _time_of(one),
            self._makers.of(one.values),
            more,
        )

    def annotation(self, one: Fields) -> Annotation:
        begins = one.values.get("stage") == "START"
        return Annotation(begins, one.text("name", ""), _time_of(one))

    def segment(self, one: Fields) -> Segment:
        address = at = one.number("address")
        blocks: list[Block] = []
        for inner in self.entries(one, "blocks", "a block"):
            size = inner.number("size", _BLOCK_BYTES)
            # older snapshots: blocks in order, without gaps
            begin = inner.number("address", default=at)
            at = begin + size
            if inner.text("state") != "inactive":
                blocks.append(self._block(inner, begin, size))
        return Segment(
            address,
            one.number("total_size", _BLOCK_BYTES),
            one.number("stream", default=0),
            one.values.get("is_expandable") is True,
            _pool(one, "segment_pool_id"),
            blocks,
        )

    def _block(self, one: Fields, address: int, size: int) -> Block:
        # Before torch 2.3 the stack is in the block's history.
        past = next(
            entries_of(one.list_of("history")[:1], "the history of a block"), Fields({}, "")
        )
        requested = one.number("requested_size", _BLOCK_BYTES, 0) or past.number(
            "real_size", _BLOCK_BYTES, 0
        )
        if address >= U64:
            raise one.wrong("address", address, "out of range")
        made = self._makers.of(one.values)
        if not made.stack and past.values:
            made = self._makers.of({**one.values, "frames": past.values.get("frames")})
        return Block(address, size, requested, made, one.text("state") != "active_allocated")

    def host(self, whole: Fields) -> DeviceState | None:
        """Return torch's record of pinned memory, if any."""
        actions = list(map(self.action, self._once(whole, "host_traces")))
        segments = [self.segment(one) for one in self.entries(whole, "host_segments", "a segment")]
        return DeviceState(HOST, actions, segments) if actions or segments else None


_NEW_TUPLE = tuple.__new__
_PLAIN_FIELDS = itemgetter("action", "addr", "size", "stream", "time_us")
_PLAIN = {"alloc", "free_requested", "free_completed", "snapshot", "annotate"}


def _time_of(one: Fields) -> int:
    return 0 if one.values.get("time_us") is None else one.number("time_us", _MICROSECONDS)


def _pool(one: Fields, key: str) -> int:
    """Return the number of a private pool, see format::pool_number; 0: none."""
    pool = one.values.get(key)
    if pool is None:
        return 0
    parts = list(pool) if isinstance(pool, (tuple, list)) else []
    if len(parts) != 2 or not all(type(part) is int and 0 <= part < U64 >> 2 for part in parts):
        raise one.wrong(key, pool, "no two numbers")
    of_graph, of_program = parts
    return of_graph << 1 if of_graph else of_program << 1 | 1 if of_program else 0
