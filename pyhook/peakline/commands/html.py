"""``peakline html``: the run as a page for the browser, in one file."""

from __future__ import annotations

import argparse
import gzip
import json
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from peakline.commands import _common, _report_options

if TYPE_CHECKING:
    from peakline._report import Trace
    from peakline.html_page import DeviceData

NAME = "html"
HELP = "Write a page for the browser: summary, lines, flame graph, timeline; one file."
EXAMPLES = (
    "peakline html train.peak\n"
    "peakline html train.peak -o report.html --no-source\n"
    "peakline html train.peak --from 12.3 --to 12.5"
)
# The tab that the page opens at.
_TAB = "summary"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument(
        "files", nargs=1, metavar="FILE", help="Trace file (.peak, or packed .peak.zst)"
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="Write this file (default: FILE with .html)"
    )
    parser.add_argument("-f", "--force", action="store_true", help="Replace an existing page")
    parser.add_argument(
        "--no-source",
        action="store_true",
        help="Leave out the lines of your program that the page would show",
    )
    parser.add_argument(
        "--from",
        dest="from_seconds",
        type=float,
        default=0.0,
        metavar="S",
        help="Show the run from this second of the trace on",
    )
    parser.add_argument(
        "--to",
        dest="to_seconds",
        type=float,
        default=float("inf"),
        metavar="S",
        help="Show the run up to this second",
    )
    parser.add_argument(
        "--budget",
        type=_megabytes,
        default=8.0,
        metavar="MB",
        help="Keep as many moments of the run as fit in MB, compressed (default: 8)",
    )
    _report_options.add_frames(parser)
    _report_options.add_device(parser)
    _report_options.add_measure(parser)


def _megabytes(text: str) -> float:
    try:
        size = float(text)
    except ValueError:
        size = 0.0
    if not 0 < size <= 1000:
        raise argparse.ArgumentTypeError(f"'{text}' is not a size in MB (up to 1000)")
    return size


def run(args: argparse.Namespace) -> int:
    """Write the page of one trace."""
    return write_page(args, _TAB)


def write_page(args: argparse.Namespace, tab: str) -> int:
    """Write the page, opened at this tab; nothing is replaced before the new one is whole."""
    from peakline.html_page import PageOptions, make_page

    source = Path(args.files[0])
    if args.to_seconds <= args.from_seconds:
        raise _common.CommandError("--to must be later than --from")
    output = Path(args.output) if args.output else _page_beside(source)
    with _common.replacing(output, force=args.force) as unfinished:
        options = PageOptions(with_source=not args.no_source, tab=tab, is_part=_is_part(args))
        text = make_page(_devices_of(str(source), args), options)
        unfinished.write_bytes(text.encode("utf-8", errors="replace"))
    print(f"Wrote {output} ({output.stat().st_size / 1e6:.1f} MB); open it in a browser")
    _common.suggest_for(str(source), "table --by category")
    return 0


def _is_part(args: argparse.Namespace) -> bool:
    return bool(args.from_seconds > 0 or args.to_seconds < float("inf"))


def _devices_of(path: str, args: argparse.Namespace) -> list[DeviceData]:
    """Return the device with the highest peak, and all others unless one was asked for.

    They share the budget.
    """
    engine = _common.report_engine()
    try:
        with _common.progress_bar(path) as progress:
            trace = engine.Trace(path, progress)
            first = _read(trace, args, 1)
            others = _other_devices(first) if args.device is None else []
            share = 1 + len(others)
            if others and len(gzip.compress(first.columns, 6)) > args.budget * 1e6 / share:
                first = _read(trace, args, share)
            pages = [first]
            for device in others:
                # In a part of the run a device may have done nothing.
                with suppress(engine.TraceError) if _is_part(args) else nullcontext():
                    pages.append(_read(trace, args, share, device))
            return pages
    except engine.TraceError as error:
        raise _common.CommandError(str(error)) from error


def _read(
    trace: Trace, args: argparse.Namespace, share: int, device: int | None = None
) -> DeviceData:
    from peakline.html_page import DeviceData

    options = _report_options.named_options(args)
    if device is not None:
        options["device"] = device
    names, columns = trace.page(
        budget=args.budget * 1e6 / share,
        from_seconds=args.from_seconds,
        to_seconds=args.to_seconds,
        **options,
    )
    return DeviceData(names, columns)


def _other_devices(first: DeviceData) -> list[int]:
    """Return those that held anything, the highest peak first."""
    page = json.loads(first.names)
    others = [one for one in page["phases"]["devices"] if one["device"] != page["device"]]
    others.sort(key=lambda one: (-one["peak_bytes"], one["device"]))
    return [one["device"] for one in others if one["peak_bytes"] > 0]


def _page_beside(source: Path) -> Path:
    name = source.name.removesuffix(".zst").removesuffix(".peak")
    return source.with_name(f"{name}.html")
