"""The answers of `peakline mcp`: texts of reports, each within a budget of bytes.

The reports are the methods of `peakline.Recording`, with their options: no list of its own.
"""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from peakline.base.output import json_text
from peakline.differences.reports import diff
from peakline.recording import Recording
from peakline.recording.reports import FORMS
from peakline.runs.find import Run, runs_of, traces_in

MOST_BYTES = 8000
_LEAST_BYTES = 500
_MOST_ROWS = 1000
_MOST_RUNS = 50
_NOTE = "\n(cut after {rows} rows: raise max_bytes, or ask for a part with where, at or device)"


class AnswerError(Exception):
    """A question that has no answer; the text suggests a fix."""


def runs(folder: str = ".") -> str:
    """Return the newest runs below a folder as JSON: program, device, peak, end, trace files."""
    path = Path(folder)
    if not path.is_dir():
        raise AnswerError(f"{folder} is no folder")
    found = runs_of(traces_in(path))[:_MOST_RUNS]
    return json_text({"runs": [_run(one) for one in found]}, indent=1)


def _run(one: Run) -> dict[str, Any]:
    files = [str(member.path) for member in one.compared]
    with opened(files[0]) as recording:
        table = recording.document("table", top=1)
    return {
        "program": one.name,
        "files": files,
        "simulated": table["simulated"],
        "peak_bytes": table["peak_bytes"],
        "out_of_memory": bool(table["out_of_memory"]),
        "problems": table["problems"],
    }


def reports() -> str:
    """Return every report with its purpose, its options and their defaults, as JSON."""
    return json_text({name: _description(name) for name in FORMS}, indent=1)


def _description(name: str) -> dict[str, Any]:
    method = getattr(Recording, name)
    options = [*inspect.signature(method).parameters.values()][1:]
    return {
        "shows": (inspect.getdoc(method) or "").partition("\n")[0],
        "options": {one.name: one.default for one in options if one.default is not one.empty},
        "required": [one.name for one in options if one.default is one.empty],
    }


def report(
    file: str,
    name: str = "table",
    options: dict[str, Any] | None = None,
    *,
    max_bytes: int = MOST_BYTES,
    as_json: bool = False,
) -> str:
    """Return a report of a trace as the text of its command, or as its JSON document.

    Args:
        file: the trace.
        name: of the report, see `reports`.
        options: of the report, as keyword arguments of the method of `peakline.Recording`.
        max_bytes: the answer has at most these bytes: with fewer rows, and a note that says so.
        as_json: return the JSON document.

    Raises:
        AnswerError: there is no such report, option or answer.
    """
    if name not in FORMS:
        raise AnswerError(f"no report is called '{name}'; there are: {', '.join(FORMS)}")

    limits_rows = "top" in inspect.signature(getattr(Recording, name)).parameters

    def text_with(top: int) -> tuple[str, int]:
        rows = {"top": top} if limits_rows else {}
        made = getattr(recording, name)(**{**(options or {}), **rows})
        return json_text(made.document) if as_json else str(made), len(made)

    with opened(file) as recording:
        return _within(text_with, max_bytes, as_json)


def difference(
    before: str,
    after: str,
    options: dict[str, Any] | None = None,
    *,
    max_bytes: int = MOST_BYTES,
    as_json: bool = False,
) -> str:
    """Return what each line, or other key, holds more in one trace than in another.

    The options are those of `peakline.diff`; the budget is that of `report`.

    Raises:
        AnswerError: an option or an answer does not exist.
    """
    with opened(before) as one, opened(after) as other:
        made = diff(one, other, **(options or {}))

    def text_with(top: int) -> tuple[str, int]:
        rows = made.document["rows"][:top]
        if as_json:
            return json_text({**made.document, "rows": rows}), len(rows)
        return "\n".join(str(made).splitlines()[: top + 1]), len(rows)

    return _within(text_with, max_bytes, as_json)


@contextmanager
def opened(file: str) -> Iterator[Recording]:
    """Open a trace; errors of the engine and wrong options become one kind of error."""
    from peakline._report import TraceError

    try:
        with Recording(file) as recording:
            yield recording
    except (TraceError, TypeError, ValueError, OSError) as error:
        raise AnswerError(str(error)) from None


def _within(text_with: Callable[[int], tuple[str, int]], budget: int, as_json: bool) -> str:
    """Return a text whose rows the budget has room for.

    `text_with` takes the most rows, and returns the text and its rows. It reads the trace each
    time, so the number of rows is estimated from the bytes of a row, and not searched.
    """
    room = max(budget, _LEAST_BYTES)
    text, rows = text_with(_MOST_ROWS)
    size = len(text.encode())
    if size <= room:
        return text
    note = "" if as_json else _NOTE
    of_row = size / max(rows, 1)
    while size + len(note) > room:
        if rows <= 1 or of_row <= 0:
            raise AnswerError(f"the shortest answer has more than {room} bytes: raise max_bytes")
        excess = size + len(note) - room
        fewer = max(1, min(rows - math.ceil(excess / of_row), rows - 1))
        text = text_with(fewer)[0]
        of_row = (size - len(text.encode())) / (rows - fewer)
        rows, size = fewer, len(text.encode())
    return text + note.format(rows=rows)


def parsed(options: str) -> dict[str, Any]:
    """Return options that came as JSON text.

    Raises:
        AnswerError: the text is no JSON object.
    """
    try:
        found = json.loads(options or "{}")
    except ValueError as error:
        raise AnswerError(f"options are no JSON: {error}") from None
    if not isinstance(found, dict):
        raise AnswerError('options are no JSON object, such as {"by": "category"}')
    return found
