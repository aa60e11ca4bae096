"""The ranks of a run as text."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from peakline.base.sizes import size_of
from peakline.differences.text import columns, signed
from peakline.runs.compare import Outlier, Process
from peakline.runs.report import Comparison

Shorten = Callable[[str, int], str]
_LOCATION = {"line": "Location", "module": "Module", "op": "Operator", "category": "Category"}


def comparison_text(comparison: Comparison, top: int, shorten: Shorten) -> list[str]:
    """Return the lines of the report.

    Args:
        comparison: the ranks.
        top: number of shown ranks and rows; 0: all.
        shorten: cuts a text to the space behind the given number of columns.
    """
    parts = [
        _headline(comparison),
        _processes(comparison, top, shorten),
        *([_coordinates(comparison)] if comparison.coordinates else []),
        *(_outlier(one) for one in comparison.outliers[: top or None]),
        _rows(comparison, top, shorten),
    ]
    return [line for part in parts for line in ("", *part)][1:]


def _headline(comparison: Comparison) -> list[str]:
    run, processes = comparison.run, comparison.processes
    hosts = len({one.member.host for one in processes})
    where = f"on {hosts} host{'s' * (hosts != 1)}"
    if run.ranks:
        count = f"{len(run.ranks)} of {run.world_size} ranks {where}"
    else:
        count = f"{len(processes)} process{'es' * (len(processes) != 1)} {where}"
    lines = [f"{run.name}, run {run.id}: {count}", _peaks(comparison)]
    if len(processes) > 1:
        last = max(processes, key=lambda one: one.peak_at)
        apart = last.peak_at - comparison.first.peak_at
        lines.append(
            f"First to its peak: {comparison.first.member.label}, {apart:.3f} s before"
            f" the last, {last.member.label}"
        )
    if run.missing:
        lines.append(f"Missing: {listed_ranks(run.missing)} left no trace")
    if comparison.cut:
        lines.append(f"Cut: {_listed(comparison.cut)} killed or interrupted: peaks are up to then")
    attempts = sorted({one.attempt for one in run.members})
    if len(attempts) > 1:
        lines.append(f"Attempts: {len(attempts)}; the last of every rank is shown")
    lines += [f"{one.member.label}: {one.too_low}" for one in processes if one.too_low]
    lines += [f"Not read: {why}" for why in comparison.unreadable]
    return lines


def _peaks(comparison: Comparison) -> str:
    heaviest, lightest = comparison.heaviest, comparison.lightest
    text = f"Peak: {size_of(heaviest.peak_bytes)} at {heaviest.member.label}, the heaviest"
    if len(comparison.processes) == 1:
        return text
    return (
        f"{text}; median {size_of(comparison.median_bytes)}, lightest"
        f" {size_of(lightest.peak_bytes)} at {lightest.member.label}"
    )


def listed_ranks(ranks: Sequence[int]) -> str:
    """Return "rank 3" or "ranks 0-3, 7"; adjacent ranks are joined."""
    spans: list[list[int]] = []
    for rank in ranks:
        if spans and spans[-1][1] == rank - 1:
            spans[-1][1] = rank
        else:
            spans.append([rank, rank])
    words = [str(a) if a == b else f"{a}-{b}" for a, b in spans]
    return f"rank{'s' * (len(ranks) != 1)} {', '.join(words)}"


def _listed(processes: Sequence[Process]) -> str:
    ranks = [one.member.rank for one in processes if one.member.rank is not None]
    if len(ranks) == len(processes):
        return listed_ranks(ranks)
    return ", ".join(one.member.label for one in processes)


def _processes(comparison: Comparison, top: int, shorten: Shorten) -> list[str]:
    dimensions = list(dict.fromkeys(d for one in comparison.processes for d in one.coordinates))
    ordered = sorted(comparison.processes, key=lambda one: -one.peak_bytes)
    shown = ordered[:top] if top else ordered
    middle = comparison.median_bytes
    heads = ("Peak", "To median", "Rank" if comparison.run.ranks else "Process", *dimensions)
    cells = [
        (
            size_of(one.peak_bytes),
            f"{one.peak_bytes / middle - 1:+.1%}" if middle else "",
            str(one.member.pid if one.member.rank is None else one.member.rank),
            *(str(one.coordinates.get(dimension, "-")) for dimension in dimensions),
        )
        for one in shown
    ]
    lines = table_lines((*heads, "Where"), cells, map(_where, shown), shorten)
    hidden = len(ordered) - len(shown)
    return [*lines, *([f"{hidden} more, lighter: --top 0 shows all"] if hidden else [])]


def _where(one: Process) -> str:
    step = f" of step {one.step}" if one.step is not None else ""
    moment = f", in {one.phase}{step}" if one.phase else ""
    return f"{one.member.host}, device {one.device}{moment}"


def _coordinates(comparison: Comparison) -> list[str]:
    cells = [
        (
            f"{coordinate.dimension} {coordinate.index}",
            size_of(coordinate.median_bytes),
            size_of(coordinate.max_bytes),
        )
        for coordinate in comparison.coordinates
    ]
    counts = (f"{coordinate.count} ranks" for coordinate in comparison.coordinates)
    return table_lines(("Along", "Median peak", "Max", "Of"), cells, counts, lambda text, _: text)


def _outlier(outlier: Outlier) -> list[str]:
    more = "more" if outlier.bytes_above > 0 else "less"
    lines = [
        f"{outlier.process.member.label.capitalize()} stands out:"
        f" {size_of(abs(outlier.bytes_above))} {more} than the median of its peers"
        f" ({size_of(outlier.peers_bytes)})"
    ]
    return lines + [f"    {signed(size):>9}  {key}" for key, size in outlier.rows]


def _rows(comparison: Comparison, top: int, shorten: Shorten) -> list[str]:
    shown = comparison.rows[: top or None]
    cells = [
        (
            size_of(row.min_bytes),
            size_of(row.median_bytes),
            size_of(row.max_bytes),
            str(row.heaviest.pid if row.heaviest.rank is None else row.heaviest.rank),
        )
        for row in shown
    ]
    what = "Rank" if comparison.run.ranks else "Process"
    heads = ("Min", "Median", "Max", what, _LOCATION[comparison.by])
    lines = table_lines(heads, cells, (row.key for row in shown), shorten)
    hidden = len(comparison.rows) - len(shown)
    more = [f"{hidden} more, less uneven: --top 0 shows all"] if hidden else []
    return [f"At the peak of each, the most uneven {_plural(comparison.by)} first", *lines, *more]


def _plural(by: str) -> str:
    return {"line": "lines", "module": "modules", "op": "operators"}.get(by, "categories")


def table_lines(
    heads: Sequence[str],
    cells: Sequence[Sequence[str]],
    last: Iterable[str],
    shorten: Shorten,
    left: Collection[int] = (),
) -> list[str]:
    """Return lines with right-aligned columns, and a left-aligned last one of any length.

    The columns with the numbers `left` are left-aligned, too.
    """
    numbers = columns([heads[:-1], *cells], left)
    return [
        f"{one}  {shorten(text, len(one) + 2)}"
        for one, text in zip(numbers, (heads[-1], *last), strict=True)
    ]
