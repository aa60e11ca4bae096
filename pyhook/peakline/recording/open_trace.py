"""An open trace: its JSON documents and reports by name. `Recording` has a method for each."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peakline.base.files import here
from peakline.recording.reports import FORMS, Report

if TYPE_CHECKING:
    import os

    from typing_extensions import Self, Unpack

    from peakline._report import Options, Trace


class OpenTrace:
    """A trace until it is closed."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open the trace; see `peakline.open`."""
        from peakline import _report

        self.path = Path(path)
        self._trace: Trace | None = _report.Trace(str(path))

    def __repr__(self) -> str:
        """Return the name of the file."""
        return f"<recording {self.path}{'' if self._trace else ', closed'}>"

    def __enter__(self) -> Self:
        """Return the recording itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the recording."""
        self.close()

    def close(self) -> None:
        """Release the trace. Reports that were made stay; new ones raise ValueError."""
        self._trace = None

    @property
    def trace(self) -> Trace:
        """The trace of the engine."""
        if self._trace is None:
            raise ValueError(f"the recording {self.path} is closed")
        return self._trace

    def info(self) -> dict[str, Any]:
        """Return the trace's facts about its run, without reading events."""
        return self.trace.info()

    def document(self, name: str, **options: Unpack[Options]) -> dict[str, Any]:
        """Return any report as its JSON document: "summary", "oom", "map", ... See JSON.md."""
        options.setdefault("cwd", here())
        document: dict[str, Any] = json.loads(self.trace.report(name, json=True, **options))
        return document

    def report(self, name: str, **options: Any) -> Report[Any]:
        """Return a report by its name, with options of the engine."""
        form = FORMS[name]
        document = self._all_rows(name, options)
        return Report(form.kind, form.objects(document), document, self._drawing(name, options))

    def _all_rows(self, name: str, options: dict[str, Any]) -> dict[str, Any]:
        return self.document(name, **{**options, "top": options.get("top") or 0})

    def _drawing(self, name: str, options: dict[str, Any]) -> functools.partial[dict[str, Any]]:
        """Return a call that makes the report for people, with as many rows as the command."""
        top = options.get("top")
        shown = {"cwd": here(), **options, "top": FORMS[name].shown if top is None else top}
        return functools.partial(self._draw, name, shown)

    def _draw(self, name: str, options: dict[str, Any]) -> dict[str, Any]:
        return self.trace.document(name, **options)
