"""``peakline events``: every event of a trace, in order."""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from peakline.base.engine import CommandError
from peakline.base.next_commands import suggest_for, terminal_width
from peakline.base.output import did_you_mean, json_text, write_lines, write_report
from peakline.base.sizes import size_of
from peakline.commands.shared import report_options

if TYPE_CHECKING:
    from peakline.recording import Event, Recording

NAME = "events"
HELP = "List every allocation, free, segment and mark, in order."
EXAMPLES = (
    "peakline events --during step@1 train.peak\n"
    "peakline events --kind alloc --kind free --top 0 train.peak\n"
    "peakline events --json train.peak"
)
# The engine's names: kEventKindNames in report/views/events/events.h; a test compares them.
KINDS = (
    "alloc",
    "free",
    "free_requested",
    "free_completed",
    "segment_alloc",
    "segment_free",
    "segment_map",
    "segment_unmap",
    "oom",
    "phase_begin",
    "phase_end",
    "step",
    "note",
    "tracing_started",
    "tracing_stopped",
    "main_end",
)
_OPTIONS = ("during", "device", "depth", "fold", "frame", "hide", "symbols", "full_paths")
_TOP = 40


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="Trace file (.peak, or packed .peak.zst; default: the newest run in this folder)",
    )
    report_options.add_during(parser, "Show only what happens")
    parser.add_argument(
        "--device",
        metavar="N",
        help="Show this device only: a number, pinned or cpu (default: all GPUs)",
    )
    parser.add_argument(
        "--kind",
        action="append",
        metavar="KIND",
        help="Show only events of this kind: alloc, free, segment_alloc, oom, phase_begin ... (may"
        " be given several times)",
    )
    report_options.add_modules(parser)
    report_options.add_frames(parser)
    report_options.add_top(parser, "events", _TOP)
    parser.add_argument("--json", action="store_true", help="Print JSON, by default of all events")
    report_options.refuse_where(parser)


def run(args: argparse.Namespace) -> int:
    """Print the events while they are read."""
    from peakline.recording import Recording

    top = args.top if args.top is not None else 0 if args.json else _TOP
    recording = Recording(args.file)
    options = {name: getattr(args, name) for name in _OPTIONS}
    events: Iterator[Event] = iter(recording.events(**options))
    if args.kind:
        events = _of_kinds(events, args.kind)
    shown = itertools.islice(events, top or None)
    if args.json:
        _print_json(recording, shown)
    else:
        _print_text(shown)
        rest = next(events, None)
        if rest is not None:
            write_lines("... (--top 0 shows all; --during, --kind and --device choose)")
    if not args.json:
        suggest_for(args.file, "phases")
    return 0


def _of_kinds(events: Iterable[Event], kinds: Sequence[str]) -> Iterator[Event]:
    unknown = set(kinds).difference(KINDS)
    if unknown:
        near = did_you_mean(min(unknown), KINDS)
        raise CommandError(
            f"no event is of kind '{min(unknown)}'{near or '; there are: ' + ', '.join(KINDS)}"
        )
    return (event for event in events if event.kind in kinds)


def _print_json(recording: Recording, events: Iterable[Event]) -> None:
    """Print one document, an event per line, without holding all of it in memory."""
    head = {"schema_version": 1, "file": str(recording.path)}
    write_report(json_text(head)[:-1] + ', "events": [')
    comma = "\n"
    for event in events:
        write_report(comma + json_text(event._asdict()))
        comma = ",\n"
    write_report("\n]}\n")


def _print_text(events: Iterable[Event]) -> None:
    width = terminal_width(sys.stdout)
    write_lines("    Seconds  Event               Size      Level  Dev  What")
    for event in events:
        size = size_of(event.bytes) if event.bytes is not None else ""
        level = size_of(event.allocated_bytes) if event.allocated_bytes is not None else ""
        device = "" if event.device is None else str(event.device)
        line = f"{event.seconds:11.6f}  {event.kind:14} {size:>9}  {level:>9}  {device:>3}  "
        line += _what(event)
        write_lines(line[: width or None].rstrip())


def _what(event: Event) -> str:
    if event.line is not None:
        op = f"  {event.op}" if event.op and event.op != "no operator" else ""
        return _short(event.line) + op
    return event.text or ""


def _short(line: str) -> str:
    return line if len(line) <= 60 else Path(line).name
