"""Runs over each other by step: what the page and `plot --kind compare` draw.

The engine supplies each run: see report/views/page/step_levels.h.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

BEFORE = "before"
AFTER = "after"


@dataclass(frozen=True)
class StepLevels:
    """One run: the result of `_report.Trace.step_levels()`.

    A slot of the axis is the time before the first step, a step, or the time after the last one.
    """

    data: dict[str, Any]

    @property
    def count(self) -> int:
        """Number of ranges: a range is a slot, or several steps of a long run."""
        return len(self.data["steps"]) + 2

    @property
    def parts(self) -> int:
        """Number of parts of each range."""
        return int(self.data["parts_per_step"])

    def range_of(self, slot: str | int) -> int | None:
        """Return the range of a slot; None: this run has no such step."""
        steps: list[int] = self.data["steps"]
        if isinstance(slot, str):
            return 0 if slot == BEFORE else self.count - 1
        if not steps or not steps[0] <= slot < self.data["end_step"]:
            return None
        return bisect_right(steps, slot)

    def peaks_of(self, number: int) -> list[int]:
        """Return the peak of each part of a range."""
        found: list[int] = self.data["peaks"][number * self.parts : (number + 1) * self.parts]
        return found

    @cached_property
    def live_sets(self) -> list[dict[int, int]]:
        """Bytes by group at the highest moment of each range."""
        sets = []
        now: dict[int, int] = {}
        for changes in self.data["changes"]:
            for group, size in zip(changes[::2], changes[1::2], strict=True):
                now[group] = now.get(group, 0) + size
            sets.append({group: size for group, size in now.items() if size})
        return sets

    def rows(self, number: int, by: str) -> dict[str, int]:
        """Return the bytes by a key (line, module, op or category) at its highest moment."""
        keys = list(self.data["names"])
        names = self.data["names"][by]
        width, at = len(keys), keys.index(by)
        sums: dict[str, int] = {}
        for group, size in self.live_sets[number].items():
            name = names[self.data["groups"][group * width + at]]
            sums[name] = sums.get(name, 0) + size
        return sums


def axis_of(runs: Sequence[StepLevels]) -> list[str | int]:
    """Return the slots of the axis that the runs share."""
    firsts = [run.data["steps"][0] for run in runs if run.data["steps"]]
    ends = [run.data["end_step"] for run in runs if run.data["steps"]]
    return [BEFORE, *(range(min(firsts), max(ends)) if firsts else ()), AFTER]


def for_page(text: str, number: Callable[[str], int], *, with_rows: bool) -> dict[str, Any]:
    """Return the levels of a run for the page's script; `number` numbers its texts."""
    data: dict[str, Any] = json.loads(text)
    names = [[number(name) for name in data["names"][by]] for by in data["names"]]
    width = len(names)
    groups = [names[i % width][name] for i, name in enumerate(data["groups"])]
    kept = ("unit", "one", "steps", "end_step", "parts_per_step", "peaks", "peak_seconds")
    rows = {"keys": list(data["names"]), "groups": groups, "changes": data["changes"]}
    return {name: data[name] for name in kept} | (rows if with_rows else {})
