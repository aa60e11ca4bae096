"""``peakline.ranks()``: the processes of a run beside each other."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from peakline.recording import Report
from peakline.recording.reports import ROWS_OF_RANKS, report_of_lines
from peakline.recording.rows import ProcessRow
from peakline.runs.find import runs_of, traces_in
from peakline.runs.outlines import read_outlines
from peakline.runs.report import compare_run, document_of
from peakline.runs.text import comparison_text


def ranks(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    by: str = "line",
    mesh: str = "",
) -> Report[ProcessRow]:
    """Return the processes of a run with their peaks; its document has the uneven rows.

    >>> report = peakline.ranks([path])
    >>> report[0].peak_bytes == recording.peak_bytes()
    True

    Args:
        paths: the folder of a run (its newest one), or the traces of its ranks.
        by: the rows to compare: "line", "module", "op" or "category".
        mesh: the dimensions of the job, the last one varying fastest: "pp=2,dp=4,tp=2"; "": from
            the names of its process groups.

    Raises:
        ValueError: the traces are of several runs, or none can be read; or the mesh does not fit.
    """
    files = [*map(Path, [paths] if isinstance(paths, str | os.PathLike) else paths)]
    is_folder = len(files) == 1 and files[0].is_dir()
    runs = runs_of(traces_in(files[0]) if is_folder else files)
    if not runs or (len(runs) > 1 and not is_folder):
        raise ValueError(f"give the traces of one run: these are of {len(runs)}")
    outlines = read_outlines([one.path for one in runs[0].compared])
    comparison = compare_run(runs[0], outlines, by, mesh)
    document = document_of(comparison)
    lines = comparison_text(comparison, ROWS_OF_RANKS, lambda text, _: text)
    return report_of_lines(ProcessRow, document["processes"], document, lines)
