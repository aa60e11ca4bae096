"""``peakline import``: converts a recording of another tool to a trace."""

from __future__ import annotations

import argparse
import gc
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from peakline.base.engine import CommandError, report_engine
from peakline.base.files import TRACE_BEGINS, replacing
from peakline.base.next_commands import shell_words, suggest_for
from peakline.base.output import write_lines
from peakline.commands.shared.snapshots import trace_name

NAME = "import"
HELP = "Convert a recording of torch itself to a trace."
EXAMPLES = "peakline import snapshot.pickle\npeakline import oom_rank3.pickle -o rank3.peak"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument(
        "file",
        metavar="FILE",
        help="A file of torch.cuda.memory._dump_snapshot(), or of save_stats() of torch's"
        " MemoryTracker; may be gzipped; nothing in it is executed",
    )
    parser.add_argument(
        "-o", "--output", metavar="OUT", help="Write this file (default: FILE with .peak)"
    )
    parser.add_argument("-f", "--force", action="store_true", help="Replace an existing file")


def run(args: argparse.Namespace) -> int:
    """Write the trace."""
    from peakline.imports import tracker_stats
    from peakline.imports.plain_pickle import load_file
    from peakline.imports.writing import UnreadableError

    report_engine()
    source = Path(args.file)
    output = Path(args.output) if args.output else Path(trace_name(source))
    try:
        _refuse_trace(source)
        with _collector_off():
            found = load_file(source)
            is_tracker = isinstance(found, dict) and tracker_stats.KEY in found
            write = _write_tracker if is_tracker else _write_snapshot
            with replacing(output, force=args.force) as unfinished:
                sentences = write(found, unfinished)
    except OSError as error:
        raise CommandError(f"{source}: {error.strerror}") from error
    except (pickle.UnpicklingError, UnreadableError) as error:
        raise CommandError(f"{source}: {error}") from error
    write_lines(f"Wrote {output}: {sentences[0]}", *sentences[1:])
    suggest_for(str(output), "table")
    return 0


@contextmanager
def _collector_off() -> Iterator[None]:
    """Turn garbage collection off: values have no cycles, and scans take a third of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _refuse_trace(source: Path) -> None:
    """Refuse a trace with a clear message; the errors of pickle would not help."""
    begin = b""
    if source.is_file():
        with source.open("rb") as file:
            begin = file.read(64)
    if begin.startswith(TRACE_BEGINS) or source.name.endswith(".peak.zst"):
        words = shell_words([str(source)])
        raise CommandError(f"{source} is a trace already: peakline table {words}")


def _write_snapshot(snapshot: Any, path: Path) -> list[str]:
    from peakline.imports import torch_snapshot

    imported = torch_snapshot.write_trace(snapshot, path)
    devices = "1 device" if imported.devices == 1 else f"{imported.devices} devices"
    lines = [f"{imported.actions:,} actions of {devices}"]
    if imported.actions == 0:
        lines.append(
            "The snapshot has no actions: it is the state of one moment,"
            " and nothing is known of time"
        )
    elif imported.blocks_before:
        lines.append(
            f"{imported.blocks_before:,} blocks existed before the first action"
            " (untraced, if the snapshot has no stack of them)"
        )
    if imported.unknown_frees:
        lines.append(
            f"{imported.unknown_frees:,} frees are of blocks that the snapshot does not contain"
        )
    if not imported.has_stacks:
        lines.append("The snapshot has no stacks: record with stacks='all', or peakline run")
    if imported.has_compiled:
        lines.append(
            "Compiled code has the lines that torch kept: one for each kernel, and from a cache"
            " perhaps those of an earlier version; its modules are unknown (peakline run has them)"
        )
    return lines


def _write_tracker(stats: Any, path: Path) -> list[str]:
    from peakline.imports import tracker_stats

    count = tracker_stats.write_trace(stats, path)
    return [
        f"levels after {count:,} operators, each a millisecond",
        "The file does not name the block that an operator frees: assumed is the last allocated",
    ]
