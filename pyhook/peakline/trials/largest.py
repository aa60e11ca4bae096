"""Finds the largest value of an argument with which a program fits on a device.

Memory is nearly a straight line of a batch size or a length: two runs foretell the largest value,
and runs decide. The end is proved: the value fits, and the next one does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from peakline.trials.fitting import Attempt, Outcome
from peakline.trials.sweeps import Trial

_MOST = 1 << 24
_SECOND = 8  # times the first value: far enough apart for a line
_MOST_RUNS_BY_LINE = 8


@dataclass
class Search:
    """The search on one device; values are multiples of `step`.

    ``too_much`` is the smallest value that did not fit, None if all did. ``needed`` has the bytes
    that values need, also from runs on other devices.
    """

    step: int = 1
    needed: dict[int, int] = field(default_factory=dict)
    fits: int = 0
    too_much: int | None = None
    capacity_bytes: int | None = None
    runs: int = 0
    beside: int = 0  # guesses one after the other that were outside
    is_failed: bool = False

    def next_value(self) -> int | None:
        """Return the value to try now, None at the end."""
        if self.is_failed or (self.too_much is not None and self.too_much - self.fits <= self.step):
            return None
        if self.fits >= _MOST:
            return None
        guess = self._guess() if self.runs < _MOST_RUNS_BY_LINE else None
        if guess is None:
            guess = (self.fits + self.too_much) // 2 if self.too_much else self.fits * 2
        return self._within(guess // self.step * self.step)

    def _within(self, guess: int) -> int:
        """Return a value between those that are known; beside them twice as far each time."""
        below = self.fits + self.step
        above = self.too_much - self.step if self.too_much else _MOST
        if below <= guess <= above:
            self.beside = 0
            return guess
        far = self.step * ((1 << self.beside) - 1)
        self.beside += 1
        return min(below + far, above) if guess < below else max(above - far, below)

    def note(self, value: int, outcome: Outcome) -> None:
        """Learn from a run."""
        self.runs += 1
        self.capacity_bytes = outcome.capacity_bytes or self.capacity_bytes
        if outcome.most_used_bytes is not None:
            self.needed[value] = outcome.most_used_bytes
        if outcome.verdict == "fits":
            self.fits = max(self.fits, value)
        elif outcome.verdict == "too small":
            self.too_much = min(value, self.too_much or value)
        else:
            self.is_failed = True

    def _guess(self) -> int | None:
        """Return the largest value that fits by the line through two runs; None: no line."""
        if not self.needed:
            return self.step
        if len(self.needed) == 1 or self.capacity_bytes is None:
            [first, *_] = self.needed
            return first if self.runs == 0 else _SECOND * first
        low, high = self._ends()
        rise = (self.needed[high] - self.needed[low]) / (high - low)
        if rise <= 0:
            return None
        return low + int((self.capacity_bytes - self.needed[low]) / rise)

    def _ends(self) -> tuple[int, int]:
        """Return the values with the needs next to the capacity, on both sides if possible."""
        capacity = self.capacity_bytes or 0
        below = [value for value, needed in self.needed.items() if needed <= capacity]
        above = [value for value in self.needed if value not in below]
        ends = (max(below), min(above)) if below and above else (min(self.needed), max(self.needed))
        return min(ends), max(ends)


def find_largest(
    trial: Trial, attempts: Sequence[Attempt], searches: Mapping[str, Search]
) -> Iterator[tuple[Attempt, Outcome]]:
    """Search on the device of each attempt; yield each run and its result.

    The needs of values are known from one device to the next.
    """
    needed: dict[int, int] = {}
    for attempt in attempts:
        search = searches[attempt.device]
        search.needed = needed
        while (value := search.next_value()) is not None:
            tried = attempt.at(str(value))
            outcome = trial.run(tried)
            search.note(value, outcome)
            yield tried, outcome
