"""Files that are read and written: progress, replacing, the working directory."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from peakline.base.engine import CommandError, report_engine
from peakline.base.output import console_of, printable

if TYPE_CHECKING:
    from peakline._report import Trace

TRACE_BEGINS = b"\x89PKL\r\n\x1a\n"  # see trace_format.h
_PROGRESS_FROM_BYTES = 64 << 20  # smaller traces are read before a bar could be seen


@contextmanager
def progress_bar(path: str, verb: str = "Reading") -> Iterator[Callable[[float], object] | None]:
    """Show a bar with rate and time left on a terminal while a big trace is worked on."""
    file = Path(path)
    is_big = file.is_file() and file.stat().st_size >= _PROGRESS_FROM_BYTES
    if not is_big or not sys.stderr.isatty():
        yield None
        return
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    size = file.stat().st_size
    with Progress(*columns, console=console_of(sys.stderr), transient=True) as bar:
        task = bar.add_task(f"{verb} {printable(file.name)}", total=size)
        yield lambda fraction: bar.update(task, completed=fraction * size)


@contextmanager
def reading(path: str) -> Iterator[Trace]:
    """Open a trace, with a bar while a big one is read.

    Raises:
        peakline._report.TraceError: it cannot be opened.
    """
    with progress_bar(path) as progress:
        yield report_engine().Trace(path, progress)


@contextmanager
def replacing(output: Path, *, force: bool) -> Iterator[Path]:
    """Give a path to write to, which becomes `output` when it is whole.

    Raises:
        CommandError: `output` exists, and is not to be replaced; or it cannot be written.
    """
    _refuse_what_is_there(output, force=force)
    unfinished = output.with_name(f"{output.name}.{os.getpid()}.part")
    try:
        yield unfinished
        unfinished.replace(output)
    except OSError as error:
        # A write that fails (disk full) names no file, nor does a reader of ours that went away.
        if isinstance(error, BrokenPipeError) or error.filename not in (None, str(unfinished)):
            raise
        raise CommandError(f"cannot write {output}: {error.strerror}") from error
    finally:
        # Where it could not be made, it cannot be removed either.
        with suppress(OSError):
            unfinished.unlink()


def _refuse_what_is_there(output: Path, *, force: bool) -> None:
    try:
        exists = output.exists()
    except OSError as error:
        raise CommandError(f"cannot write {output}: {error.strerror}") from None
    if exists and not output.is_file():
        what = "a folder" if output.is_dir() else "no regular file"
        raise CommandError(f"{output} is {what}; name another file with -o")
    if exists and not force:
        raise CommandError(f"{output} exists; name another file with -o, or add --force")


def trace_stem(path: str | Path) -> str:
    """Return the name of a trace file without what says that it is one."""
    return Path(path).name.removesuffix(".zst").removesuffix(".peak")


def here() -> str:
    """Return the working directory, "" where the program has removed it."""
    try:
        return str(Path.cwd())
    except FileNotFoundError:
        return ""
