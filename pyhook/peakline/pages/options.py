"""The options of a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from peakline.base.files import here

if TYPE_CHECKING:
    from peakline._report import Options

TABS = ("summary", "lines", "flame", "timeline")  # those that every page has


def _default_report() -> Options:
    return {"cwd": here()}


@dataclass(frozen=True)
class PageOptions:
    """The options of a page: its traces, its output file, and the amount of data.

    ``output``: "" is a file beside the trace, or in ``folder``, the folder of the run. ``report``
    are the engine's options for the rows.
    """

    files: Sequence[str]
    output: str = ""
    folder: Path | None = None
    force: bool = False
    has_source: bool = True
    tab: str = "summary"
    from_seconds: float = 0.0
    to_seconds: float = float("inf")
    budget_megabytes: float = 8.0
    each: bool = False  # every file in full, not only the one with the highest peak
    report: Options = field(default_factory=_default_report)

    @property
    def is_part(self) -> bool:
        """Whether the page leaves out a part of the run."""
        return self.from_seconds > 0 or self.to_seconds < float("inf")
