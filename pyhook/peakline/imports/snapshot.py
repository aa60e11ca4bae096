"""Reads a snapshot of torch.cuda.memory: every field is checked here, and nowhere else.

Source of the format: the docstring of torch.cuda.memory._snapshot. A file may name one list many
times. A stack is read once, any other list must not come again: so the file bounds the work.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from peakline.imports.fields import U32, U64, Fields, entries_of
from peakline.imports.writing import UnreadableError, plain_text

_GPUS = 64  # format::kMaxGpus
_BLOCK_BYTES = 1 << 48  # report/trace/definitions/definitions.h: kMaxBlockBytes
_MICROSECONDS = 1 << 53  # as times since 1970, 285 years
_NO_LINE = -1  # torch has none of some frames

# File, line and function of each frame, the innermost first.
Stack: TypeAlias = tuple[tuple[str, int, str], ...]


class Action(NamedTuple):
    """An entry of a trace."""

    kind: str
    address: int
    size: int
    stream: int
    time_us: int
    stack: Stack
    free_bytes: int  # of the device, where memory ran out


class Block(NamedTuple):
    """A block of the state that is not free."""

    address: int
    size: int
    requested: int
    stack: Stack


class Segment(NamedTuple):
    """A segment of the state, with its blocks."""

    address: int
    size: int
    stream: int
    is_expandable: bool
    blocks: list[Block]


class Annotation(NamedTuple):
    """The begin or the end of a range that the program named."""

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
    """What a file holds."""

    devices: list[DeviceState]
    annotations: list[Annotation]
    settings: str


def read_snapshot(found: Any) -> Snapshot:
    """Return a snapshot, as it was unpickled.

    Raises:
        UnreadableError: it is no snapshot; the sentence names the field.
    """
    if not isinstance(found, dict) or not isinstance(found.get("segments"), list):
        raise UnreadableError(
            "no snapshot of torch: it has no 'segments'; give what"
            " torch.cuda.memory._dump_snapshot() wrote"
        )
    whole = Fields(found, "the snapshot")
    reader = _Reader()
    devices: dict[int, DeviceState] = {}
    traces = whole.list_of("device_traces")
    if len(traces) > _GPUS:
        raise UnreadableError(f"the snapshot has {len(traces)} devices; at most {_GPUS} are read")
    for number, trace in enumerate(traces):
        entries = reader.entries(Fields({"trace": trace}, "the snapshot"), "trace", "an action")
        devices[number] = DeviceState(number, [reader.action(one) for one in entries])
    for one in reader.entries(whole, "segments", "a segment"):
        number = one.number("device", _GPUS, 0)
        state = devices.setdefault(number, DeviceState(number))
        state.segments.append(reader.segment(one))
    annotations = [
        reader.annotation(one)
        for one in reader.entries(whole, "external_annotations", "an annotation")
    ]
    settings = found.get("allocator_settings")
    conf = settings.get("PYTORCH_CUDA_ALLOC_CONF") if isinstance(settings, dict) else None
    in_order = [devices[number] for number in sorted(devices)]
    return Snapshot(in_order, annotations, plain_text(conf) if isinstance(conf, str) else "")


class _Reader:
    def __init__(self) -> None:
        self._lists: set[int] = set()  # that were read, by identity
        self._stacks: dict[int, Stack] = {}  # by the identity of the list in the file
        self._same: dict[Stack, Stack] = {}  # equal stacks are one object

    def entries(self, of: Fields, key: str, what: str) -> Iterator[Fields]:
        """Return the entries of a list that comes once."""
        values = of.list_of(key)
        if values and id(values) in self._lists:
            raise of.wrong(key, values, "which stands elsewhere, too")
        self._lists.add(id(values))
        return entries_of(values, f"{what} of the snapshot")

    def action(self, one: Fields) -> Action:
        return Action(
            one.text("action"),
            one.number("addr", default=0),
            one.number("size", _BLOCK_BYTES, 0),
            one.number("stream", default=0),
            _time_of(one),
            self._stack(one, "frames"),
            one.number("device_free", default=0),
        )

    def annotation(self, one: Fields) -> Annotation:
        begins = one.values.get("stage") == "START"
        return Annotation(begins, one.text("name", ""), _time_of(one))

    def segment(self, one: Fields) -> Segment:
        address = at = one.number("address")
        blocks: list[Block] = []
        for inner in self.entries(one, "blocks", "a block"):
            size = inner.number("size", _BLOCK_BYTES)
            begin = inner.number("address", default=at)  # older snapshots: in order, without gaps
            at = begin + size
            if inner.text("state") != "inactive":
                blocks.append(self._block(inner, begin, size))
        return Segment(
            address,
            one.number("total_size", _BLOCK_BYTES),
            one.number("stream", default=0),
            one.values.get("is_expandable") is True,
            blocks,
        )

    def _block(self, one: Fields, address: int, size: int) -> Block:
        # Before torch 2.3 the stack lies in the block's history.
        past = next(
            entries_of(one.list_of("history")[:1], "the history of a block"), Fields({}, "")
        )
        requested = one.number("requested_size", _BLOCK_BYTES, 0) or past.number(
            "real_size", _BLOCK_BYTES, 0
        )
        stack = self._stack(one, "frames") or self._stack(past, "frames")
        if address >= U64:
            raise one.wrong("address", address, "out of range")
        return Block(address, size, requested or size, stack)

    def _stack(self, one: Fields, key: str) -> Stack:
        frames = one.list_of(key)
        found = self._stacks.get(id(frames)) if frames else ()
        if found is None:
            found = tuple(map(_frame, entries_of(frames, "a frame of the snapshot")))
            found = self._stacks[id(frames)] = self._same.setdefault(found, found)
        return found


def _time_of(one: Fields) -> int:
    return 0 if one.values.get("time_us") is None else one.number("time_us", _MICROSECONDS)


def _frame(one: Fields) -> tuple[str, int, str]:
    line = one.values.get("line", 0)
    number = 0 if line == _NO_LINE else one.number("line", U32, 0)
    return one.text("filename", ""), number, one.text("name", "")
