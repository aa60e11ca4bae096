"""The parts that `advise --try` and `plan --try` share: options, checks of words, progress."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from peakline.base.engine import CommandError
from peakline.base.output import console_of, printable
from peakline.commands.running.program_options import (
    add_python_argument,
    add_simulation_arguments,
    add_steps_argument,
    simulated_device,
)
from peakline.commands.shared.folders import HEAVIEST, WHOLE


def add_try_arguments(parser: argparse.ArgumentParser, runs: str) -> None:
    """Add --try, which `runs` explains, and the options of its runs."""
    parser.add_argument("--try", dest="program", nargs="?", const="", metavar="PROGRAM", help=runs)
    # --try reads no file, so do not search for one.
    parser.set_defaults(folder_gives=lambda args: HEAVIEST if args.program is None else WHOLE)
    parser.add_argument(
        "--simulate",
        type=simulated_device,
        default="",
        metavar="DEVICE",
        help="With --try: the GPU to simulate (h200)",
    )
    add_simulation_arguments(parser)
    add_steps_argument(parser)
    add_python_argument(parser)


def check_program(args: argparse.Namespace, command: str) -> None:
    """Check that --try names one program.

    Raises:
        CommandError: it does not.
    """
    if args.files:
        raise CommandError(f"{args.files[0]}: with --try, arguments of the program follow --")
    if not args.program and not args.program_arguments:
        raise CommandError(f"--try names no program: peakline {command} --try train.py")
    if args.program and args.program.endswith(".py") and not Path(args.program).exists():
        raise CommandError(f"{args.program} does not exist")


@contextlib.contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """Show the current run on a terminal; call the yielded function when a run begins."""
    if not sys.stderr.isatty():
        yield lambda _text: None
        return
    from rich.text import Text

    with console_of(sys.stderr).status("starting") as status:
        yield lambda text: status.update(Text(printable(f"running {text}")))
