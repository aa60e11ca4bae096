"""One try of a program on one simulated device, for ``peakline fit``.

Every device is tried with its own capacity, because the allocator's answer to a full device (free
cached blocks, try again) is part of the result. A program that does not fit is run once more on the
same device with room for everything: then we know how much it needs.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from peakline.commands import run as run_command
from peakline.commands.running.after_run import find_traces
from peakline.commands.running.simulation import notes_of_program

_UNLIMITED = "4096GiB"
_LINES = 3
_LAST_WORDS = 8


@dataclass(frozen=True)
class Attempt:
    """A program with its arguments on a device; ``value`` is that of the sweep, or ''."""

    device: str
    value: str
    command: list[str]


@dataclass(frozen=True)
class Line:
    """One of the heaviest lines at the peak."""

    location: str
    bytes: int


@dataclass(frozen=True)
class Outcome:
    """What came out. ``verdict`` is "fits", "too small", "failed" or "skipped".

    ``peak_bytes`` is the peak of the program's tensors, of the device with the highest one; when
    the device is too small, what it would need. ``headroom_bytes`` is the capacity minus the most
    that was in use, with caches and context; negative: so much is missing.
    """

    device: str
    value: str
    verdict: str
    status: int = 0
    peak_bytes: int | None = None
    capacity_bytes: int | None = None
    most_used_bytes: int | None = None
    headroom_bytes: int | None = None
    guessed_places: int = 0
    lines: list[Line] = field(default_factory=list)
    last_words: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Measured:
    status: int
    out_of_memory: bool
    peak_bytes: int | None
    capacity_bytes: int | None
    most_used_bytes: int | None
    guessed_places: int
    lines: list[Line]
    last_words: list[str]


def try_program(attempt: Attempt, args: argparse.Namespace, folder: Path) -> Outcome:
    """Run the program on the device, and on an unlimited one when it does not fit.

    Raises:
        BuildError: the simulated GPU cannot be built.
    """
    own = _run(attempt, attempt.device, args, folder / "own")
    if own.status == 0:
        return _outcome(attempt, "fits", own, own)
    if not own.out_of_memory:
        return _outcome(attempt, "failed", own, own)
    unlimited = re.sub(r":.*", "", attempt.device) + ":" + _UNLIMITED
    whole = _run(attempt, unlimited, args, folder / "unlimited")
    return _outcome(attempt, "too small", own, whole if whole.status == 0 else own)


def _outcome(attempt: Attempt, verdict: str, own: _Measured, needs: _Measured) -> Outcome:
    headroom = None
    if own.capacity_bytes is not None and needs.most_used_bytes is not None:
        headroom = own.capacity_bytes - needs.most_used_bytes
    return Outcome(
        attempt.device,
        attempt.value,
        verdict,
        status=own.status,
        peak_bytes=needs.peak_bytes,
        capacity_bytes=own.capacity_bytes,
        most_used_bytes=needs.most_used_bytes,
        headroom_bytes=headroom if verdict != "too small" or needs is not own else None,
        guessed_places=needs.guessed_places,
        lines=needs.lines,
        last_words=own.last_words if verdict == "failed" else [],
    )


def _run(attempt: Attempt, device: str, args: argparse.Namespace, folder: Path) -> _Measured:
    folder.mkdir(parents=True)
    parser = argparse.ArgumentParser()
    run_command.add_arguments(parser)
    words = ["--simulate", device, "--stacks", "python", "-o", str(folder / "%p.peak")]
    options = parser.parse_args(words)
    options.program = attempt.command
    for name in ("python", "assume", "max_value_reads", "allow_writes", "steps"):
        setattr(options, name, getattr(args, name))
    plan = run_command.make_plan(options)
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
    return _measure(plan, done.returncode, log, started, args.frame)


def _may_change_memory(read: dict[str, Any]) -> bool:
    is_harmless = read["floating_point"] or read["effect"] == "printed"
    return not read["assumed"] and not is_harmless


def _measure(
    plan: run_command.Plan, status: int, log: Path, started: float, frame: str
) -> _Measured:
    import peakline._report as engine

    words = log.read_text(errors="replace").splitlines()[-_LAST_WORDS:]
    traces = [engine.Trace(str(path)) for path in find_traces(plan.run_id, plan.output, started)]
    found: list[tuple[int, dict[str, Any], engine.Trace]] = []
    out_of_memory = False
    for trace in traces:
        records = json.loads(trace.report("stats", json=True, top=1))["records"]
        out_of_memory = out_of_memory or records["out_of_memory"] > 0
        summary = trace.summary_data(top=_LINES, frame=frame, cwd=str(Path.cwd()))
        peak = max((device["peak_bytes"] for device in summary["devices"]), default=0)
        found.append((peak, summary, trace))
    if not found:
        return _Measured(status, out_of_memory, None, None, None, 0, [], words)
    peak, summary, _trace = max(found, key=lambda one: one[0])
    number = summary["table"]["device"]
    meta = [one[1]["meta"] for one in found]
    used = [int(one.get(f"device.{number}.most_used_bytes", 0)) for one in meta]
    capacity = summary["meta"].get(f"device.{number}.total_bytes")
    return _Measured(
        status,
        out_of_memory,
        peak,
        int(capacity) if capacity else None,
        max(used) or None,
        sum(_may_change_memory(read) for read in summary["table"]["value_reads"]),
        [Line(row["key"], row["bytes"]) for row in summary["table"]["rows"]],
        words,
    )
