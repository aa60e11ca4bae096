"""``peakline.diff()``, ``check()`` and ``reserved_growth()``: differences as `Report`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from peakline.base.engine import CommandError
from peakline.base.files import here
from peakline.differences.compare import compare, document_of
from peakline.differences.gate import Verdict, text_of
from peakline.differences.limits.judging import Limits, judge
from peakline.differences.limits.limit import PEAK, PHASE, Limit
from peakline.differences.limits.limits_file import read_limits
from peakline.differences.loading import path_of
from peakline.differences.reserved import GrownRow, reserved_since, reserved_text
from peakline.differences.reserved import document_of as document_of_growth
from peakline.differences.side import side_of_trace
from peakline.differences.text import comparison_text
from peakline.recording import Recording, Report
from peakline.recording.reports import ROWS_OF_DIFFERENCES, report_of_lines
from peakline.recording.rows import DifferenceRow

if TYPE_CHECKING:
    from peakline._report import Options


def diff(
    before: Recording,
    after: Recording,
    *,
    by: str = "line",
    at: str | float = "peak",
    device: int | str | None = None,
    measure: str = "allocated",
    where: Sequence[str] | str | None = None,
    fold: bool = False,
    depth: int = 0,
) -> Report[DifferenceRow]:
    """Return how much more each line, or other key, holds in `after` than in `before`.

    >>> report = peakline.diff(recording, recording, by="category")
    >>> {row.delta_bytes for row in report}
    {0}

    The options are those of `Recording.table`. The rows sum to the difference of the totals, the
    largest first.
    """
    sides = (
        side_of_trace(
            one,
            by=by,
            at=at,
            device=device,
            measure=measure,
            where=where,
            fold=fold,
            depth=depth,
            cwd=here(),
        )
        for one in (before, after)
    )
    comparison = compare(*sides)
    document = document_of(comparison, by=by, compared=at)
    title = "Peak" if at == "peak" else f"At {at}"
    lines = comparison_text(comparison, title, ROWS_OF_DIFFERENCES, lambda text, _: text)
    return report_of_lines(DifferenceRow, document["rows"], document, lines)


def reserved_growth(
    recording: Recording,
    *,
    since: str | float | None = None,
    device: int | str | None = None,
    frame: str = "caller",
    hide: Sequence[str] | None = None,
    symbols: Sequence[str] | None = None,
    full_paths: bool = False,
) -> Report[GrownRow]:
    """Return why torch reserves more memory than at a moment; the rows sum to the growth.

    >>> report = peakline.reserved_growth(recording)
    >>> sum(row.bytes for row in report) == report.document["delta_bytes"]
    True

    Args:
        recording: the run.
        since: seconds since the trace began, ``"step@100"``, or a local time as
            ``"2030-01-31T08:00"``; None: the whole run.
        device: a number; None: the GPU with the highest peak.
        frame: as in `Recording.table`, like those that follow.
        hide: files of frames to skip.
        symbols: folders of libraries with names.
        full_paths: absolute paths.

    Raises:
        ValueError: it is no moment of this run, or the trace does not have the events since then.
    """
    options = {"frame": frame, "hide": hide, "symbols": symbols, "full_paths": full_paths}
    number = None if device is None else str(device)
    try:
        found = reserved_since(recording, since, number, **options)
    except CommandError as error:
        raise ValueError(str(error)) from error
    document = document_of_growth(found)
    lines = reserved_text(found, ROWS_OF_DIFFERENCES)
    return report_of_lines(GrownRow, document["rows"], document, lines)


def check(
    recording: Recording,
    *,
    max_peak_bytes: int | None = None,
    max_phase_bytes: Mapping[str, int] | None = None,
    limits: str | os.PathLike[str] | None = None,
    baseline: Recording | str | os.PathLike[str] | None = None,
    tolerance: float = 0.0,
    device: int | str | None = None,
    measure: str = "allocated",
) -> Report[Verdict]:
    """Return a row for each limit; ``holds`` is False where the run is above it.

    >>> [verdict] = peakline.check(recording, max_peak_bytes=10**12)
    >>> verdict.holds
    True

    Args:
        recording: the run.
        max_peak_bytes: limit of the peak.
        max_phase_bytes: limits of the peaks within phases, by name.
        limits: a file of limits (``peakline check --limits``).
        baseline: a recording, a trace, or a summary (``peakline pack --summary``): its peak and
            those of its phases are limits.
        tolerance: the share that the baseline allows more, 0.02 for 2 %.
        device: as in `Recording.table`.
        measure: as in `Recording.table`.

    Raises:
        ValueError: no limit is given, or the run has no such phase.
    """
    if max_peak_bytes is None and not max_phase_bytes and limits is None and baseline is None:
        raise ValueError("give a limit: max_peak_bytes, max_phase_bytes, limits or baseline")
    asked = [] if max_peak_bytes is None else [Limit(PEAK, "", max_peak_bytes, measure=measure)]
    asked += [Limit(PHASE, name, most) for name, most in (max_phase_bytes or {}).items()]
    options: Options = {"device": device, "measure": measure, "cwd": here()}
    try:
        asked += read_limits(str(limits)) if limits is not None else []
        every = Limits(asked, tolerance, options)
        verdicts = judge(path_of(recording), every, path_of(baseline) if baseline else None)
    except CommandError as error:
        raise ValueError(str(error)) from error
    document = {"schema_version": 1, "limits": [asdict(one) for one in verdicts]}
    return report_of_lines(Verdict, document["limits"], document, text_of(verdicts))
