"""Data of several traces for the page's tabs Ranks and Differences."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from peakline.base.device_names import is_worth_showing, name_of_device
from peakline.base.sizes import median_of
from peakline.pages.step_levels import for_page
from peakline.runs.compare import Process, compare_rows, process_of
from peakline.runs.find import Run, grouped
from peakline.runs.members import Member, member_of
from peakline.runs.report import compare_run
from peakline.runs.text import listed_ranks

# Rows at every step take much of a page: of more files only the first and the last one have them,
# which the tab Differences compares at first.
_MOST_FILES_WITH_ROWS = 8


class _Texts:
    """Numbers each text once; ranks of a job share most texts."""

    def __init__(self) -> None:
        self.number_of: dict[str, int] = {}

    def number(self, text: str) -> int:
        return self.number_of.setdefault(text, len(self.number_of))


@dataclass(frozen=True)
class ComparedLines:
    """Lines of two files: those that moved, and why some differ."""

    moved: Sequence[tuple[str, str]] = ()  # in the first file, and in the last one
    reasons: Sequence[tuple[str, str]] = ()  # the line, and why it differs


def heaviest(outlines: Sequence[str]) -> int:
    """Return the index of the run with the highest peak, the first of equal ones."""
    peaks = [json.loads(one)["chosen"]["peak_bytes"] for one in outlines]
    return peaks.index(max(peaks))


def files_data(
    outlines: Sequence[str],
    shown: int,
    compared: ComparedLines | None = None,
    levels: Sequence[str | None] = (),
) -> dict[str, Any]:
    """Return the data that the page's script draws: `outlines` are of `_report.Trace.outline()`.

    Rows are flat lists: text, bytes, text, bytes, ... `uneven`, by key: text, least, median and
    most bytes of a file, index of the file with the most. `levels`: of
    `_report.Trace.step_levels()` for each outline, as far as they were read.
    """
    runs = [json.loads(one) for one in outlines]
    texts = _Texts()
    job = _job_of(runs)
    labels = _labels(runs)
    files = []
    processes = []
    # By rank; files without a rank follow in the given order.
    order = sorted(range(len(runs)), key=lambda i: _order_of(_rank_of(runs[i])))
    for i in order:
        run = runs[i]
        processes.append(process_of(_member(run), run, {}))
        for device in _used_devices(run):
            entry = _entry(run, device, texts)
            entry["label"] = labels[i]
            if len(_used_devices(run)) > 1:
                entry["label"] += f", {name_of_device(device['device'])}"
            entry["given"] = i
            entry["coordinates"] = job.coordinates.get(run["file"], {}) if job else {}
            entry["is_shown"] = i == shown and device["device"] == run["chosen"]["device"]
            by_step = levels[i] if device is run["chosen"] and i < len(levels) else None
            with_rows = len(runs) <= _MOST_FILES_WITH_ROWS or i in (0, len(runs) - 1)
            entry["by_step"] = (
                for_page(by_step, texts.number, with_rows=with_rows) if by_step else None
            )
            files.append(entry)
    lines = compared or ComparedLines()
    moved, reasons = (
        [[texts.number(text) for text in pair] for pair in pairs]
        for pairs in (lines.moved, lines.reasons)
    )
    return {
        "files": files,
        "peaks": _peaks(files),
        "uneven": _uneven(processes, files, texts),
        "job": job.facts if job else None,
        "moved": moved,
        "reasons": reasons,
        "texts": list(texts.number_of),
    }


def _order_of(rank: int | None) -> tuple[bool, int]:
    return (rank is None, rank or 0)


def _member(run: dict[str, Any]) -> Member:
    return member_of(Path(run["file"]), {"is_being_written": False, **run})


def _peaks(files: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Return the indexes of the files with the least and the highest peak, and the median peak."""
    peaks = [one["peak_bytes"] for one in files]
    return {
        "least": peaks.index(min(peaks)),
        "median_bytes": median_of(peaks),
        "most": peaks.index(max(peaks)),
    }


