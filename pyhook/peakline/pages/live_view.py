"""The view of ``%peakline_live``: the memory of the kernel, refreshed while cells run.

The output is HTML and text without a script: a saved notebook keeps the last one. While a cell
runs, a thread refreshes it, and only if memory was allocated since.
"""

from __future__ import annotations

import html
import json
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from peakline.api import holding, torch_support, tracing
from peakline.api.devices import missing_device
from peakline.base.engine import CommandError, report_engine
from peakline.base.faults import failing_alone
from peakline.base.sizes import size_of

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

_SEARCH_SECONDS = 0.5
Table = tuple[str, Sequence[tuple[int, str]]]  # head of the second column; bytes and text


@dataclass(frozen=True)
class _Moment:
    """The memory of all GPUs of the kernel, the lines that hold it, and the variables."""

    held_bytes: int
    peak_bytes: int  # of the GPU with the highest
    gpu_count: int
    reserved_bytes: int
    lines: Sequence[tuple[int, str]]
    variables: Sequence[tuple[int, str]]

    def text(self) -> str:
        parts = [self._head()]
        for head, rows in self._tables():
            parts.append(f"{'Held':>9}  {head}")
            parts += [f"{size_of(size):>9}  {name}" for size, name in rows]
        return "\n".join(parts)

    def html(self) -> str:
        parts = [f"<p>{html.escape(self._head())}</p>"]
        for head, rows in self._tables():
            cells = "".join(
                f"<tr><td>{size_of(size)}</td><td>{html.escape(name)}</td></tr>"
                for size, name in rows
            )
            parts.append(f"<table><tr><th>Held</th><th>{head}</th></tr>{cells}</table>")
        return f"<div>{''.join(parts)}</div>"

    def _head(self) -> str:
        where = f" on one of {self.gpu_count}" if self.gpu_count > 1 else ""
        return (
            f"GPU memory: {size_of(self.held_bytes)} held now,"
            f" peak {size_of(self.peak_bytes)}{where},"
            f" {size_of(self.reserved_bytes)} reserved"
        )

    def _tables(self) -> list[Table]:
        both: list[Table] = [("Line", self.lines), ("Kept by", self.variables)]
        return [one for one in both if one[1]]


class LiveView:
    """One output of a notebook, and its refreshing."""

    def __init__(self, shell: InteractiveShell, lines: int, seconds: float) -> None:
        """Begin to record in memory; no file is written.

        Raises:
            CommandError: the kernel cannot be recorded.
        """
        missing = "" if os.environ.get("PEAKLINE_SIMULATED") else missing_device()
        if missing:
            raise CommandError(missing)
        try:
            tracing.start_tracing()
            self._recorder = tracing.recorder_that_is_on("start_tracing")
        except tracing.RecorderError as error:
            raise CommandError(str(error)) from None
        self._shell = shell
        self._line_count = lines
        self._seconds = seconds
        self._variables: Sequence[tuple[int, str]] = ()
        self._seen = -1
        self._cell_ends = threading.Event()
        self._refreshing: threading.Thread | None = None
        self._output: Any = None
        self._has_failed = False

    def show(self) -> None:
        """Show the view below the current cell, and follow later cells."""
        from IPython.display import display

        self._variables = self._find_variables()
        self._output = display(self._content(), raw=True, display_id=True)
        self._shell.events.register("pre_run_cell", self._begin_cell)
        self._shell.events.register("post_run_cell", self._end_cell)

    def stop(self) -> None:
        """Leave the output as it is."""
        self._shell.events.unregister("pre_run_cell", self._begin_cell)
        self._shell.events.unregister("post_run_cell", self._end_cell)
        self._end_refreshing()

    def _begin_cell(self, *_: object) -> None:
        self._cell_ends.clear()
        self._refreshing = threading.Thread(target=self._refresh_until_end, daemon=True)
        self._refreshing.start()

    def _end_cell(self, *_: object) -> None:
        self._end_refreshing()
        self._refresh(with_variables=True)

    def _end_refreshing(self) -> None:
        self._cell_ends.set()
        if self._refreshing is not None:
            self._refreshing.join()
            self._refreshing = None

    def _refresh_until_end(self) -> None:
        while not self._cell_ends.wait(self._seconds):
            self._refresh(with_variables=False)

    def _refresh(self, *, with_variables: bool) -> None:
        """Update the output; after an error never again."""
        if self._has_failed:
            return
        self._has_failed = True
        with failing_alone("the live view is no longer refreshed"):
            if with_variables:
                self._variables = self._find_variables()
            if with_variables or self._event_count() != self._seen:
                self._output.update(self._content(), raw=True)
            self._has_failed = False

    def _event_count(self) -> int:
        status = self._recorder.status()
        return int(status["allocs"] + status["frees"])

    def _content(self) -> dict[str, str]:
        self._seen = self._event_count()
        now = self._now()
        return {"text/plain": now.text(), "text/html": now.html()}

    def _now(self) -> _Moment:
        devices = range(torch_support.device_count())
        level = self._recorder.device_bytes
        return _Moment(
            held_bytes=sum(level(one, 0, False) for one in devices),
            peak_bytes=max((level(one, 0, True) for one in devices), default=0),
            gpu_count=len(devices),
            reserved_bytes=torch_support.reserved_bytes(),
            lines=self._lines(),
            variables=self._variables,
        )

    def _lines(self) -> list[tuple[int, str]]:
        if self._seen <= 0:
            return []
        trace = report_engine().Trace(self._recorder.summary_trace())
        table = json.loads(trace.report("table", json=True, at="end", top=self._line_count))
        return [(row["bytes"], self._in_cells(row)) for row in table["rows"]]

    def _in_cells(self, row: dict[str, Any]) -> str:
        """Return a line as IPython names it in tracebacks: `In [6], line 3`."""
        cells: dict[str, int] = getattr(self._shell.compile, "_filename_map", {})
        where = row["location"]
        if where is None or where["file"] not in cells:
            return str(row["key"])
        function = "" if where["function"] == "<module>" else f" ({where['function']})"
        return f"In [{cells[where['file']]}], line {where['line']}{function}"

    def _find_variables(self) -> list[tuple[int, str]]:
        found = holding.holders(blocks=self._line_count, seconds=_SEARCH_SECONDS)
        return [
            (block.block_bytes, ", ".join(holder.path for holder in block.holders))
            for block in found.blocks
            if block.holders
        ]
