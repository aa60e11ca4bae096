"""Writes the page of one or several traces: for `peakline html` and other callers that show a page.

An existing page is replaced only when the new one is complete.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peakline.base.engine import CommandError
from peakline.base.files import replacing, trace_stem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from peakline.pages.options import PageOptions


def make_file(options: PageOptions) -> tuple[Path, str]:
    """Write the page.

    Returns:
        The page, and the trace that it shows in full.

    Raises:
        CommandError: the page cannot be written.
        peakline._report.TraceError: a trace cannot be read.
    """
    from peakline.pages import contents
    from peakline.pages.files import heaviest
    from peakline.pages.page import PageContent, make_page

    files = options.files
    _check(options)
    output = Path(options.output) if options.output else _beside(files, options.folder)
    with replacing(output, force=options.force) as unfinished:
        outlines = contents.read_outlines(options) if len(files) > 1 else []
        shown = heaviest(outlines) if outlines else 0
        devices = contents.read_files(options, outlines, shown)
        growth = contents.read_growth(files[shown])
        content = PageContent(
            tab=options.tab,
            is_part=options.is_part,
            grows=growth.sentences,
            plan=None if options.is_part else contents.read_plan(files[shown]),
            leaks=None if options.is_part else growth.leaks,
            files=_files_of(options, outlines, shown) if outlines else None,
        )
        text = make_page(devices, content)
        unfinished.write_bytes(text.encode("utf-8", errors="replace"))
    return output, files[shown]


def _files_of(options: PageOptions, outlines: Sequence[str], shown: int) -> dict[str, Any]:
    from peakline.pages import contents
    from peakline.pages.files import files_data

    compared = contents.compared_lines(options)
    return files_data(outlines, shown, compared, contents.read_step_levels(options))


def _check(options: PageOptions) -> None:
    if options.to_seconds <= options.from_seconds:
        raise CommandError("--to must be later than --from")
    if len(options.files) == 1:
        return
    if options.is_part:
        raise CommandError("--from and --to show a part of one run: give one FILE")
    if not options.output and options.folder is None:
        raise CommandError("several files make one page: name it with -o")
    twice = [path for path, count in Counter(options.files).items() if count > 1]
    if twice:
        raise CommandError(f"{twice[0]} is given twice")


def _beside(files: Sequence[str], folder: Path | None) -> Path:
    """Return the default output file: for a run, in its folder."""
    if folder is None or len(files) == 1:
        return page_beside(Path(files[0]))
    return folder / "ranks.html"


def page_beside(source: Path) -> Path:
    """Return the default page of a trace: beside it, with its name."""
    return source.with_name(f"{trace_stem(source)}.html")
