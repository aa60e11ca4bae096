"""Runs a program with given values of an argument, for `peakline fit --sweep`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from peakline.trials.attempts import TryOptions
from peakline.trials.fitting import Attempt, Outcome, is_number, try_program


@dataclass
class Trial:
    """Runs attempts, each in a folder of its own; `show` gets the name of each as it begins."""

    options: TryOptions
    folder: Path
    show: Callable[[str], None]
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def run(self, attempt: Attempt) -> Outcome:
        """Run one attempt."""
        self.show(f"{attempt.device} {attempt.value}".rstrip())
        return try_program(attempt, self.options, self.folder / str(next(self._numbers)))


@dataclass
class _Sweep:
    """The values tried on one device, and the bound that they imply for larger ones."""

    peaks: dict[float, int] = field(default_factory=dict)
    too_much: float | None = None  # the smallest number that did not fit

    def note(self, value: float, outcome: Outcome) -> None:
        if outcome.peak_bytes is not None:
            self.peaks[value] = outcome.peak_bytes
        if outcome.verdict == "too small":
            self.too_much = min(value, self.too_much or value)

    def rules_out(self, value: float) -> bool:
        """Return whether a smaller value did not fit and the peak always rose with the value."""
        needed = [peak for _, peak in sorted(self.peaks.items())]
        is_growing = all(one < other for one, other in itertools.pairwise(needed))
        return self.too_much is not None and value >= self.too_much and is_growing


def try_all(trial: Trial, attempts: Sequence[Attempt], *, tries_all: bool) -> Iterator[Outcome]:
    """Yield the result of each attempt, in their order.

    Without tries_all, values above one that did not fit are skipped where larger ones need more.
    """
    sweeps: dict[str, _Sweep] = {}
    for attempt in attempts:
        sweep = sweeps.setdefault(attempt.device, _Sweep())
        value = float(attempt.value) if is_number(attempt.value) else None
        if value is not None and not tries_all and sweep.rules_out(value):
            yield Outcome(attempt.device, attempt.value, "skipped")
            continue
        outcome = trial.run(attempt)
        if value is not None:
            sweep.note(value, outcome)
        yield outcome
