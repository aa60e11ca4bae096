"""The cell magic ``%%peakline`` of Jupyter: a cell's page, below the cell.

``%load_ext peakline`` registers it. Only here is IPython imported.
"""

from __future__ import annotations

import argparse
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from IPython.core.magic import Magics, cell_magic, magics_class
from IPython.display import IFrame, display

import peakline
from peakline.base.common import CommandError
from peakline.base.output import say, write_lines
from peakline.commands import html

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

FOLDER = Path("peakline-results")
_TABS = ("summary", "lines", "flame", "timeline")


class _UsageError(Exception):
    """The line behind %%peakline is wrong."""


class _LineParser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        raise _UsageError(message, self.format_usage().strip())


def _parser() -> argparse.ArgumentParser:
    parser = _LineParser(prog="%%peakline", add_help=False)
    parser.add_argument("--tab", choices=_TABS, default="summary", help="Open the page at this tab")
    parser.add_argument("--height", type=int, default=640, metavar="PX", help="Height of the page")
    return parser


@magics_class
class PeaklineMagics(Magics):
    """What ``%load_ext peakline`` adds."""

    @cell_magic
    def peakline(self, line: str, cell: str) -> None:
        """Run the cell, and show which of its lines hold the GPU memory.

        ``%%peakline [--tab summary|lines|flame|timeline] [--height PX]``. Trace and page stay in
        the folder ``peakline-results``.
        """
        try:
            options = _parser().parse_args(line.split())
        except _UsageError as error:
            say(f"peakline: {error.args[0]}", *error.args[1].splitlines())
            return
        trace = FOLDER / f"{uuid.uuid4().hex[:12]}.peak"
        shell = cast("InteractiveShell", self.shell)
        if _run_recorded(shell, cell, trace):
            _show_page(trace, options)


def _run_recorded(shell: InteractiveShell, cell: str, trace: Path) -> bool:
    """Run the cell in any case; False when there is no trace of it."""
    has_run = False
    try:
        with peakline.trace(trace) as file:
            has_run = True
            shell.run_cell(cell)  # type: ignore[no-untyped-call]
        if file.path != trace.absolute():
            say(f"peakline: this kernel records to {file.path} already")
            return False
    except peakline.RecorderError as error:
        say(f"peakline: the cell is not recorded: {error}")
        if not has_run:
            shell.run_cell(cell)  # type: ignore[no-untyped-call]
        return False
    return trace.exists()


def _show_page(trace: Path, options: argparse.Namespace) -> None:
    page = trace.with_suffix(".html")
    try:
        html.make_file(html.page_arguments([str(trace)], page, force=False))
    except CommandError as error:
        say(f"peakline: the cell has no page: {error}")
        return
    address = f"{page.as_posix()}#tab={options.tab}"
    frame = IFrame(address, width="100%", height=options.height)
    display(frame)  # type: ignore[no-untyped-call]
    write_lines(f"Trace: {trace}; type: !peakline table {trace}")
