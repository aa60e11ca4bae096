"""Reads and writes files: progress bars, atomic replacement, the working directory."""

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

TRACE_ENDINGS = (".peak", ".peak.zst")  # plain, packed
TRACE_BEGINS = b"\x89PKL\r\n\x1a\n"  # see trace_format.h
_PROGRESS_FROM_BYTES = 64 << 20  # smaller traces are read before a bar could appear


@contextmanager
def terminal_bar(
    what: str, total: float, *columns: str
) -> Iterator[Callable[[float], object] | None]:
    """Show a bar on a terminal; yields a function for the finished part of `total`, else None.

    `columns` are names of rich's columns, right of the bar.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich import progress

    right = [getattr(progress, name)() for name in columns]
    left = (progress.TextColumn("{task.description}", markup=False), progress.BarColumn())
    with progress.Progress(*left, *right, console=console_of(sys.stderr), transient=True) as bar:
        task = bar.add_task(printable(what), total=total)
        yield lambda done: bar.update(task, completed=done)


@contextmanager
def progress_bar(path: str, verb: str = "Reading") -> Iterator[Callable[[float], object] | None]:
    """Show a bar with rate and remaining time on a terminal while a big trace is processed."""
    file = Path(path)
    size = file.stat().st_size if file.is_file() else 0
    if size < _PROGRESS_FROM_BYTES:
        yield None
        return
    columns = ("DownloadColumn", "TransferSpeedColumn", "TimeRemainingColumn")
    with terminal_bar(f"{verb} {file.name}", size, *columns) as show:
        yield show and (lambda fraction: show(fraction * size))


@contextmanager
def reading(path: str) -> Iterator[Trace]:
    """Open a trace, with a progress bar for a big one.

    Raises:
        peakline._report.TraceError: it cannot be opened.
    """
    with progress_bar(path) as progress:
        yield report_engine().Trace(path, progress)


@contextmanager
def replacing(output: Path, *, force: bool) -> Iterator[Path]:
    """Yield a temporary path, which replaces `output` when it is complete.

    Raises:
        CommandError: `output` exists and may not be replaced, or cannot be written.
    """
    _refuse_what_is_there(output, force=force)
    unfinished = output.with_name(f"{output.name}.{os.getpid()}.part")
    try:
        yield unfinished
        unfinished.replace(output)
    except OSError as error:
        # A failed write (disk full) has no file name, nor has a closed pipe of ours.
        if isinstance(error, BrokenPipeError) or error.filename not in (None, str(unfinished)):
            raise
        raise CommandError(f"cannot write {output}: {error.strerror}") from error
    except Exception as error:
        # The engine names the temporary file.
        if str(unfinished) not in str(error):
            raise
        raise CommandError(str(error).replace(str(unfinished), str(output))) from error
    finally:
        # A file that could not be created cannot be removed.
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
    """Return the name of a trace file without its trace suffixes."""
    return Path(path).name.removesuffix(".zst").removesuffix(".peak")


def here() -> str:
    """Return the working directory, "" if it was removed."""
    try:
        return str(Path.cwd())
    except FileNotFoundError:
        return ""
