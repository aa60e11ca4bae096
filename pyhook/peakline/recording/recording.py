"""``peakline.open(path)``: every report of a trace as rows."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from peakline.recording import rows
from peakline.recording.events import Events

if TYPE_CHECKING:
    import os

    import pandas as pd
    import pyarrow as pa
    from typing_extensions import Unpack

    from peakline._report import Options

Row = TypeVar("Row")


class Report(Sequence[Row], Generic[Row]):
    """The rows of one report, in its order; ``document`` is all of its JSON."""

    def __init__(self, kind: type[Row], document: dict[str, Any], key: str) -> None:
        """Make rows of the objects in `document[key]`."""
        self.document = document
        self._rows = [rows.row_of(kind, one) for one in document[key]]

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
        """Return the type and number of rows."""
        return f"<{len(self)} rows of {self.document.get('file', 'a trace')}>"

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a pandas.DataFrame; nested values stay nested."""
        import pandas as pd

        return pd.DataFrame(self._dictionaries())

    def to_arrow(self) -> pa.Table:
        """Return the rows as a pyarrow.Table."""
        import pyarrow as pa

        return pa.Table.from_pylist(self._dictionaries())

    def _dictionaries(self) -> list[dict[str, Any]]:
        return [dataclasses.asdict(row) for row in self._rows]  # type: ignore[call-overload]


class Recording:
    """A trace. Every report reads it again, so reports of a running program show its current state.

    The methods take the options of the command of the same name, written with underscores:
    ``recording.table(by="module", fold=True, at="backward")``. They raise
    ``peakline._report.TraceError`` if the trace allows no answer.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open the trace; see `peakline.open`."""
        from peakline import _report

        self.path = Path(path)
        self.trace = _report.Trace(str(path))

    def __repr__(self) -> str:
        """Return the name of the file."""
        return f"<recording {self.path}>"

    def info(self) -> dict[str, Any]:
        """Return the trace's facts about its run, without reading events."""
        return self.trace.info()

    def document(self, name: str, **options: Unpack[Options]) -> dict[str, Any]:
        """Return any report as its JSON document: "summary", "oom", "map", ... See JSON.md."""
        options.setdefault("cwd", str(Path.cwd()))
        document: dict[str, Any] = json.loads(self.trace.report(name, json=True, **options))
        return document

    def peak_bytes(self, device: int | str | None = None, measure: str = "allocated") -> int:
        """Return the exact peak of a device in bytes; default: the device with the highest peak."""
        peak: int = self.document("table", top=1, device=device, measure=measure)["peak_bytes"]
        return peak

    def table(self, **options: Unpack[Options]) -> Report[rows.TableRow]:
        """Return the memory that each line, or other key, holds at the peak or another moment."""
        return Report(rows.TableRow, self.document("table", **options), "rows")

    def stats(self, **options: Unpack[Options]) -> Report[rows.AllocatorRow]:
        """Return the memory that each line, or other key, allocated over the whole run."""
        return Report(rows.AllocatorRow, self.document("stats", **options), "by_bytes")

    def layers(self, **options: Unpack[Options]) -> Report[rows.LayerRow]:
        """Return the memory that every module holds, and the peaks while it runs."""
        return Report(rows.LayerRow, self.document("layers", **options), "layers")

    def ops(self, **options: Unpack[Options]) -> Report[rows.OperatorRow]:
        """Return every operator call that allocates, in order."""
        return Report(rows.OperatorRow, self.document("ops", **options), "ops")

    def stages(self, **options: Unpack[Options]) -> Report[rows.StageRow]:
        """Return the levels before and after every module, backward pass and optimizer step."""
        return Report(rows.StageRow, self.document("stages", **options), "stages")

    def tensors(self, **options: Unpack[Options]) -> Report[rows.TensorRow]:
        """Return every block that is live at a moment, or with ``during`` in a part of the run."""
        return Report(rows.TensorRow, self.document("tensors", **options), "tensors")

    def phases(self, **options: Unpack[Options]) -> Report[rows.PhaseRow]:
        """Return every detected or named phase, in order of beginning."""
        document = self.document("phases", **options)
        both = sorted(
            document["phases"] + document["named"],
            key=lambda one: (one["begin_seconds"], -one["end_seconds"]),
        )
        return Report(rows.PhaseRow, {**document, "all": both}, "all")

    def steps(self, **options: Unpack[Options]) -> Report[rows.PhaseRow]:
        """Return every step of the run."""
        return Report(rows.PhaseRow, self.document("phases", **options), "steps")

    def timeline(
        self, points: int = 1000, **options: Unpack[Options]
    ) -> Report[rows.TimelinePoint]:
        """Return the level over time, by default the sum of all devices."""
        options["top"] = points
        options.setdefault("device", "all")
        return Report(rows.TimelinePoint, self.document("timeline", **options), "points")

    def advise(self, **options: Unpack[Options]) -> Report[rows.AdviceRow]:
        """Return changes that would lower the peak, the largest gain first."""
        return Report(rows.AdviceRow, self.document("advise", **options), "advice")

    def ledger(self, **options: Unpack[Options]) -> Report[rows.LedgerRow]:
        """Return the parts that fill the whole device at a moment."""
        return Report(rows.LedgerRow, self.document("ledger", **options), "parts")

    def events(self, **options: Unpack[Options]) -> Events:
        """Return every event in order, read lazily.

        Options: ``during`` (``"step@3"``, ``"2..3.5"``), ``device`` (default: all), ``frame``,
        ``hide``, ``full_paths``, ``depth``, ``fold``.
        """
        options.setdefault("cwd", str(Path.cwd()))
        return Events(self.trace, options)


def open_recording(path: str | os.PathLike[str]) -> Recording:
    """Open a trace (``.peak``, or packed ``.peak.zst``) for its reports.

    Raises:
        peakline._report.TraceError: it is no trace, or nothing of it can be read; the text
            suggests a fix.
    """
    return Recording(path)
