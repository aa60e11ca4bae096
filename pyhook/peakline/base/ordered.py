"""Sorted addresses and address ranges, for importers and exporters that follow a device's memory.

Inserting into one sorted list would shift all later addresses: minutes for a million live blocks.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator
from typing import Generic, TypeVar

_BUCKET = 512  # addresses; a bucket is split at twice as many

Value = TypeVar("Value")


class Ordered:
    """A sorted set of numbers, stored in buckets."""

    def __init__(self) -> None:
        """Make an empty set."""
        self._buckets: list[list[int]] = [[]]
        self._lasts: list[int] = [-1]  # last number of each bucket

    def __iter__(self) -> Iterator[int]:
        """Yield the numbers in order."""
        return itertools.chain.from_iterable(self._buckets)

    def add(self, number: int) -> None:
        """Add a number, at least 0."""
        at = min(bisect.bisect_left(self._lasts, number), len(self._lasts) - 1)
        bucket = self._buckets[at]
        index = bisect.bisect_left(bucket, number)
        if bucket[index : index + 1] == [number]:
            return
        bucket.insert(index, number)
        if len(bucket) > 2 * _BUCKET:
            self._buckets[at : at + 1] = [bucket[:_BUCKET], bucket[_BUCKET:]]
            self._lasts.insert(at, bucket[_BUCKET - 1])
            at += 1
        self._lasts[at] = self._buckets[at][-1]

    def discard(self, number: int) -> None:
        """Remove a number if it is in the set."""
        at = bisect.bisect_left(self._lasts, number)
        bucket = self._buckets[at] if at < len(self._buckets) else []
        index = bisect.bisect_left(bucket, number)
        if bucket[index : index + 1] != [number]:
            return
        bucket.pop(index)
        if not bucket and len(self._buckets) > 1:
            del self._buckets[at], self._lasts[at]
        else:
            self._lasts[at] = bucket[-1] if bucket else -1

    def at_or_before(self, number: int) -> int | None:
        """Return the largest number that is at most this one."""
        at = min(bisect.bisect_left(self._lasts, number), len(self._lasts) - 1)
        index = bisect.bisect_right(self._buckets[at], number)
        if index:
            return self._buckets[at][index - 1]
        return self._lasts[at - 1] if at else None

    def after(self, number: int) -> int | None:
        """Return the smallest number above this one."""
        at = bisect.bisect_right(self._lasts, number)
        if at == len(self._lasts):
            return None
        return self._buckets[at][bisect.bisect_right(self._buckets[at], number)]


class Ranges(Generic[Value]):
    """Ranges of addresses, each with a value; none overlap."""

    def __init__(self) -> None:
        """Make an empty set of ranges."""
        self.starts = Ordered()
        self._of: dict[int, tuple[int, Value]] = {}  # end and value, by start

    def __iter__(self) -> Iterator[tuple[int, int, Value]]:
        """Yield begin, end and value in order."""
        return ((start, *self._of[start]) for start in self.starts)

    def put(self, begin: int, end: int, value: Value) -> None:
        """Add a range; replaces one that begins at the same address."""
        self.starts.add(begin)
        self._of[begin] = (end, value)

    def pop(self, begin: int) -> tuple[int, Value] | None:
        """Remove the range that begins at this address; return its end and value."""
        self.starts.discard(begin)
        return self._of.pop(begin, None)

    def end_of(self, address: int) -> int | None:
        """Return the end of the last range that begins at or before this address."""
        found = self.range_at(address)
        return None if found is None else found[0]

    def range_at(self, address: int) -> tuple[int, Value] | None:
        """Return end and value of the last range that begins at or before this address."""
        start = self.starts.at_or_before(address)
        return None if start is None else self._of[start]

    def take_out(self, begin: int, end: int) -> None:
        """Remove these addresses from the ranges that contain them."""
        start = self.starts.at_or_before(begin)
        if start is None:
            start = self.starts.after(begin)
        while start is not None and start < end:
            range_end, value = self._of[start]
            if range_end > begin:
                self.pop(start)
                if start < begin:
                    self.put(start, begin, value)
                if end < range_end:
                    self.put(end, range_end, value)
            start = self.starts.after(start)
