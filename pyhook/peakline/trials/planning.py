"""The runs of `peakline plan --try`: at most six; the last one shows that a cheaper plan fails.

The first run is the program as it is, the second one has every candidate layer checkpointed. Both
are simulated with memory without a limit. The plan then runs on a device of the budget's size, and
so does the cheaper set with the lowest predicted peak. If that fits, too, it is the plan.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from peakline.trials.attempts import Measured, TryOptions, run_attempt

_UNLIMITED = "4096GiB"
MOST_RUNS = 6
# A plan that does not fit is made again for a budget that is smaller by these parts: the allocator
# may keep free memory that it cannot use.
_MARGINS = (0.06, 0.16)


@dataclass(frozen=True)
class Budget:
    """``bytes`` of a whole device, or of the blocks of torch's allocator alone."""

    bytes: int
    is_device: bool


@dataclass
class Planned:
    """The plan, and the runs so far. ``run`` and ``cheaper_run``: None: not made.

    ``device_bytes`` of the device, and ``room_bytes`` of it for torch's allocator.
    """

    base: Measured
    document: dict[str, Any] = field(default_factory=dict)
    device_bytes: int = 0
    room_bytes: int = 0
    run: Measured | None = None
    cheaper_run: Measured | None = None
    margin_bytes: int = 0
    problem: str = ""  # why there are no more runs

    @property
    def layers(self) -> list[str]:
        """The layers that the plan checkpoints."""
        return [layer for one in self.document.get("plan", ()) for layer in one["layers"]]

    @property
    def changes(self) -> list[str]:
        """The plan as values of --change."""
        return [one["change"] for one in self.document.get("plan", ())]

    @property
    def fits(self) -> bool:
        """Whether the plan ran on a device of this size."""
        return self.run is not None and self.run.status == self.base.status


def plan_program(
    command: Sequence[str],
    options: TryOptions,
    budget: Budget,
    folder: Path,
    show: Callable[[str], None],
) -> Planned:
    """Plan a program for a budget, and run the plan.

    Raises:
        BuildError: the simulated GPU cannot be built.
    """
    return _Planner(command, options, budget, folder, show).run()


def other_bytes(trace: Path) -> int:
    """Return the bytes on the device beside torch's allocator; 0: the recording does not know."""
    import peakline._report as engine

    document = json.loads(engine.Trace(str(trace)).report("whatif", json=True, unverified=True))
    return int(document["other_bytes"] or 0)


def _with_layers(changes: Sequence[str], layers: Sequence[str]) -> list[str]:
    """Return the changes of a plan with other layers checkpointed."""
    others = [one for one in changes if not one.startswith("checkpoint=")]
    return [*others, f"checkpoint={','.join(layers)}"] if layers else others


class _Planner:
    def __init__(
        self,
        command: Sequence[str],
        options: TryOptions,
        budget: Budget,
        folder: Path,
        show: Callable[[str], None],
    ) -> None:
        self._command = command
        self._options = options
        self._budget = budget
        self._folder = folder
        self._show = show
        self._runs = 0
        self._device = re.sub(r":.*", "", options.simulate)

    def run(self) -> Planned:
        """Make the runs."""
        base = self._run("the program as it is", [])
        found = Planned(base)
        if base.status != 0 or base.trace is None:
            found.problem = "the program as it is did not run"
            return found
        other = other_bytes(base.trace)
        found.device_bytes = self._budget.bytes + (0 if self._budget.is_device else other)
        found.room_bytes = max(0, found.device_bytes - other)
        found.document = self._document(base.trace, found.room_bytes)
        layers = found.document["all_layers"]
        if found.document["refusal"] or found.document["fits_as_it_is"]:
            return found
        flops = self._folder / "flops"
        all_layers = self._run(
            "all layers checkpointed",
            [f"checkpoint={','.join(layers)}"],
            {"PEAKLINE_TRY_FLOPS": str(flops)},
        )
        if all_layers.status != 0 or all_layers.trace is None:
            found.problem = "the program with all layers checkpointed did not run"
            return found
        self._prove(found, all_layers.trace, flops)
        return found

    def _prove(self, found: Planned, all_layers: Path, flops: Path) -> None:
        assert found.base.trace is not None
        room = found.room_bytes
        for margin in (0, *(int(room * part) for part in _MARGINS)):
            document = self._document(found.base.trace, room - margin, all_layers, flops)
            if margin and not document["feasible"]:
                break
            found.document, found.margin_bytes = document, margin
            if not document["feasible"] or document["fits_as_it_is"]:
                return
            found.run = self._run("the plan", found.changes, device_bytes=found.device_bytes)
            if found.fits or not found.run.out_of_memory:
                break
        while found.fits and self._runs < MOST_RUNS and self._run_cheaper(found):
            if not self._take_cheaper(found, all_layers, flops):
                break

    def _run_cheaper(self, found: Planned) -> bool:
        """Run the cheaper set with the lowest peak; returns whether there is one and it fits."""
        cheaper = found.document["proof"]["next_cheaper"]
        if cheaper is None:
            return False
        found.cheaper_run = self._run(
            "the next cheaper plan",
            _with_layers(found.changes, cheaper["layers"]),
            device_bytes=found.device_bytes,
        )
        return found.cheaper_run.status == found.base.status

    def _take_cheaper(self, found: Planned, all_layers: Path, flops: Path) -> bool:
        """Make the cheaper plan that ran the plan, if the search finds it for a larger room."""
        assert found.base.trace is not None
        cheaper = found.document["proof"]["next_cheaper"]
        room = cheaper["peak_bytes"] + found.document["rounding_bytes"]
        again = Planned(found.base, self._document(found.base.trace, room, all_layers, flops))
        if again.changes != _with_layers(found.changes, cheaper["layers"]):
            return False
        found.document, found.run, found.cheaper_run = again.document, found.cheaper_run, None
        found.margin_bytes = max(0, found.room_bytes - room)
        return True

    def _run(
        self,
        name: str,
        changes: Sequence[str],
        environment: dict[str, str] | None = None,
        device_bytes: int = 0,
    ) -> Measured:
        self._runs += 1
        self._show(f"{name} (run {self._runs} of at most {MOST_RUNS})")
        folder = self._folder / str(self._runs)
        variables = {
            "PEAKLINE_TRY": ";".join(changes),
            "PEAKLINE_TRY_NOTES": str(folder.with_suffix(".notes")),
            **(environment or {}),
        }
        size = f"{device_bytes}B" if device_bytes else _UNLIMITED
        return run_attempt(
            self._command,
            self._options,
            folder,
            simulate=f"{self._device}:{size}",
            stacks="",
            changes=variables if changes else {},
        )

    def _document(
        self, trace: Path, room: int, all_layers: Path | None = None, flops: Path | None = None
    ) -> dict[str, Any]:
        import peakline._report as engine

        counted = flops.read_text().splitlines() if flops and flops.exists() else []
        text = engine.Trace(str(trace)).report(
            "plan",
            json=True,
            peak_budget=max(0, room),
            budget_of="device" if self._budget.is_device else "allocated",
            recomputed=str(all_layers or ""),
            flops=counted,
        )
        document: dict[str, Any] = json.loads(text)
        return document
