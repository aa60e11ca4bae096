"""How large a block is that torch's allocator makes, from where it lies.

torch takes a free range and splits it where what is left over is worth it: `should_split` in
CUDACachingAllocator.cpp. Actions of a snapshot say the size that was asked for, not what was given.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from peakline.ordered import Ordered, Ranges

ROUNDING = 512  # torch's kMinBlockSize
_SMALL_REQUEST = 1 << 20  # torch's kSmallSize: up to here a block is of the small pool


def rounded(size: int) -> int:
    """Return the bytes that a request is rounded up to."""
    return max(ROUNDING, -(-size // ROUNDING) * ROUNDING)


@dataclass
class Layout:
    """The segments of a device and where its blocks lie."""

    segments: Ranges[None] = field(default_factory=Ranges)
    blocks: Ordered = field(default_factory=Ordered)  # addresses

    def add_segment(self, address: int, size: int, *, joins: bool) -> None:
        """Add a range; with `joins` it goes on with one that ends where it begins."""
        end = address + size
        before = self.segments.starts.at_or_before(address)
        if joins and before is not None and self.segments.end_of(address) == address:
            address = before
        if joins and (behind := self.segments.pop(end)) is not None:
            end = behind[0]
        self.segments.put(address, end, None)

    def remove_segment(self, address: int, size: int) -> None:
        """Remove a range: a whole segment, or a part of one."""
        self.segments.take_out(address, address + size)

    def add_block(self, address: int, size: int) -> int:
        """Add a block that was asked for; return its bytes."""
        self.blocks.add(address)
        given = rounded(size)
        end = self.segments.end_of(address)
        if end is None:
            return given
        behind = self.blocks.after(address)
        left = (end if behind is None else min(end, behind)) - address - given
        is_small = given <= _SMALL_REQUEST
        is_split = left >= ROUNDING if is_small else left > _SMALL_REQUEST
        return given if is_split or left < 0 else given + left

    def remove_block(self, address: int) -> None:
        """Remove a block."""
        self.blocks.discard(address)
