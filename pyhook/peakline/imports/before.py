"""Derives the blocks and segments from before the first action of a snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from peakline.base.ordered import Ranges
from peakline.imports.layout import Layout
from peakline.imports.made import NOWHERE, Made
from peakline.imports.snapshot import Action, Block, DeviceState

_SEGMENTS = {"segment_alloc", "segment_free", "segment_map", "segment_unmap"}


@dataclass
class StandingBlock:
    """A block from before the first action."""

    address: int
    size: int  # 0: still unknown
    requested: int
    made: Made
    stream: int
    is_waiting: bool  # it was freed, but another stream still uses it


def final_blocks(device: DeviceState) -> dict[int, Block]:
    """Return the blocks of the state, by the id() of the actions that allocated them."""
    made: dict[int, Action] = {}
    for action in device.actions:
        if action.kind == "alloc":
            made[action.address] = action
        elif action.kind == "free_completed":
            made.pop(action.address, None)
    found: dict[int, Block] = {}
    for segment in device.segments:
        for block in segment.blocks:
            maker = made.get(block.address)
            if maker is not None and block.size >= maker.size:
                found[id(maker)] = block
    return found


def standing_blocks(device: DeviceState) -> list[StandingBlock]:
    """Return the blocks that an action frees or the state holds, but that no action allocated."""
    found: dict[int, StandingBlock] = {}
    seen: set[int] = set()
    for action in device.actions:
        address, kind = action.address, action.kind
        if kind == "alloc":
            seen.add(address)
        elif kind.startswith("free") and address not in seen:
            seen.add(address)
            is_waiting = kind == "free_completed"
            found[address] = StandingBlock(
                address, 0, action.size, NOWHERE, action.stream, is_waiting
            )
    for segment in device.segments:
        for one in segment.blocks:
            if one.address not in seen:
                found[one.address] = StandingBlock(
                    one.address, one.size, one.requested, one.made, segment.stream, one.is_waiting
                )
    return list(found.values())


def set_sizes(blocks: list[StandingBlock], layout: Layout) -> None:
    """Set the unknown sizes; the layout has the segments from before the first action."""
    for one in blocks:
        layout.add_block(one.address, max(one.size, one.requested))
    for one in blocks:
        one.size = one.size or layout.block_bytes(one.address, layout.rules.rounded(one.requested))


def standing_segments(device: DeviceState) -> Iterator[Action]:
    """Yield the segments that no action allocated, as actions.

    Starts from the state and undoes the actions, the last one first.
    """
    whole: dict[int, tuple[int, int, int]] = {}  # end, stream and pool, by address
    mapped: Ranges[tuple[int, int]] = Ranges()  # with their streams and pools
    for one in device.segments:
        end = one.address + one.size
        if one.is_expandable:
            mapped.put(one.address, end, (one.stream, one.pool))
        else:
            whole[one.address] = (end, one.stream, one.pool)
    for action in reversed(device.actions):
        if action.kind not in _SEGMENTS:
            continue
        begin, end = action.address, action.address + action.size
        if action.kind == "segment_alloc":
            whole.pop(begin, None)
        elif action.kind == "segment_free":
            whole[begin] = (end, action.stream, action.more)
        elif action.kind == "segment_map":
            mapped.take_out(begin, end)
        else:
            mapped.put(begin, end, (action.stream, action.more))
    found = [
        Action("segment_alloc", begin, end - begin, stream, 0, NOWHERE, pool)
        for begin, (end, stream, pool) in whole.items()
    ]
    found += [
        Action("segment_map", begin, end - begin, stream, 0, NOWHERE, pool)
        for begin, end, (stream, pool) in mapped
    ]
    yield from sorted(found, key=lambda one: one.address)