def _uneven(
    processes: Sequence[Process], files: Sequence[dict[str, Any]], texts: _Texts
) -> dict[str, list[int]]:
    file_of = {one["file"]: i for i, one in reversed(list(enumerate(files)))}
    return {
        by: [
            number
            for row in compare_rows(processes, by)
            for number in (
                texts.number(row.key),
                row.min_bytes,
                row.median_bytes,
                row.max_bytes,
                file_of[str(row.heaviest.path)],
            )
        ]
        for by in processes[0].rows
    }


@dataclass(frozen=True)
class _Job:
    """Shared data of the files, if they are the ranks of one run."""

    coordinates: dict[str, dict[str, int]]  # by file
    facts: dict[str, Any]


def _job_of(runs: Sequence[dict[str, Any]]) -> _Job | None:
    members = [_member(run) for run in runs]
    if len(list(grouped(members))) != 1:
        return None
    outline_of = {Path(run["file"]): run for run in runs}
    job = Run(tuple(members))
    if not job.ranks:
        return None
    compared = compare_run(job, [outline_of[one.path] for one in job.compared], "line")
    outliers = [
        {
            "label": one.process.member.label,
            "bytes_above": one.bytes_above,
            "rows": [[key, size] for key, size in one.rows],
        }
        for one in compared.outliers
    ]
    missing = listed_ranks(job.missing) if job.missing else ""
    coordinates = {str(one.member.path): dict(one.coordinates) for one in compared.processes}
    return _Job(coordinates, {"missing": missing, "outliers": outliers})


def _used_devices(run: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the devices worth showing, the compared one first."""
    chosen = run["chosen"]
    others = (one for one in run["devices"] if one["device"] != chosen["device"])
    return [chosen, *(one for one in others if is_worth_showing(one))]


def _entry(run: dict[str, Any], device: dict[str, Any], texts: _Texts) -> dict[str, Any]:
    is_chosen = device is run["chosen"]
    return {
        "file": run["file"],
        "rank": _rank_of(run),
        "host": run["meta"].get("host", ""),
        "pid": run["pid"],
        "device": device["device"],
        "peak_bytes": device["peak_bytes"],
        "peak_seconds": device["peak_seconds"],
        "phases": [
            [texts.number(one["name"]), one["peak_bytes"], one["peak_seconds"], one["peak_step"]]
            for one in device["phases"]
        ],
        "phase_of_peak": _phase_of_peak(device),
        "rows": _rows(run["rows"], texts) if is_chosen else {},
        "complete": run["complete"],
    }


def _phase_of_peak(device: dict[str, Any]) -> int | None:
    """Return the index of the phase in which the peak lies; None: it is not known."""
    peak = (device["peak_bytes"], device["peak_seconds"])
    peaks = [(one["peak_bytes"], one["peak_seconds"]) for one in device["phases"]]
    return peaks.index(peak) if peak in peaks else None


def _rows(found: dict[str, Any], texts: _Texts) -> dict[str, list[int]]:
    return {
        by: [number for row in rows for number in (texts.number(row["key"]), row["bytes"])]
        for by, rows in found.items()
    }


def _rank_of(run: dict[str, Any]) -> int | None:
    rank = str(run["meta"].get("rank", ""))
    return int(rank) if rank.isdecimal() else None


def labels_of(outlines: Sequence[str]) -> list[str]:
    """Return the names of the files of a page."""
    return _labels([json.loads(one) for one in outlines])


def _labels(runs: Sequence[dict[str, Any]]) -> list[str]:
    """Return "rank 3" if that names one file, else as much of its path as is unique."""
    ranks = Counter(_rank_of(run) for run in runs)
    labels = []
    paths = [PurePath(run["file"]) for run in runs]
    for run, path in zip(runs, paths, strict=True):
        rank = _rank_of(run)
        if rank is not None and ranks[rank] == 1:
            labels.append(f"rank {rank}")
            continue
        count = 1
        while count < len(path.parts) and _ends(paths, path.parts[-count:]) > 1:
            count += 1
        labels.append(str(PurePath(*path.parts[-count:])))
    return labels


def _ends(paths: Sequence[PurePath], end: tuple[str, ...]) -> int:
    return sum(path.parts[-len(end) :] == end for path in paths)
