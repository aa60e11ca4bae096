"""`plan --try`: a cheaper plan that fits is the plan, and the next cheaper one is tried."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from peakline.trials import planning
from peakline.trials.planning import Budget

ALL = [f"h.{i}" for i in range(6)]
ROUNDING = 7


def peak_of(count: int) -> int:
    """Bytes with so many layers checkpointed."""
    return 1000 - 100 * count


def document_of(room: int, free: str = "") -> dict[str, Any]:
    """Return what the engine answers: the fewest layers under the room."""
    count = next((n for n in range(7) if peak_of(n) <= room - ROUNDING), None)
    cheaper = None
    if count:
        cheaper = {"layers": ALL[: count - 1], "peak_bytes": peak_of(count - 1)}
    layers = ALL[: count or 0]
    plan = [{"change": free, "layers": []}] if free else []
    plan += [{"change": f"checkpoint={','.join(layers)}", "layers": layers}] if layers else []
    return {
        "all_layers": ALL,
        "refusal": None,
        "feasible": count is not None,
        "fits_as_it_is": count == 0,
        "rounding_bytes": ROUNDING,
        "plan": plan,
        "proof": {"next_cheaper": cheaper},
    }


class Planner(planning._Planner):
    """Runs nothing: a set fits on the device if it checkpoints enough layers."""

    def __init__(self, least_that_fits: int, free_below: int = 0) -> None:
        options: Any = SimpleNamespace(simulate="h200")
        super().__init__([], options, Budget(500, is_device=True), Path(), lambda _: None)
        self.least, self.free_below = least_that_fits, free_below
        self.tried: list[int] = []

    def _run(self, name: str, changes: Sequence[str], *more: Any, **how: Any) -> Any:
        device_bytes = how.get("device_bytes", 0)
        self._runs += 1
        layers = next((one.count("h.") for one in changes if one.startswith("checkpoint=")), 0)
        fits = not device_bytes or layers >= self.least
        self.tried += [layers] if device_bytes else []
        status = 0 if fits else 1
        return SimpleNamespace(status=status, out_of_memory=not fits, trace=Path("a.peak"))

    def _document(self, trace: Path, room: int, *more: Any) -> dict[str, Any]:
        return document_of(room, "fused" if room < self.free_below else "")


@pytest.fixture(autouse=True)
def _no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "other_bytes", lambda trace: 0)


def test_the_next_cheaper_plan_is_refuted() -> None:
    planner = Planner(least_that_fits=6)
    found = planner.run()
    assert planner.tried == [6, 5]  # 500 bytes of room are 493 for blocks: six layers
    assert found.fits and found.layers == ALL
    assert found.cheaper_run is not None and found.cheaper_run.out_of_memory


def test_a_cheaper_plan_that_fits_is_the_plan() -> None:
    planner = Planner(least_that_fits=5)
    found = planner.run()
    assert planner.tried == [6, 5, 4]
    assert found.fits and found.layers == ALL[:5]
    assert found.cheaper_run is not None and found.cheaper_run.out_of_memory
    assert found.margin_bytes == 0


def test_the_last_run_may_leave_a_plan_without_a_proof() -> None:
    planner = Planner(least_that_fits=0)
    found = planner.run()
    assert planner.tried == [6, 5, 4, 3]
    assert found.layers == ALL[:3] and found.cheaper_run is None


def test_another_plan_than_the_one_that_ran_is_not_taken() -> None:
    # The plan of the larger room needs no free change.
    planner = Planner(least_that_fits=0, free_below=505)
    found = planner.run()
    assert planner.tried == [6, 5]
    assert found.layers == ALL and found.cheaper_run is not None and found.cheaper_run.status == 0
