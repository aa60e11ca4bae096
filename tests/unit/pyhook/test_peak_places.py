"""The place of a peak: a step and a phase, or evaluation and saving after the last step."""

from __future__ import annotations

import json
from typing import Any

import pytest
from peakline.trials.peak_places import place_of_peak

STEP = [("forward", 0), ("backward", 0), ("optimizer", 0)]
GATHERED = "model.py:9 (full_state_dict) <- train.py:40 (<module>)"
SCORED = "train.py:30 (score) <- train.py:20 (evaluate) <- train.py:41 (<module>)"
TRAINED = "train.py:10 (step) <- train.py:39 (<module>)"


class Recorded:
    """Reports as of a trace: phases of one second each, and the stacks of the peak."""

    def __init__(self, phases: list[tuple[str, int]], stacks: dict[str, int]) -> None:
        self._phases = [
            {"name": name, "step": step, "depth": 0, "begin_seconds": at, "end_seconds": at + 1}
            for at, (name, step) in enumerate(phases)
        ]
        self._stacks = stacks

    def report(self, name: str, **_options: Any) -> str:
        if name == "phases":
            return json.dumps({"phases": self._phases})
        rows = [{"key": key, "bytes": count} for key, count in self._stacks.items()]
        return json.dumps({"rows": rows, "total_bytes": sum(self._stacks.values())})


@pytest.mark.parametrize(
    ("phases", "at", "stacks", "place"),
    [
        (STEP, 1.5, {}, "step 0 backward"),
        ([*STEP, ("forward", 1)], 3.5, {}, "evaluation, after the last optimizer step"),
        ([*STEP, ("forward", 1), ("backward", 1)], 3.5, {}, "step 1 forward"),
        ([("forward", 0)], 0.5, {}, "step 0 forward"),
        (
            [*STEP, ("other", 1)],
            3.5,
            {TRAINED: 80, GATHERED: 20},
            "saving, after the last optimizer step",
        ),
        (
            [*STEP, ("other", 1)],
            3.5,
            {SCORED: 60, GATHERED: 40},
            "evaluation, after the last optimizer step",
        ),
        ([*STEP, ("other", 1)], 3.5, {TRAINED: 97, GATHERED: 3}, "after the last optimizer step"),
        (STEP, 9.0, {}, ""),
    ],
)
def test_a_peak_has_a_place(
    phases: list[tuple[str, int]], at: float, stacks: dict[str, int], place: str
) -> None:
    assert place_of_peak(Recorded(phases, stacks), at, is_whole=True) == place  # type: ignore[arg-type]


def test_a_program_that_failed_may_have_been_in_the_middle_of_a_step() -> None:
    trace = Recorded([*STEP, ("forward", 1)], {})
    assert place_of_peak(trace, 3.5, is_whole=False) == "step 1 forward"  # type: ignore[arg-type]
