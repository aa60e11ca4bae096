"""Summaries of runs: baselines small enough to commit.

`peakline pack --summary` writes one as JSON: the peak, the lines that hold it, and the peak of each
phase. The same run gives the same bytes: a summary has no host, time or process, and its paths are
relative to the program's working directory or to its site-packages.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peakline.base.output import json_text
from peakline.differences.side import Line, Row, Side, held_of_trace, phases_of_trace, start_folder

if TYPE_CHECKING:
    from peakline.recording import Recording

VERSION = 1
SUFFIX = ".summary.json"
_KEY = "peakline_summary"


class SummaryError(ValueError):
    """A file is no summary, or lacks the requested data; the text suggests a fix."""


def summary_of(recording: Recording) -> dict[str, Any]:
    """Return the summary of a trace.

    Raises:
        peakline._report.TraceError: the trace allows no answer.
    """
    lines = held_of_trace(recording, cwd=start_folder(recording))
    phases = phases_of_trace(recording)
    rows: list[dict[str, Any]] = [
        {
            "file": _portable(row.at),
            "line": row.at.line,
            "function": row.at.function,
            "bytes": row.bytes,
            "count": row.count,
            "via": list(row.via),
        }
        if row.at.is_line_of_file
        else {"name": row.at.key, "bytes": row.bytes, "count": row.count}
        for row in lines.rows
    ]
    rows.sort(key=lambda row: (-row["bytes"], json.dumps(row, sort_keys=True)))
    warning = {"too_low": lines.too_low} if lines.too_low else {}
    return {
        _KEY: VERSION,
        "device": lines.device,
        "peak_bytes": lines.total_bytes,
        **warning,
        "lines": rows,
        "phases": {row.at.key: row.bytes for row in phases.rows},
    }


def text_of(summary: dict[str, Any]) -> str:
    """Return the text of a summary, a line per row, so that a diff is readable."""
    rows = ",\n  ".join(json_text(row, ensure_ascii=False) for row in summary["lines"])
    rest = {key: value for key, value in summary.items() if key != "lines"}
    head = json_text(rest, ensure_ascii=False, indent=1)[:-2]
    return f'{head},\n "lines": [\n  {rows}\n ]\n}}\n'


def is_summary(path: str | Path) -> bool:
    """Return whether a file is JSON, by its first byte; no trace begins so."""
    try:
        with Path(path).open("rb") as file:
            return file.read(1) == b"{"
    except OSError:
        return False  # the reader of traces reports the problem


def read_summary(path: str | Path) -> dict[str, Any]:
    """Read a summary.

    Raises:
        SummaryError: the file is no summary, or of a later version.
    """
    try:
        summary = json.loads(Path(path).read_text())
    except (OSError, ValueError) as error:
        raise SummaryError(f"{path}: cannot be read as a summary: {error}") from error
    if not isinstance(summary, dict) or _KEY not in summary:
        raise SummaryError(
            f"{path}: neither a trace nor a summary: peakline pack --summary writes one"
        )
    if summary[_KEY] != VERSION:
        raise SummaryError(f"{path}: a summary of version {summary[_KEY]}; this reads {VERSION}")
    return summary


def side_of_summary(summary: dict[str, Any], name: str) -> Side:
    """Return the lines of a summary."""
    rows = tuple(
        Row(_line(row), row["bytes"], row["count"], tuple(row.get("via", ())))
        for row in summary["lines"]
    )
    return _side(summary, name, rows)


def phases_of_summary(summary: dict[str, Any], name: str) -> Side:
    """Return the peaks of the phases of a summary."""
    rows = tuple(Row(Line(key), size, 1) for key, size in summary["phases"].items())
    return _side(summary, name, rows)


def _side(summary: dict[str, Any], name: str, rows: tuple[Row, ...]) -> Side:
    too_low = summary.get("too_low", "")
    return Side(name, summary["device"], summary["peak_bytes"], rows, too_low=too_low)


def _portable(at: Line) -> str:
    """Return the path of a line without its machine-specific part.

    Tables already shorten paths below the working directory; of other paths the end is kept.
    """
    shown = at.key.rpartition(f":{at.line} (")[0] if at.line else at.file
    return "/".join(Path(shown).parts[-2:]) if Path(shown).is_absolute() else shown


def _line(row: dict[str, Any]) -> Line:
    if "name" in row:
        return Line(row["name"])
    key = f"{row['file']}:{row['line']} ({row['function'].rpartition('.')[2]})"
    return Line(key, row["file"], row["line"], row["function"])
