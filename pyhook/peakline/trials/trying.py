"""Changes of a program that need no edit, each measured in a separate run: `advise --try`.

startup/_peakline_changes.py applies the changes in the program's own process; environment variables
set the options of torch's allocator.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from peakline.trials.attempts import Measured, TryOptions, run_attempt

# Every change with its description. "checkpoint" is followed by "=" and paths of modules, where *
# is a number: "h.*", "h.0,h.1"; "compile" may be followed by "=" and torch's
# activation_memory_budget, from 0 to 1.
CHANGES = {
    "checkpoint": "checkpoint these modules",
    "zero-grad-early": "zero_grad() directly after step()",
    "set-to-none": "zero_grad(set_to_none=True)",
    "fused": "optimizers with fused=True",
    "no-foreach": "optimizers with foreach=False",
    "no-grad-in-eval": "no_grad() around models in eval mode",
    "sdpa-without-math": "scaled_dot_product_attention without its math kernel",
    "no-autocast-cache": "autocast(cache_enabled=False)",
    "compile": "torch.compile of each model",
    "expandable-segments": "PYTORCH_ALLOC_CONF=expandable_segments:True",
}
# Tried always: the recording does not show its effect on the memory that torch keeps.
_ALWAYS = ("expandable-segments",)
_CONF = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF")  # torch prefers the first one
# A change with a smaller gain is left out of the joint run.
_LEAST_GAIN = 0.01


@dataclass(frozen=True)
class Trial:
    """A run with changes. ``ok``: it ended as the unchanged program does."""

    changes: tuple[str, ...]
    ok: bool
    applied: tuple[str, ...]  # changes that took effect
    before: Measured
    after: Measured

    @property
    def is_applied(self) -> bool:
        """Whether every change took effect."""
        return set(self.applied) == set(self.changes)

    @property
    def gain(self) -> float:
        """The larger relative decrease: of the peak, or of the memory in use on the device."""
        pairs = (
            (self.before.peak_bytes, self.after.peak_bytes),
            (self.before.most_used_bytes, self.after.most_used_bytes),
        )
        falls = [1 - after / before for before, after in pairs if before and after]
        return max(falls, default=0.0)

    def document(self) -> dict[str, Any]:
        """Return the trial as JSON."""
        return {
            "change": "; ".join(self.changes),
            "ok": self.ok,
            "applied": self.is_applied,
            "peak_bytes_before": self.before.peak_bytes,
            "peak_bytes_after": self.after.peak_bytes,
            "steady_peak_bytes_after": self.after.steady_peak_bytes,
            "device_bytes_before": self.before.most_used_bytes,
            "device_bytes_after": self.after.most_used_bytes,
            "seconds_before": round(self.before.seconds, 3),
            "seconds_after": round(self.after.seconds, 3),
            "status": self.after.status,
            "last_words": [] if self.ok else self.after.last_words,
        }


@dataclass
class Trials:
    """The unchanged program, each change alone, and all helpful changes together."""

    base: Measured
    advice: dict[str, Any]  # the document of `peakline advise`; empty if nothing was recorded
    trials: list[Trial] = field(default_factory=list)


def problem_of(change: str) -> str:
    """Return the problem of the name of a change, or ''."""
    name, _, value = change.partition("=")
    if name not in CHANGES:
        return f"no change is called '{name}'; there are: {', '.join(CHANGES)}"
    if name == "compile":
        return (
            "" if not value or _is_part(value) else "compile takes a part, from 0 to 1: compile=0.5"
        )
    if (name == "checkpoint") != bool(value):
        return "checkpoint needs the path of modules: checkpoint='h.*'; other changes take no value"
    return ""


def _is_part(value: str) -> bool:
    try:
        return 0 <= float(value) <= 1
    except ValueError:
        return False


def try_changes(
    command: Sequence[str],
    options: TryOptions,
    folder: Path,
    show: Callable[[str], None],
) -> Iterator[Trials]:
    """Run the program unchanged, then with each change; yield the results so far after every run.

    Args:
        command: the program with its arguments.
        options: the options of the runs, and the changes to try.
        folder: for the traces.
        show: is called with the name of the next run.

    Raises:
        BuildError: the simulated GPU cannot be built.
    """
    show("the program as it is")
    base = run_attempt(
        command, options, folder / "base", simulate=options.simulate, changes={}, stacks=""
    )
    found = Trials(base, _advice_of(base, options))
    yield found
    if base.status != 0 or base.peak_bytes is None:
        return

    def run(changes: tuple[str, ...]) -> Trial:
        show(", ".join(changes))
        return _try(command, options, folder / str(len(found.trials)), base, changes)

    suggested = [one["try"] for one in found.advice.get("advice", []) if one["try"]]
    for change in dict.fromkeys(options.changes or [*suggested, *_ALWAYS]):
        found.trials.append(run((change,)))
        yield found
    helping = _helping(found.trials)
    if len(helping) > 1:
        found.trials.append(run(helping))
        yield found


def _helping(trials: Sequence[Trial]) -> tuple[str, ...]:
    """Return the changes that helped; of one change with several values the best one."""
    best: dict[str, Trial] = {}
    for one in trials:
        name = one.changes[0].partition("=")[0]
        # Paths of modules are changes of their own.
        key = one.changes[0] if name == "checkpoint" else name
        helps = one.ok and one.is_applied and one.gain >= _LEAST_GAIN
        if helps and (key not in best or best[key].gain < one.gain):
            best[key] = one
    return tuple(one.changes[0] for one in best.values())


def _advice_of(base: Measured, options: TryOptions) -> dict[str, Any]:
    import peakline._report as engine

    if base.trace is None:
        return {}
    trace = engine.Trace(str(base.trace))
    text = trace.report("advise", json=True, frame=options.frame, cwd=str(Path.cwd()))
    document: dict[str, Any] = json.loads(text)
    return document


def _try(
    command: Sequence[str],
    options: TryOptions,
    folder: Path,
    base: Measured,
    changes: tuple[str, ...],
) -> Trial:
    notes = folder.with_suffix(".notes")
    environment = {"PEAKLINE_TRY": ";".join(changes), "PEAKLINE_TRY_NOTES": str(notes)}
    if "expandable-segments" in changes:
        environment |= _with_setting("expandable_segments:True")
    if any(one.partition("=")[0] == "compile" for one in changes):
        # A cache for this run alone: no earlier run has compiled the program, and kernels tuned on
        # a simulated device never serve a real one.
        environment["TORCHINDUCTOR_CACHE_DIR"] = str(folder.with_suffix(".inductor"))
    after = run_attempt(command, options, folder, simulate=options.simulate, changes=environment)
    noted = set(notes.read_text().splitlines()) if notes.exists() else set()
    return Trial(
        changes,
        ok=after.status == base.status,
        applied=tuple(change for change in changes if change in noted),
        before=base,
        after=after,
    )


def _with_setting(setting: str) -> dict[str, str]:
    name = next((one for one in _CONF if os.environ.get(one)), _CONF[0])
    given = os.environ.get(name, "")
    return {name: f"{given},{setting}" if given else setting}
