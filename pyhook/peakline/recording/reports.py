"""One report of a trace: its rows, its JSON, and the text, HTML and Markdown that people read."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from peakline.base.output import printable
from peakline.recording import rows
from peakline.text.document import plain_text
from peakline.text.faces import html_of, markdown_of

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Row = TypeVar("Row")


@dataclass(frozen=True)
class Form:
    """The class of the rows of a report, their path in its JSON, and the number in its text."""

    kind: type
    path: str
    shown: int = 20

    def objects(self, document: Any) -> list[dict[str, Any]]:
        """Return the rows of a document as JSON objects."""
        for key in self.path.split("/"):
            document = document[key]
        return list(document)


# By the engine's name of the report; the commands show as many rows.
FORMS = {
    "table": Form(rows.TableRow, "rows"),
    "summary": Form(rows.TableRow, "table/rows", 5),
    "phases": Form(rows.PhaseRow, "phases", 5),
    "layers": Form(rows.LayerRow, "layers"),
    "ops": Form(rows.OperatorRow, "ops"),
    "stages": Form(rows.StageRow, "stages", 1),
    "tensors": Form(rows.TensorRow, "tensors"),
    "holders": Form(rows.HeldBlockRow, "blocks"),
    "oom": Form(rows.RefusedRow, "ooms", 6),
    "ledger": Form(rows.LedgerRow, "parts", 3),
    "leaks": Form(rows.GrowthRow, "growth"),
    "advise": Form(rows.AdviceRow, "advice", 10),
    "plan": Form(rows.PlanRow, "frontier"),
    "whatif": Form(rows.PredictedRow, "runs"),
    "fragmentation": Form(rows.PinningRow, "lines", 10),
    "map": Form(rows.SegmentRow, "segments"),
    "timeline": Form(rows.TimelinePoint, "points", 68),  # columns of a chart
    "stats": Form(rows.AllocatorRow, "by_bytes", 5),
}
# The same of reports that are made in Python.
ROWS_OF_DIFFERENCES = 20
ROWS_OF_RANKS = 10


class Report(Sequence[Row], Generic[Row]):
    """A report: a sequence of frozen rows. In a terminal and a notebook it shows what people read.

    ``document`` is all of its JSON (report/render/JSON.md), which has more than the rows.
    """

    def __init__(
        self,
        kind: type[Row],
        objects: Sequence[dict[str, Any]],
        document: dict[str, Any],
        draw: Callable[[], dict[str, Any]],
    ) -> None:
        """Make rows of JSON objects; `draw` returns the report as the engine's text document."""
        self.document = document
        self._kind = kind
        self._rows = [rows.row_of(kind, one) for one in objects]
        self._draw = draw

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        """Return a row, or a list of them."""
        return self._rows[index]

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows."""
        return iter(self._rows)

    def __repr__(self) -> str:
        """Return the text that the command of the same name prints."""
        return plain_text(self._drawn).rstrip("\n")

    def _repr_html_(self) -> str:
        """Return the same as HTML, which notebooks show."""
        return html_of(self._drawn)

    def to_markdown(self) -> str:
        """Return the same as Markdown."""
        return markdown_of(self._drawn)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON document of the report."""
        return self.document

    def to_arrow(self) -> pa.Table:
        """Return the rows as a pyarrow.Table; a device of the host is 64 (pinned) or 65 (cpu)."""
        from peakline.recording.arrow import table_of_rows

        return table_of_rows(self._kind, [dataclasses.asdict(one) for one in self._rows])  # type: ignore[call-overload]

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a pandas.DataFrame; integers that may lack are Int64 or UInt64."""
        from peakline.recording.arrow import frame_of

        return frame_of(self.to_arrow())

    @cached_property
    def _drawn(self) -> dict[str, Any]:
        from peakline import _report

        try:
            return self._draw()
        except (_report.TraceError, ValueError) as error:  # it has no text; it is closed
            return {"elements": [{"text": str(error), "tone": "plain"}]}


def report_of_lines(
    kind: type[Row], objects: Any, document: dict[str, Any], lines: Sequence[str]
) -> Report[Row]:
    """Return a report that has finished lines as its text."""
    elements = [{"text": printable(line), "tone": "verbatim"} for line in lines]
    return Report(kind, objects, document, lambda: {"elements": elements})
