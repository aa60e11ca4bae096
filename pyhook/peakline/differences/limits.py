"""Judges a run by limits: for ``peakline check`` and ``peakline.check()``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from peakline.base.engine import CommandError
from peakline.differences import side, summary
from peakline.differences.gate import Verdict, check_baseline, check_limit, check_phases
from peakline.differences.loading import load_side

if TYPE_CHECKING:
    from peakline._report import Options
    from peakline.differences.side import Side


@dataclass(frozen=True)
class Limits:
    """The limits of a check in bytes; ``tolerance`` is the share that a baseline allows more.

    ``options`` choose the device, the measure, and the lines to inspect.
    """

    max_peak: int | None
    max_phases: Sequence[tuple[str, int]]
    tolerance: float
    options: Options


def judge(path: str, limits: Limits, baseline: str | None) -> list[Verdict]:
    """Return a verdict for each limit; `baseline` is a trace or a summary of one.

    Raises:
        CommandError: a file cannot be read, or the run has no such phase.
    """
    verdicts = []
    if limits.max_peak is not None:
        lines = _lines_of(path, limits)
        verdicts.append(check_limit("peak", lines, lines.total_bytes, limits.max_peak, lines.rows))
    if limits.max_phases:
        phases = _phases_of(path, limits)
        verdicts += [_judge_phase(phases, name, most, limits) for name, most in limits.max_phases]
    if baseline:
        base, now = (_lines_of(one, limits, to_match=True) for one in (baseline, path))
        verdicts.append(check_baseline("peak", base, now, limits.tolerance))
        base, now = (_phases_of(one, limits) for one in (baseline, path))
        verdicts += check_phases(base, now, limits.tolerance)
    return verdicts


def _judge_phase(phases: Side, name: str, most: int, limits: Limits) -> Verdict:
    found = next((row.bytes for row in phases.rows if row.at.key == name), None)
    if found is None:
        known = ", ".join(row.at.key for row in phases.rows)
        raise CommandError(f"{phases.name}: no phase is called '{name}'; there are: {known}")
    held = _lines_of(phases.name, limits, phase=name).rows if found > most else ()
    return check_limit(f"phase {name}", phases, found, most, held)


def _lines_of(
    path: str, limits: Limits, *, to_match: bool = False, phase: str | None = None
) -> Side:
    """Return the lines that hold memory at the peak, or at the peak within a phase."""
    options: Options = {**limits.options}
    if phase is not None:
        options["during"] = phase
    read = side.side_of_trace if to_match else side.held_of_trace

    def of_summary(found: dict[str, Any], name: str) -> Side:
        lines = summary.side_of_summary(found, name)
        # its lines are those of the peak of the run
        return lines if phase is None else replace(lines, rows=())

    return load_side(
        path,
        lambda recording: read(recording, **options),
        of_summary if options.get("measure") == "allocated" else None,
    )


def _phases_of(path: str, limits: Limits) -> Side:
    return load_side(
        path,
        lambda recording: side.phases_of_trace(recording, limits.options.get("device")),
        summary.phases_of_summary,
    )
