"""``peakline import``: what another tool recorded, as a trace."""

from __future__ import annotations

import argparse
import pickle
from pathlib import Path

from peakline.commands.shared import common

NAME = "import"
HELP = "Make a trace of a snapshot of torch.cuda.memory, for every command of peakline."
EXAMPLES = "peakline import snapshot.pickle\npeakline import oom_rank3.pickle -o rank3.peak"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument(
        "file",
        metavar="FILE",
        help="What torch.cuda.memory._dump_snapshot() wrote; nothing in it is executed",
    )
    parser.add_argument(
        "-o", "--output", metavar="OUT", help="Write this file (default: FILE with .peak)"
    )
    parser.add_argument("-f", "--force", action="store_true", help="Replace an existing file")


def run(args: argparse.Namespace) -> int:
    """Write the trace."""
    from peakline.imports.plain_pickle import load_plain
    from peakline.imports.torch_snapshot import SnapshotError, write_trace

    engine = common.report_engine()
    source = Path(args.file)
    output = Path(args.output) if args.output else Path(f"{source.stem}.peak")
    try:
        snapshot = load_plain(source.read_bytes())
        with common.replacing(output, force=args.force) as unfinished:
            imported = write_trace(snapshot, unfinished)
    except OSError as error:
        raise common.CommandError(f"{source}: {error.strerror}") from error
    except (pickle.UnpicklingError, SnapshotError) as error:
        raise common.CommandError(f"{source}: {error}") from error
    except engine.TraceError as error:
        raise common.CommandError(str(error)) from error
    print(f"Wrote {output}: {imported.actions:,} actions of {_devices(imported.devices)}")
    if imported.blocks_before:
        print(
            f"{imported.blocks_before:,} blocks were there before the first action"
            " (untraced, where the snapshot has no stack of them)"
        )
    if not imported.has_stacks:
        print("The snapshot has no stacks: record with stacks='all', or peakline run")
    common.suggest_for(str(output), "table")
    return 0


def _devices(count: int) -> str:
    return "1 device" if count == 1 else f"{count} devices"
