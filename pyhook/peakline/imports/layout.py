"""Computes the size of a block of torch's allocator from its address.

torch takes a free range and splits it if the rest is large enough: `should_split` in
CUDACachingAllocator.cpp. Actions of a snapshot have the requested size, not the size of the block.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from peakline.base.ordered import Ordered, Ranges

ROUNDING = 512  # torch's kMinBlockSize
_SMALL_REQUEST = 1 << 20  # torch's kSmallSize: up to here a block is in the small pool


@dataclass
class Rules:
    """Block sizes under torch's settings."""

    settings: str = ""
    _known: dict[int, int] = field(default_factory=dict)  # rounded sizes by requested size

    def __post_init__(self) -> None:
        """Read the settings as torch does; unreadable settings count as not given."""
        from peakline import _report

        self._round_up = _report.round_up
        self._rounds_more = "roundup_power2_divisions" in self.settings
        self.is_expandable, self.max_split_bytes = _report.split_rules(self.settings)

    def rounded(self, size: int) -> int:
        """Return the rounded size of a request."""
        if not self._rounds_more:
            return max(ROUNDING, -(-size // ROUNDING) * ROUNDING)
        found = self._known.get(size)
        if found is None:
            found = self._known[size] = self._round_up(self.settings, size)
        return found


@dataclass
class Layout:
    """The segments of a device and the addresses of its large blocks.

    A small block has exactly the rounded size: torch always splits off the rest.
    """

    rules: Rules
    segments: Ranges[bool] = field(default_factory=Ranges)  # whether they are mapped piecewise
    blocks: Ordered = field(default_factory=Ordered)  # addresses

    def add_segment(self, address: int, size: int, *, joins: bool) -> None:
        """Add a range; with `joins` it is merged with ranges that touch it."""
        end = address + size
        before = self.segments.starts.at_or_before(address)
        if joins and before is not None and self.segments.end_of(address) == address:
            address = before
        if joins and (behind := self.segments.pop(end)) is not None:
            end = behind[0]
        self.segments.put(address, end, joins)

    def remove_segment(self, address: int, size: int) -> None:
        """Remove a range: a whole segment, or a part of one."""
        self.segments.take_out(address, address + size)

    def add_block(self, address: int, size: int) -> int:
        """Add a block for a request of this size; return the bytes of the block."""
        given = self.rules.rounded(size)
        if given <= _SMALL_REQUEST or self.rules.is_expandable:
            return given
        self.blocks.add(address)
        return self.block_bytes(address, given)

    def block_bytes(self, address: int, given: int) -> int:
        """Return the bytes of an added large block; its request was rounded up to `given`."""
        if given <= _SMALL_REQUEST or self.rules.is_expandable:
            return given
        segment = self.segments.range_at(address)
        if segment is None:
            return given
        end, is_mapped = segment
        behind = self.blocks.after(address)
        left = (end if behind is None else min(end, behind)) - address - given
        is_split = is_mapped or (given < self.rules.max_split_bytes and left > _SMALL_REQUEST)
        return given if is_split or left < 0 else given + left

    def remove_block(self, address: int, size: int) -> None:
        """Remove a block of this size."""
        if size > _SMALL_REQUEST:
            self.blocks.discard(address)
