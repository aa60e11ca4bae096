"""What the commands that read traces share: options, progress, output."""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, TextIO, cast

if TYPE_CHECKING:
    from peakline._report import Options, Trace

_DEFAULT_TOP = 20
_ASCII_BLOCKS = str.maketrans("▁▂▃▄▅▆▇█", "..::==##")
_PROGRESS_FROM_BYTES = 64 << 20  # smaller traces are read before a bar could be seen


class CommandError(Exception):
    """Bad use or bad input: shown as ``peakline: error: ...``, exit code 2."""


def option_words(option: str) -> dict[str, str]:
    """Return what an option takes, each word with its meaning.

    The engine states it, so that --help of a command on traces needs the engine.
    """
    return cast("dict[str, str]", report_engine().CHOICES[option])


def _listed(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"


def row_count(text: str) -> int:
    """Return the number of rows of --top.

    Raises:
        argparse.ArgumentTypeError: it is no number.
    """
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of rows (0: all)")
    return int(text)


def add_trace_arguments(
    parser: argparse.ArgumentParser, *, default_top: int = _DEFAULT_TOP
) -> None:
    """Add FILE and the options that every report about a moment takes."""
    add_file_arguments(parser)
    add_grouping_arguments(parser)
    add_moment_argument(parser)
    add_device_argument(parser)
    add_measure_argument(parser)
    add_output_arguments(parser, default_top=default_top)


def add_device_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what decides which bytes count."""
    add_device_argument(parser)
    add_measure_argument(parser)


def add_file_arguments(parser: argparse.ArgumentParser) -> None:
    """Add FILE."""
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="Trace file (.peak, or packed .peak.zst)"
    )


def add_grouping_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what decides which rows there are."""
    keys = [f"{name} ({meaning})" for name, meaning in option_words("by").items()]
    parser.add_argument(
        "--by",
        default="line",
        metavar="KEY",
        help=f"Group rows by {_listed(keys)} (default: line)",
    )
    add_module_arguments(parser)
    add_frame_arguments(parser)
    parser.add_argument(
        "--native",
        action="store_true",
        help="With --by stack: begin with the native frames below the innermost Python line",
    )


def add_module_arguments(parser: argparse.ArgumentParser) -> None:
    """Add how paths of modules are shown."""
    parser.add_argument(
        "--depth",
        type=row_count,
        default=0,
        metavar="N",
        help="Keep N parts of module paths, so that 2 puts h.3.mlp and h.3.attn in one row, h.3",
    )
    parser.add_argument(
        "--fold",
        action="store_true",
        help="Put repeated layers in one row: h.0.mlp and h.1.mlp are h.*.mlp",
    )


def add_frame_arguments(parser: argparse.ArgumentParser) -> None:
    """Add which frame stands for a stack, and how it is shown."""
    frames = [f"{meaning} ({name})" for name, meaning in option_words("frame").items()]
    add_frame_argument(
        parser,
        f"Choose the line that stands for a stack: {_listed(frames)} (default: caller)",
    )
    parser.add_argument(
        "--hide",
        action="append",
        metavar="GLOB",
        help="Pass over frames of these files (may be given several times)",
    )
    parser.add_argument(
        "--symbols",
        action="append",
        metavar="FOLDER",
        help="Also look in this folder for the libraries whose functions have no names here:"
        " site-packages of the same torch, debug files (may be given several times)",
    )
    parser.add_argument(
        "--full-paths", action="store_true", help="Print absolute paths, not shortened"
    )


def add_frame_argument(parser: argparse.ArgumentParser, meaning: str) -> None:
    """Add --frame."""
    parser.add_argument(
        "--frame", default="caller", choices=list(option_words("frame")), help=meaning
    )


def add_moment_argument(parser: argparse.ArgumentParser) -> None:
    """Add --at."""
    parser.add_argument(
        "--at",
        default="peak",
        metavar="WHEN",
        help=f"Show this moment: {', '.join(option_words('at'))}, seconds since the trace began, or"
        " the peak of a phase (forward, backward, optimizer, step, or a name of yours; backward@3"
        " is the one of step 3; peakline phases lists them; default: peak)",
    )


def add_device_argument(parser: argparse.ArgumentParser) -> None:
    """Add --device."""
    parser.add_argument(
        "--device",
        metavar="N",
        help="Show this device: a number, or all for the sum (default: the highest peak)",
    )


def add_measure_argument(parser: argparse.ArgumentParser) -> None:
    """Add --measure."""
    words = option_words("measure")
    parser.add_argument(
        "--measure",
        default="allocated",
        choices=list(words),
        help=f"Count {_listed(list(words.values()))} (default: allocated)",
    )


def add_output_arguments(
    parser: argparse.ArgumentParser, *, what: str = "rows", default_top: int = _DEFAULT_TOP
) -> None:
    """Add how much is shown, and in which form."""
    parser.add_argument(
        "--top",
        type=row_count,
        metavar="N",
        help=f"Show N {what}, 0 for all (default: {default_top})",
    )
    parser.add_argument("--json", action="store_true", help="Print JSON, by default with all rows")


def report_options(args: argparse.Namespace, *, default_top: int = _DEFAULT_TOP) -> Options:
    """Turn parsed arguments into the engine's options."""
    top = args.top
    if top is None:
        top = 0 if args.json else default_top
    width = 0 if args.json else terminal_width(sys.stdout)
    by_module = getattr(args, "by", "module") in ("module", "tensor")
    if not by_module and (args.depth or args.fold):
        option = "--depth" if args.depth else "--fold"
        raise CommandError(f"{option} shortens module paths, and needs --by module")
    options: Options = {"top": top, "cwd": str(Path.cwd()), "width": width}
    for name in (
        "by",
        "frame",
        "at",
        "device",
        "measure",
        "hide",
        "symbols",
        "full_paths",
        "depth",
        "fold",
        "native",
    ):
        if hasattr(args, name):
            options[name] = getattr(args, name)
    return options


@contextmanager
def progress_bar(path: str, verb: str = "Reading") -> Iterator[Callable[[float], object] | None]:
    """Show a bar with rate and time left on a terminal while a big trace is worked on."""
    file = Path(path)
    is_big = file.is_file() and file.stat().st_size >= _PROGRESS_FROM_BYTES
    if not is_big or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    size = file.stat().st_size
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(f"{verb} {file.name}", total=size)
        yield lambda fraction: bar.update(task, completed=fraction * size)


def report_engine() -> ModuleType:
    """The extension module, or an error that says how to build it."""
    try:
        from peakline import _report
    except ImportError as error:
        raise CommandError(f"the report engine is not built ({error}); run: make build") from error
    return _report


def make_report(path: str, make: Callable[[Trace], str]) -> str:
    """Open a trace and make a report of it."""
    engine = report_engine()
    try:
        with progress_bar(path) as progress:
            return make(engine.Trace(path, progress))
    except engine.TraceError as error:
        raise CommandError(str(error)) from error


def print_reports(args: argparse.Namespace, make: Callable[[Trace], str]) -> None:
    """Print the report of every file: text one after the other, JSON as one document."""
    files: list[str] = args.files
    if args.json:
        documents = [make_report(path, make) for path in files]
        print(documents[0] if len(documents) == 1 else "[" + ",\n".join(documents) + "]")
        return
    for index, path in enumerate(files):
        report = make_report(path, make)
        if len(files) > 1:
            print(("\n" if index else "") + f"{path}:")
        print(_for_stream(report, sys.stdout), end="")


def _for_stream(text: str, stream: TextIO) -> str:
    """Draw charts with ASCII where the stream has no blocks."""
    try:
        text.encode(stream.encoding or "utf-8")
    except UnicodeEncodeError:
        return text.translate(_ASCII_BLOCKS)
    return text


def print_named_reports(args: argparse.Namespace, name: str, options: Options) -> None:
    """Print the engine's report of this name for every file."""
    print_reports(args, lambda trace: trace.report(name, json=args.json, **options))


def suggest(args: argparse.Namespace, command: str) -> None:
    """End a text report with the command to type next, away from piped output."""
    if not args.json:
        suggest_for(args.files[0], command)


def suggest_for(path: str, command: str) -> None:
    """Name the command to type next for one trace."""
    sys.stdout.flush()
    print(next_commands([(f"{command} {shell_words([path])}", "")]), file=sys.stderr)


def next_commands(commands: Sequence[tuple[str, str]]) -> str:
    """Return the commands to type next, each with what it shows, in two columns."""
    width = max(len(command) for command, _ in commands)
    lines = [f"peakline {command:{width}}  {shows}".rstrip() for command, shows in commands]
    return "Next: " + "\n      ".join(lines)


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
