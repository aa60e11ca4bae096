"""Judges a run by limits: for ``peakline check`` and ``peakline.check()``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import filter as filter_names
from typing import TYPE_CHECKING, Any

from peakline.base.engine import CommandError, report_engine
from peakline.base.output import did_you_mean
from peakline.differences import side, summary
from peakline.differences.gate import Verdict, check_baseline, check_limit, check_phases
from peakline.differences.limits.limit import GROWTH, LINE, PEAK, PHASE, RESERVED, Limit
from peakline.differences.limits.moved_lines import names_in_run
from peakline.differences.loading import load_side
from peakline.recording import Recording

if TYPE_CHECKING:
    from peakline._report import Options
    from peakline.differences.side import Side


@dataclass(frozen=True)
class Limits:
    """The limits of a check; ``tolerance`` is the share that a baseline allows more.

    ``options`` choose the device, the measure of the baseline, and the lines to inspect.
    """

    limits: Sequence[Limit]
    tolerance: float
    options: Options

    def of(self, limit: Limit) -> Options:
        """Return the options for one limit."""
        options: Options = {**self.options, "measure": limit.measure}
        if limit.device is not None:
            options["device"] = limit.device
        return options


class NotInRunError(CommandError):
    """A run has no phase, line, module ... of this name."""


def judge(path: str, limits: Limits, baseline: str | None) -> list[Verdict]:
    """Return a verdict for each limit; `baseline` is a trace or a summary of one.

    Raises:
        NotInRunError: the run has no such phase, line, module ...
        CommandError: a file cannot be read.
    """
    return judge_all([path], limits, lambda _: baseline)


def judge_all(
    paths: Sequence[str], limits: Limits, baseline_of: Callable[[str], str | None]
) -> list[Verdict]:
    """Return the verdicts on several traces, such as the ranks of a run.

    A limit may name something that only some of them have.

    Raises:
        NotInRunError: none of them has such a phase, line, module ...
        CommandError: a file cannot be read.
    """
    verdicts: list[Verdict] = []
    missing: dict[Limit, list[NotInRunError]] = {}
    for path in paths:
        names = _names_of_lines(path, limits)
        for limit in limits.limits:
            found = _verdict_or_error(path, limit, limits.of(limit), names)
            if isinstance(found, Verdict):
                verdicts.append(found)
            else:
                missing.setdefault(limit, []).append(found)
        verdicts += _judge_baseline(path, limits, baseline_of(path))
    for errors in missing.values():
        if len(errors) == len(paths):
            raise errors[0]
    return verdicts


def _judge_baseline(path: str, limits: Limits, baseline: str | None) -> list[Verdict]:
    verdicts = []
    if baseline:
        base, now = (_lines_of(one, limits.options, to_match=True) for one in (baseline, path))
        verdicts.append(check_baseline("peak", base, now, limits.tolerance))
        base, now = (_phases_of(one, limits.options) for one in (baseline, path))
        verdicts += check_phases(base, now, limits.tolerance)
    return verdicts


def _names_of_lines(path: str, limits: Limits) -> Mapping[Limit, str]:
    """Return the lines of this run that limits mean, where code moved since they were written."""
    written = [one for one in limits.limits if one.kind == LINE and one.code]
    if not written or summary.is_summary(path):
        return {}
    recording = Recording(path)
    options: Options = {**limits.options, "cwd": side.start_folder(recording)}
    return names_in_run(written, side.lines_of_trace(recording, options))


def _verdict_or_error(
    path: str, limit: Limit, options: Options, names: Mapping[Limit, str]
) -> Verdict | NotInRunError:
    try:
        return _judge(path, limit, options, names)
    except NotInRunError as error:
        return error


def _judge(path: str, limit: Limit, options: Options, names: Mapping[Limit, str]) -> Verdict:
    is_kept = limit.kind in (PEAK, PHASE) and limit.device is None
    if not is_kept and summary.is_summary(path):
        sentence = f"{path}: a summary has the peak of one device and of phases: give the trace"
        raise CommandError(limit.problem(f"{sentence} for the limit of {limit.title}"))
    if limit.kind in (PEAK, RESERVED):
        lines = _lines_of(path, options)
        return check_limit(limit.title, lines, lines.total_bytes, limit.most_bytes, lines.rows)
    if limit.kind == PHASE:
        return _judge_phase(path, limit, options)
    if limit.kind == GROWTH:
        return _judge_growth(path, limit, options)
    return _judge_row(path, limit, options, names.get(limit, limit.name))


def _judge_phase(path: str, limit: Limit, options: Options) -> Verdict:
    phases = _phases_of(path, options)
    found = next((row.bytes for row in phases.rows if row.at.key == limit.name), None)
    if found is None:
        known = [row.at.key for row in phases.rows]
        sentence = f"{path}: no phase is called '{limit.name}'; there are: {', '.join(known)}"
        raise NotInRunError(limit.problem(sentence + did_you_mean(limit.name, known)))
    is_over = found > limit.most_bytes
    held = _lines_of(path, options, phase=limit.name).rows if is_over else ()
    return check_limit(limit.title, phases, found, limit.most_bytes, held)


def _judge_growth(path: str, limit: Limit, options: Options) -> Verdict:
    def of_trace(recording: Recording) -> Side:
        grown = side.growth_of_trace(recording, options)
        if isinstance(grown, str):
            raise CommandError(limit.problem(f"{path}: {limit.title}: {grown}"))
        return grown

    grown = load_side(path, of_trace, None)
    return check_limit(limit.title, grown, grown.total_bytes, limit.most_bytes, grown.rows)


def _judge_row(path: str, limit: Limit, options: Options, name: str) -> Verdict:
    """Judge the bytes at the peak of the rows of `--by KIND` that have the name."""

    def of_trace(recording: Recording) -> Side:
        start = side.start_folder(recording)
        asked: Options = {**options, "cwd": start, "where": [f"{limit.kind}={name}"]}
        _check_name(recording, limit, name, start)
        held = side.held_of_trace(recording, **asked)
        return replace(held, total_bytes=sum(row.bytes for row in held.rows))

    held = load_side(path, of_trace, None)
    title = replace(limit, name=name).title
    return check_limit(title, held, held.total_bytes, limit.most_bytes, held.rows)


def _check_name(recording: Recording, limit: Limit, name: str, start: str) -> None:
    """Refuse a name that no block of the run has; it may be absent at the peak."""
    if limit.kind == "category":  # it depends on the moment: there is none of a whole run
        known = [one for one, *_ in report_engine().CATEGORIES]
        hint = did_you_mean(name, known) or f"; there are: {', '.join(known)}"
        is_unknown = not filter_names(known, name)
    else:
        condition = [f"{limit.kind}={name}"]
        stats = recording.document("stats", where=condition, cwd=start, top=1)
        near = [one for value in stats["where_unmatched"] for one in value["nearest"]]
        hint = f"; the nearest: {', '.join(near)}" if near else ""
        is_unknown = bool(stats["where_unmatched"])
    if is_unknown:
        sentence = f"{recording.path}: no {limit.kind} of this run is called '{name}'{hint}"
        raise NotInRunError(limit.problem(sentence))


def _lines_of(
    path: str, asked: Options, *, to_match: bool = False, phase: str | None = None
) -> Side:
    """Return the lines that hold memory at the peak, or at the peak within a phase."""
    options: Options = {**asked}
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


def _phases_of(path: str, options: Options) -> Side:
    return load_side(
        path,
        lambda recording: side.phases_of_trace(recording, options.get("device")),
        summary.phases_of_summary,
    )
