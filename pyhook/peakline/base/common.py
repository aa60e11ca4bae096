"""What the commands share: errors, the report engine, progress, output."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, TextIO

from peakline.base.output import LinesError, console_of, printable, say, write_lines, write_report

if TYPE_CHECKING:
    from peakline._report import Options, Trace

_ASCII_BLOCKS = str.maketrans("▁▂▃▄▅▆▇█", "..::==##")
_NEXT = "Next: "
TRACE_BEGINS = b"\x89PKL\r\n\x1a\n"  # see trace_format.h
_PROGRESS_FROM_BYTES = 64 << 20  # smaller traces are read before a bar could be seen


class CommandError(LinesError):
    """Bad use or bad input: shown as ``peakline: error: ...``, exit code 2."""


def add_python_argument(parser: argparse.ArgumentParser) -> None:
    """Add --python, the interpreter whose torch is used."""
    parser.add_argument(
        "--python",
        metavar="PATH",
        default="",
        help="Use this Python, which has torch (default: the one of peakline)",
    )


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


def report_engine() -> ModuleType:
    """The extension module, or an error that says how to build it."""
    try:
        from peakline import _report
    except ImportError as error:
        raise CommandError(f"the report engine is not built ({error}); run: make build") from error
    return _report


def recorder() -> ModuleType:
    """The extension module, or an error that says how to build it."""
    try:
        from peakline import _recorder
    except ImportError as error:
        raise CommandError(f"the recorder is not built ({error}); run: make build") from error
    return _recorder


def _make_report(path: str, name: str, as_json: bool, options: Options) -> str:
    engine = report_engine()
    try:
        with progress_bar(path) as progress:
            trace: Trace = engine.Trace(path, progress)
            return trace.report(name, json=as_json, **options)
    except engine.TraceError as error:
        raise CommandError(str(error)) from error


def print_reports(args: argparse.Namespace, name: str, options: Options) -> None:
    """Print the report of this name for every file.

    Text stands one after the other, JSON is one document.
    """
    files: list[str] = args.files
    if args.json:
        documents = [_make_report(path, name, True, options) for path in files]
        write_report(documents[0] if len(documents) == 1 else "[" + ",\n".join(documents) + "]")
        write_lines("")
        return
    for index, path in enumerate(files):
        report = _make_report(path, name, False, options)
        if len(files) > 1:
            write_lines(*([""] if index else []), f"{path}:")
        write_report(_for_stream(report, sys.stdout))


def _for_stream(text: str, stream: TextIO) -> str:
    """Draw charts with ASCII where the stream has no blocks."""
    try:
        text.encode(stream.encoding or "utf-8")
    except UnicodeEncodeError:
        return text.translate(_ASCII_BLOCKS)
    return text


def suggest(args: argparse.Namespace, command: str) -> None:
    """End a text report with the command to type next, away from piped output."""
    if not args.json:
        suggest_for(args.files[0], command)


def suggest_for(path: str, command: str) -> None:
    """Name the command to type next for one trace."""
    sys.stdout.flush()
    say(*next_commands([(f"{command} {shell_words([path])}", "")]))


def next_commands(commands: Sequence[tuple[str, str]]) -> list[str]:
    """Return the commands to type next, each with what it shows.

    In two columns where the terminal has room for both, else what it shows stands below.
    """
    column = max(len(command) for command, _ in commands)
    lines = [f"peakline {command:{column}}  {shows}".rstrip() for command, shows in commands]
    terminal = terminal_width(sys.stderr)
    if terminal and max(map(len, lines)) + len(_NEXT) > terminal:
        pairs = [(f"peakline {command}", f"    {shows}".rstrip()) for command, shows in commands]
        lines = [line for pair in pairs for line in pair if line]
    return [(" " * len(_NEXT) if number else _NEXT) + line for number, line in enumerate(lines)]


def here() -> str:
    """Return the working directory, "" where the program has removed it."""
    try:
        return str(Path.cwd())
    except FileNotFoundError:
        return ""


def shell_words(words: Iterable[str]) -> str:
    """Return words as a shell takes them, quoted where it needs quotes."""
    return shlex.join(words)


def shortened(text: str, width: int) -> str:
    """Return text without its middle, so that it takes `width` columns; 0: no limit."""
    if width == 0 or len(text) <= width:
        return text
    kept = max(width - 3, 20)
    return text[: kept // 3] + "..." + text[len(text) - (kept - kept // 3) :]


def terminal_width(stream: TextIO) -> int:
    """Return the columns of the terminal that `stream` writes to; 0 when it is none."""
    return shutil.get_terminal_size().columns if stream.isatty() else 0
