"""The magics of Jupyter: ``%%peakline`` shows the answer and the page of a cell below it.

The answer is a still picture and a table, which a saved or shared notebook keeps.
``%peakline_live`` shows the memory now (`live_view.py`).

``%load_ext peakline`` registers it. Only this module imports IPython.
"""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import TYPE_CHECKING, cast

from IPython.core.magic import Magics, cell_magic, line_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring
from IPython.display import IFrame, display

import peakline
from peakline.base.engine import report_engine
from peakline.base.faults import failing_alone
from peakline.base.files import here
from peakline.base.output import say, write_lines
from peakline.pages.data import read_page
from peakline.pages.live_view import LiveView
from peakline.pages.making import make_file
from peakline.pages.options import TABS, PageOptions
from peakline.pages.still import still_of

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

FOLDER = Path("peakline-results")


@magics_class
class PeaklineMagics(Magics):
    """The magics that ``%load_ext peakline`` adds."""

    _live: LiveView | None = None

    @magic_arguments()  # type: ignore[untyped-decorator]
    @argument("--tab", choices=TABS, default="summary", help="Open the page at this tab")  # type: ignore[untyped-decorator]
    @argument("--height", type=int, default=640, metavar="PX", help="Height of the page")  # type: ignore[untyped-decorator]
    @cell_magic
    def peakline(self, line: str, cell: str) -> None:
        """Run the cell, and show which of its lines hold the GPU memory.

        The trace and the page stay in the folder ``peakline-results``.
        """
        options = parse_argstring(self.peakline, line)
        trace = FOLDER / f"{uuid.uuid4().hex[:12]}.peak"
        shell = cast("InteractiveShell", self.shell)
        if _run_recorded(shell, cell, trace):
            _show_page(trace, options.tab, options.height)

    @magic_arguments()  # type: ignore[untyped-decorator]
    @argument("--lines", type=int, default=8, metavar="N", help="Show so many lines and variables")  # type: ignore[untyped-decorator]
    @argument("--every", type=float, default=1.0, metavar="SECONDS", help="Time between two views")  # type: ignore[untyped-decorator]
    @argument("--off", action="store_true", help="Leave the view as it is")  # type: ignore[untyped-decorator]
    @line_magic
    def peakline_live(self, line: str) -> None:
        """Show the memory of the GPU, by line and by variable, refreshed while cells run.

        The kernel is recorded from here on, in memory. Only the newest view is refreshed.
        """
        options = parse_argstring(self.peakline_live, line)
        with failing_alone("there is no live view"):
            if self._live is not None:
                self._live.stop()
                self._live = None
            if not options.off:
                view = LiveView(cast("InteractiveShell", self.shell), options.lines, options.every)
                view.show()
                self._live = view


def _run_recorded(shell: InteractiveShell, cell: str, trace: Path) -> bool:
    """Run the cell in any case; returns False if there is no trace of it."""
    has_run = False
    try:
        with peakline.trace(trace) as file:
            has_run = True
            shell.run_cell(cell)
        if file.path != trace.absolute():
            say(f"peakline: this kernel records to {file.path} already")
            return False
    except peakline.RecorderError as error:
        say(f"peakline: the cell is not recorded: {error}")
        if not has_run:
            shell.run_cell(cell)
        return False
    return trace.exists()


def _show_page(trace: Path, tab: str, height: int) -> None:
    page = trace.with_suffix(".html")
    with failing_alone("the cell has no page"):
        make_file(PageOptions([str(trace)], str(page)))
        address = f"{page.as_posix()}#tab={tab}"
        frame = IFrame(address, width="100%", height=height)._repr_html_()
        file = report_engine().Trace(str(trace))
        still = still_of(read_page(file, cwd=here()))
        html = f"{still}\n<details><summary>The whole page</summary>{frame}</details>"
        text = file.report("table", cwd=here(), top=20)
        display({"text/html": html, "text/plain": text}, raw=True)
    write_lines(f"Trace: {trace}; type: !peakline table {trace}")
