"""How large a block is that torch's allocator makes, from where it lies.

torch takes a free range and splits it where what is left over is worth it: `should_split` in
CUDACachingAllocator.cpp. Actions of a snapshot say the size that was asked for, not what was given.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass, field

ROUNDING = 512  # torch's kMinBlockSize
_SMALL_REQUEST = 1 << 20  # torch's kSmallSize: up to here a block is of the small pool


def rounded(size: int) -> int:
    """Return the bytes that a request is rounded up to."""
    return max(ROUNDING, -(-size // ROUNDING) * ROUNDING)


@dataclass
class Layout:
    """The segments of a device and where its blocks lie; addresses in order."""

    starts: list[int] = field(default_factory=list)  # of segments
    ends: dict[int, int] = field(default_factory=dict)  # of segments, by start
    blocks: list[int] = field(default_factory=list)  # addresses

    def add_segment(self, address: int, size: int, *, joins: bool) -> None:
        """Add a range; with `joins` it goes on with one that ends where it begins."""
        at = bisect.bisect_left(self.starts, address)
        if joins and at > 0 and self.ends[self.starts[at - 1]] == address:
            address = self.starts[at - 1]
            self.ends[address] += size
        else:
            self.starts.insert(at, address)
            self.ends[address] = address + size
        after = bisect.bisect_right(self.starts, address)
        if joins and after < len(self.starts) and self.starts[after] == self.ends[address]:
            self.ends[address] = self.ends.pop(self.starts.pop(after))

    def remove_segment(self, address: int, size: int) -> None:
        """Remove a range: a whole segment, or a part of one."""
        at = bisect.bisect_right(self.starts, address) - 1
        if at < 0 or self.ends[self.starts[at]] <= address:
            return
        start = self.starts[at]
        end = self.ends[start]
        self.starts.pop(at)
        del self.ends[start]
        for low, high in ((start, address), (address + size, end)):
            if low < high:
                self.add_segment(low, high - low, joins=False)

    def add_block(self, address: int, size: int) -> int:
        """Add a block that was asked for; return its bytes."""
        at = bisect.bisect_left(self.blocks, address)
        self.blocks.insert(at, address)
        given = rounded(size)
        segment = bisect.bisect_right(self.starts, address) - 1
        if segment < 0:
            return given
        end = self.ends[self.starts[segment]]
        if at + 1 < len(self.blocks):
            end = min(end, self.blocks[at + 1])
        left = end - address - given
        is_small = given <= _SMALL_REQUEST
        is_split = left >= ROUNDING if is_small else left > _SMALL_REQUEST
        return given if is_split or left < 0 else given + left

    def remove_block(self, address: int) -> None:
        """Remove a block."""
        at = bisect.bisect_left(self.blocks, address)
        if at < len(self.blocks) and self.blocks[at] == address:
            self.blocks.pop(at)
