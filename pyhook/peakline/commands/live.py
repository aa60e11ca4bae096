"""``peakline live``: follow the trace of a running program."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from peakline.base.engine import CommandError, report_engine
from peakline.base.files import TRACE_ENDINGS
from peakline.base.next_commands import suggest_for
from peakline.base.output import console_of, say, write_json
from peakline.commands.shared.report_options import row_count
from peakline.commands.shared.running import is_process_id

if TYPE_CHECKING:
    from peakline.recording.live_state import LiveState

NAME = "live"
HELP = "Follow a running program: level, peak, phase, largest lines. --serve: for Prometheus."
EXAMPLES = (
    "peakline live 4242\n"
    "peakline live --once train.peak\n"
    "peakline live --serve 127.0.0.1:9464  # every recorded process of this machine"
)

_LEVELS = 120  # points of the chart over time
_WAIT_FOR_TRACE_SECONDS = 0.5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument(
        "sources",
        nargs="*",
        metavar="PID|FILE",
        help="A recorded process (or an ancestor of one), or its trace file; with --serve several,"
        " and folders of traces (default: every recorded process of this machine)",
    )
    parser.add_argument(
        "--serve",
        type=_address,
        metavar="HOST:PORT",
        help="Serve the metrics of the running programs to Prometheus at http://HOST:PORT/metrics",
    )
    parser.add_argument(
        "--interval",
        type=_seconds,
        default=1.0,
        metavar="S",
        help="Read the trace every S seconds (default: 1; long traces less often)",
    )
    parser.add_argument("--once", action="store_true", help="Show this moment and exit")
    parser.add_argument(
        "--top", type=row_count, default=8, metavar="N", help="Show N lines, 0 for all (default: 8)"
    )
    parser.add_argument("--json", action="store_true", help="Print a JSON document per reading")


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.05 <= seconds <= 3600:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of seconds (0.05 to 3600)")
    return seconds


def run(args: argparse.Namespace) -> int:
    """Show the trace until its program ends or the user stops."""
    if args.serve is not None:
        return _serve(args)
    if len(args.sources) != 1:
        raise CommandError("name one process or its trace file: peakline live 4242")
    try:
        path = _trace_of(args.sources[0])
        states = _follow(path, args)
        if args.json:
            for state in states:
                write_json(dataclasses.asdict(state))
        elif args.once or not sys.stdout.isatty():
            _print_each(states)
        else:
            _show(states)
    except KeyboardInterrupt:
        path = ""
    if path and not args.json:
        suggest_for(path, "table")
    return 0


def _address(text: str) -> tuple[str, int]:
    from peakline.monitor.server import address_of

    try:
        return address_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _serve(args: argparse.Namespace) -> int:
    """Serve metrics until the user stops."""
    from peakline.monitor.server import Monitor, server_of, url_of

    if args.once or args.json:
        raise CommandError("--serve goes on until Ctrl-C, and needs neither --once nor --json")
    monitor = Monitor(lambda: _traces_of(args.sources), args.interval, args.top)
    try:
        server = server_of(monitor, args.serve)
    except OSError as error:
        raise CommandError(f"cannot listen at the address of --serve: {error.strerror}") from error
    say(f"peakline: metrics at {url_of(server)} (Ctrl-C ends)")
    with server, contextlib.suppress(KeyboardInterrupt):
        server.serve_forever()
    return 0


def _traces_of(sources: Sequence[str]) -> Iterator[str]:
    """Yield the traces that sources name at this moment; without sources, all of this machine."""
    from peakline.recording.live_state import is_readable, traces_of_machine, traces_of_process

    is_trace = is_readable()
    if not sources:
        yield from traces_of_machine(is_trace)
    for source in sources:
        if Path(source).is_dir():
            yield from map(str, sorted(Path(source).rglob(f"*{TRACE_ENDINGS[0]}")))
        elif is_process_id(source):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                yield from traces_of_process(int(source), is_trace)
        else:
            yield source


def _trace_of(source: str) -> str:
    """Return the trace; waits for the first block of a process that has none yet."""
    if not is_process_id(source):
        return source
    from peakline.recording.live_state import is_readable, traces_of_process

    is_reported = False
    while True:
        try:
            traces = traces_of_process(int(source), is_readable())
        except (ProcessLookupError, PermissionError) as error:
            raise CommandError(
                f"{error}; name a process that peakline records, or its trace file"
            ) from error
        if traces:
            _name_others(traces)
            return traces[0]
        if not is_reported:
            is_reported = True
            say(
                f"peakline: process {source} has no trace open: waiting for its first block"
                " (it must run under peakline)"
            )
        time.sleep(_WAIT_FOR_TRACE_SECONDS)


def _name_others(traces: list[str]) -> None:
    if len(traces) > 1:
        others = ", ".join(traces[1:])
        say(f"peakline: following {traces[0]}; there are also {others}")


def _follow(path: str, args: argparse.Namespace) -> Iterator[LiveState]:
    """Read the trace repeatedly, until no process writes it any more."""
    from peakline.recording.live_state import PAUSE_SHARE, read_state

    engine = report_engine()
    is_first = True
    while True:
        begin = time.monotonic()
        try:
            state = read_state(engine.Trace(path), args.top, _LEVELS)
        except engine.TraceError as error:
            # A new file has no event yet.
            if not is_first or not _is_being_written(path):
                raise CommandError(str(error)) from error
            time.sleep(_WAIT_FOR_TRACE_SECONDS)
            continue
        is_first = False
        yield state
        if args.once or not state.is_being_written:
            return
        time.sleep(max(args.interval, PAUSE_SHARE * (time.monotonic() - begin)))


def _is_being_written(path: str) -> bool:
    engine = report_engine()
    try:
        return bool(engine.Trace(path).info()["is_being_written"])
    except engine.TraceError:
        return False


def _print_each(states: Iterator[LiveState]) -> None:
    from peakline.terminal.live import screen_of

    console = console_of(sys.stdout)
    for state in states:
        console.print(screen_of(state, console.width, is_ascii=_is_ascii(console.encoding)))


def _show(states: Iterator[LiveState]) -> None:
    """Replace each reading by the next one on a terminal."""
    from rich.live import Live

    from peakline.terminal.live import screen_of

    console = console_of(sys.stdout)
    with Live(console=console, auto_refresh=False) as live:
        for state in states:
            screen = screen_of(state, console.width, is_ascii=_is_ascii(console.encoding))
            live.update(screen, refresh=True)


def _is_ascii(encoding: str) -> bool:
    return not encoding.lower().startswith("utf")
