"""``peakline fit``: the devices that a program fits on, and how large it may be."""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from peakline.api import assumptions
from peakline.base.engine import CommandError
from peakline.base.output import console_of, printable, write_json, write_lines
from peakline.builds.native_build import BuildError
from peakline.commands.running.device_list import LIST, print_devices
from peakline.commands.running.program_options import (
    add_python_argument,
    add_simulation_arguments,
    add_steps_argument,
    run_options_of,
)
from peakline.commands.shared.report_options import add_frame_argument
from peakline.launch.simulation import problem_of_device
from peakline.trials.attempts import TryOptions
from peakline.trials.fit_report import report
from peakline.trials.fitting import Attempt, Outcome
from peakline.trials.largest import Search, find_largest
from peakline.trials.sweeps import Trial, try_all

NAME = "fit"
HELP = "Try a program on simulated GPUs: does it fit, what is left."
EXAMPLES = (
    "peakline fit train.py --device a100-40,h100 -- --batch 8\n"
    "peakline fit train.py --largest batch -- --batch {batch}\n"
    "peakline fit train.py --sweep batch=1,2,4 -- --batch {batch}"
)

_DEFAULT_DEVICES = "a100-40,h100,h200"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``peakline fit``."""
    parser.usage = (
        "peakline fit [options] (SCRIPT.py | -m MODULE | -c CODE) [options] [-- ARGUMENTS ...]"
    )
    parser.add_argument("script", nargs="?", default="", help=argparse.SUPPRESS)
    parser.add_argument("-m", dest="module", default="", metavar="MODULE", help="Run a module")
    parser.add_argument("-c", dest="code", default="", metavar="CODE", help="Run code")
    parser.add_argument(
        "--device",
        default=_DEFAULT_DEVICES,
        metavar="NAME,...",
        help="Try these devices, as --simulate of peakline run takes them (default:"
        f" {_DEFAULT_DEVICES}); list: print all devices",
    )
    # The name of this option in `peakline run`.
    parser.add_argument(
        "--simulate", dest="device", default=argparse.SUPPRESS, help=argparse.SUPPRESS
    )
    parser.add_argument(
        "--sweep",
        default="",
        metavar="NAME=1,2,4",
        help="Try these values for {NAME} in the program's arguments, and find the largest that"
        " fits: --sweep batch=1,2,4 -- --batch {batch}",
    )
    parser.add_argument(
        "--largest",
        default="",
        metavar="NAME",
        help="Search the largest whole number for {NAME} that fits, and show that the next one does"
        " not; NAME=128: multiples of 128",
    )
    parser.add_argument(
        "--try-all",
        action="store_true",
        help="Run every value of --sweep, also those above one that did not fit",
    )
    add_frame_argument(parser, "Choose lines as in peakline table (default: caller)")
    add_simulation_arguments(parser)
    add_steps_argument(parser)
    add_python_argument(parser)
    parser.add_argument("--json", action="store_true", help="Print one JSON document")


def run(args: argparse.Namespace) -> int:
    """Try all devices. Returns 0 if the program fits on one, 1 if on none, 2 if it cannot run."""
    if args.device == LIST:
        print_devices(as_json=args.json)
        return 0
    attempts = plan_attempts(args)
    searches = {one.device: Search(_largest(args.largest)[1]) for one in attempts if args.largest}
    options = TryOptions(run_options_of(args), frame=args.frame)
    try:
        with (
            tempfile.TemporaryDirectory(prefix="peakline-fit-") as folder,
            _progress(0 if searches else len(attempts)) as show,
        ):
            trial = Trial(options, Path(folder), show)
            if searches:
                tried = list(find_largest(trial, attempts, searches))
                attempts, outcomes = [one for one, _ in tried], [one for _, one in tried]
            else:
                outcomes = list(try_all(trial, attempts, tries_all=args.try_all))
    except BuildError as error:
        raise CommandError(*error.args) from None
    name = _name(args)
    if args.json:
        write_json(_document(name, outcomes, searches), indent=2)
    else:
        write_lines(*report(name, attempts, outcomes, searches))
    if any(outcome.verdict == "failed" for outcome in outcomes):
        return 2
    return 0 if any(outcome.verdict == "fits" for outcome in outcomes) else 1


def plan_attempts(args: argparse.Namespace) -> list[Attempt]:
    """Return every device with every value, in the order of the attempts."""
    program = _program(args)
    devices = [name for name in args.device.split(",") if name]
    if not devices:
        raise CommandError("--device names no device: --device h100,h200")
    for problem in (
        *map(problem_of_device, devices),
        *map(assumptions.problem_of, args.assume),
    ):
        if problem:
            raise CommandError(problem)
    name = _name(args)
    if name and not any("{" + name + "}" in word for word in args.program_arguments):
        option = "--largest" if args.largest else "--sweep"
        raise CommandError(
            f"{option} {name}: the program's arguments (after --) have no {{{name}}}"
        )
    whole = [*program, *args.program_arguments]
    values = [""] if args.largest or not name else _sweep(args.sweep)[1]
    plain = [Attempt(device, "", whole, name) for device in devices]
    return [one.at(value) if value else one for one in plain for value in values]


def _name(args: argparse.Namespace) -> str:
    """Return the name of the argument that has several values, or ''."""
    if args.sweep and args.largest:
        raise CommandError("give --sweep or --largest: one tries given values, the other searches")
    return _largest(args.largest)[0] if args.largest else _sweep(args.sweep)[0]


def _largest(text: str) -> tuple[str, int]:
    match = re.fullmatch(r"([A-Za-z_]\w*)(?:=([1-9][0-9]{0,6}))?", text)
    if match is None:
        raise CommandError(
            f"--largest {text}: write NAME, or NAME=STEP for multiples of STEP, such as length=128"
        )
    return match[1], int(match[2] or 1)


def _program(args: argparse.Namespace) -> list[str]:
    given = [
        words
        for words in (
            [args.script] if args.script else [],
            ["-m", args.module] if args.module else [],
            ["-c", args.code] if args.code else [],
        )
        if words
    ]
    if len(given) != 1:
        raise CommandError("name one program: peakline fit SCRIPT.py, -m MODULE or -c CODE")
    if args.script and not Path(args.script).exists():
        raise CommandError(f"{args.script} does not exist")
    return given[0]


def _sweep(text: str) -> tuple[str, list[str]]:
    if not text:
        return "", []
    match = re.fullmatch(r"([A-Za-z_]\w*)=([^=]+)", text)
    values = [value.strip() for value in match[2].split(",")] if match else []
    if match is None or not all(values):
        raise CommandError(f"--sweep {text}: write NAME=VALUE,VALUE,... such as batch=1,2,4,8")
    return match[1], values


@contextlib.contextmanager
def _progress(total: int) -> Iterator[Callable[[str], None]]:
    """Show the current attempt on a terminal; call the yielded function when one begins.

    A total of 0 is not known yet.
    """
    if not sys.stderr.isatty():
        yield lambda _text: None
        return
    from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), "{task.description}", MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console_of(sys.stderr), transient=True) as bar:
        task = bar.add_task("trying", total=total or None, completed=-1)

        def show(text: str) -> None:
            bar.update(task, description=printable(f"trying {text}"), advance=1)

        yield show


def _document(
    name: str, outcomes: Sequence[Outcome], searches: Mapping[str, Search]
) -> dict[str, object]:
    largest = {
        device: {"fits": search.fits or None, "too_much": search.too_much}
        for device, search in searches.items()
    }
    return {
        "schema_version": 1,
        "simulated": True,
        "sweep": name or None,
        "largest": largest or None,
        "results": [asdict(outcome) for outcome in outcomes],
    }
