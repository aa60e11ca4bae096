"""One recorded and measured run of a program, for `peakline fit` and `advise --try`."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from peakline.base.device_names import highest_peak, memory_of_device
from peakline.launch.options import RunOptions
from peakline.launch.run_plan import Plan, add_startup, make_plan
from peakline.launch.simulation import notes_of_program
from peakline.launch.trace_files import find_traces
from peakline.trials.peak_places import place_of_peak

_LINES = 3
_LAST_WORDS = 8
# Words of torch, of the runtime, and of libraries that found no memory for themselves.
_NO_MEMORY = re.compile(r"out of memory|OutOfMemory|ALLOC_FAILED", re.IGNORECASE)


@dataclass(frozen=True)
class Line:
    """One of the heaviest lines at the peak."""

    location: str
    bytes: int


@dataclass(frozen=True)
class Measured:
    """The result of a run, for the process and the device with the highest peak.

    ``steady_peak_bytes`` is the peak without the memory that only compiling takes.
    ``capacity_bytes`` and ``most_used_bytes`` (with caches and context) are known only for
    simulated devices. ``trace`` is its recording; None: nothing was recorded.
    ``ended_after_steps``: --steps ended the program, after so many; 0: it ran to its own end.
    """

    status: int
    out_of_memory: bool
    peak_bytes: int | None
    steady_peak_bytes: int | None
    capacity_bytes: int | None
    most_used_bytes: int | None
    guessed_places: int
    place: str  # step and phase of the peak; '': unknown
    lines: list[Line]
    last_words: list[str]
    seconds: float
    trace: Path | None
    ended_after_steps: int = 0

    @staticmethod
    def nothing(
        status: int, last_words: list[str], *, out_of_memory: bool = False, seconds: float = 0.0
    ) -> Measured:
        """Return the result of a run without a recording."""
        return Measured(
            status, out_of_memory, None, None, None, None, 0, "", [], last_words, seconds, None
        )


@dataclass(frozen=True)
class TryOptions:
    """The options of a trial: the simulated device ('': a real one) and the changes.

    Without changes `advise --try` takes those that the recording suggests. ``frame`` chooses the
    lines of a result, as --frame does.
    """

    run: RunOptions = field(default_factory=RunOptions)
    simulate: str = ""
    changes: tuple[str, ...] = ()
    frame: str = "caller"


def run_attempt(
    command: Sequence[str],
    options: TryOptions,
    folder: Path,
    *,
    simulate: str,
    stacks: str = "python",
    changes: Mapping[str, str] | None = None,
) -> Measured:
    """Run a program quietly and return the result.

    Args:
        command: the program with its arguments, as `peakline run` takes it.
        options: the options of the run; its program, trace, device and stacks are replaced.
        folder: is created for the output of the program and its trace.
        simulate: the simulated device; '' for a real one.
        stacks: as --stacks of `peakline run`; '' for its default.
        changes: further environment variables; then Python starts with peakline's startup folder.

    Raises:
        BuildError: the simulated GPU cannot be built.
    """
    folder.mkdir(parents=True)
    plan = make_plan(
        replace(
            options.run,
            program=command,
            output=str(folder / "%p.peak"),
            simulate=simulate,
            stacks=stacks,
        )
    )
    if changes is not None:
        add_startup(plan)
        plan.environment.update(changes)
    log = folder / "log"
    started = time.time()
    notes = notes_of_program(
        plan.environment,
        guards_checkpoints=plan.guards_checkpoints,
        notes_reads=False,
        quiet=True,
    )
    with log.open("wb") as output, notes:
        done = subprocess.run(
            plan.command, env=plan.environment, stdout=output, stderr=output, check=False
        )
    return _measure(plan, done.returncode, log, started, options.frame)


def _may_change_memory(read: dict[str, Any]) -> bool:
    is_harmless = read["floating_point"] or read["effect"] == "printed"
    return not read["assumed"] and not is_harmless


def _measure(plan: Plan, status: int, log: Path, started: float, frame: str) -> Measured:
    import peakline._report as engine

    seconds = time.time() - started
    words = log.read_text(errors="replace").splitlines()[-_LAST_WORDS:]
    found: list[tuple[int, dict[str, Any], Path]] = []
    out_of_memory = status != 0 and any(map(_NO_MEMORY.search, words))
    for path in find_traces(plan.run_id, plan.output, started):
        trace = engine.Trace(str(path))
        records = json.loads(trace.report("stats", json=True, top=1))["records"]
        out_of_memory = out_of_memory or records["out_of_memory"] > 0
        summary = trace.summary_data(top=_LINES, frame=frame, cwd=str(Path.cwd()))
        found.append((highest_peak(summary["devices"]), summary, Path(path)))
    if not found:
        return Measured.nothing(status, words, out_of_memory=out_of_memory, seconds=seconds)
    peak, summary, path = max(found, key=lambda one: one[0])
    number = summary["table"]["device"]
    meta = [one[1]["meta"] for one in found]
    used = [int(one.get(f"device.{number}.most_used_bytes", 0)) for one in meta]
    capacity = memory_of_device(summary["meta"], number)
    compiling = summary["table"]["compiling"]
    return Measured(
        status,
        out_of_memory,
        peak,
        compiling["peak_without_bytes"] if compiling else peak,
        capacity or None,
        max(used) or None,
        sum(_may_change_memory(read) for read in summary["table"]["value_reads"]),
        place_of_peak(
            engine.Trace(str(path)), float(summary["table"]["peak_seconds"]), is_whole=status == 0
        ),
        [Line(row["key"], row["bytes"]) for row in summary["table"]["rows"]],
        words,
        seconds,
        path,
        max(int(one.get("ended_after_steps", 0)) for one in meta),
    )
