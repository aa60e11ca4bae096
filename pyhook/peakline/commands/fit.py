"""``peakline fit``: the devices that a program fits on, and how large it may be."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from peakline.api import assumptions
from peakline.base.engine import CommandError
from peakline.base.next_commands import next_commands, shell_words, shortener, terminal_width
from peakline.base.output import console_of, printable, write_json, write_lines
from peakline.base.sizes import size_of, size_or_unknown
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
from peakline.trials.fitting import Attempt, Outcome, try_program

NAME = "fit"
HELP = "Try a program on simulated GPUs: does it fit, what is left."
EXAMPLES = (
    "peakline fit train.py --device a100-40,h100 -- --batch 8\n"
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
    options = TryOptions(run_options_of(args), frame=args.frame)
    try:
        with (
            tempfile.TemporaryDirectory(prefix="peakline-fit-") as folder,
            _progress(len(attempts)) as show,
        ):
            outcomes = list(_try_all(attempts, options, Path(folder), show, tries_all=args.try_all))
    except BuildError as error:
        raise CommandError(*error.args) from None
    if args.json:
        write_json(_document(args, outcomes), indent=2)
    else:
        write_lines(*_report(args, attempts, outcomes))
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
    name, values = _sweep(args.sweep)
    if not name:
        return [Attempt(device, "", [*program, *args.program_arguments]) for device in devices]
    placeholder = "{" + name + "}"
    if not any(placeholder in word for word in args.program_arguments):
        raise CommandError(
            f"--sweep {name}: the program's arguments (after --) have no {placeholder}"
        )
    return [
        Attempt(
            device,
            value,
            [*program, *(word.replace(placeholder, value) for word in args.program_arguments)],
        )
        for device in devices
        for value in values
    ]


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


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[0-9]+(\.[0-9]+)?", text) is not None


@dataclass
class _Sweep:
    """The values tried on one device, and the bound that they imply for larger ones."""

    peaks: dict[float, int] = field(default_factory=dict)
    too_much: float | None = None  # the smallest number that did not fit

    def note(self, value: float, outcome: Outcome) -> None:
        if outcome.peak_bytes is not None:
            self.peaks[value] = outcome.peak_bytes
        if outcome.verdict == "too small":
            self.too_much = min(value, self.too_much or value)

    def rules_out(self, value: float) -> bool:
        """Return whether a smaller value did not fit and the peak always rose with the value."""
        needed = [peak for _, peak in sorted(self.peaks.items())]
        is_growing = all(one < other for one, other in itertools.pairwise(needed))
        return self.too_much is not None and value >= self.too_much and is_growing


def _try_all(
    attempts: Sequence[Attempt],
    options: TryOptions,
    folder: Path,
    show: Callable[[str], None],
    *,
    tries_all: bool,
) -> Iterator[Outcome]:
    sweeps: dict[str, _Sweep] = {}
    for number, attempt in enumerate(attempts, 1):
        sweep = sweeps.setdefault(attempt.device, _Sweep())
        value = float(attempt.value) if _is_number(attempt.value) else None
        show(f"{attempt.device} {attempt.value}".rstrip())
        if value is not None and not tries_all and sweep.rules_out(value):
            yield Outcome(attempt.device, attempt.value, "skipped")
            continue
        outcome = try_program(attempt, options, folder / str(number))
        if value is not None:
            sweep.note(value, outcome)
        yield outcome


@contextlib.contextmanager
def _progress(count: int) -> Iterator[Callable[[str], None]]:
    """Show the current attempt on a terminal; call the yielded function when one begins."""
    if not sys.stderr.isatty():
        yield lambda _text: None
        return
    from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), "{task.description}", MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console_of(sys.stderr), transient=True) as bar:
        task = bar.add_task("trying", total=count, completed=-1)

        def show(text: str) -> None:
            bar.update(task, description=printable(f"trying {text}"), advance=1)

        yield show


_WORDS = {"fits": "yes", "too small": "no", "failed": "failed", "skipped": "no (not tried)"}


def _report(
    args: argparse.Namespace, attempts: Sequence[Attempt], outcomes: Sequence[Outcome]
) -> Iterator[str]:
    name, _ = _sweep(args.sweep)
    header = ["Device", *([name] if name else []), "Fits", "Peak", "Headroom", "Heaviest lines"]
    rows = [header]
    shorten = shortener(terminal_width(sys.stdout))
    for one in outcomes:
        lines = "; ".join(f"{line.location} {size_of(line.bytes)}" for line in one.lines)
        if one.verdict == "skipped":
            cells = ["", "", ""]
        else:
            cells = [size_or_unknown(one.peak_bytes), size_or_unknown(one.headroom_bytes), lines]
        rows.append([one.device, *([one.value] if name else []), _WORDS[one.verdict], *cells])
    widths = [max(len(row[i]) for row in rows) for i in range(len(header) - 1)]
    yield "Simulated devices: sizes are exact, numbers are not; no GPU was used"
    for row in rows:
        padded = [cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=True)]
        start = "  ".join([*padded, ""])
        yield (start + shorten(row[-1], len(start))).rstrip()
    if name:
        yield ""
        yield from _largest(name, outcomes)
        if any(one.verdict == "skipped" for one in outcomes):
            yield (
                f"Not tried: every {name} above one that did not fit; larger ones needed more "
                "wherever tried (--try-all runs them)"
            )
    for one in outcomes:
        if one.verdict == "failed":
            yield ""
            yield f"{one.device} {one.value}".rstrip() + f": the program ended with {one.status}:"
            yield from (f"  {line}" for line in one.last_words)
    guesses = max((one.guessed_places for one in outcomes), default=0)
    if guesses:
        lines = "line reads" if guesses == 1 else "lines read"
        yield ""
        yield f"{guesses} {lines} values that no simulated GPU knows: figures may be too low."
    best = _best(attempts, outcomes)
    command = f"run --simulate {best.device} {shell_words(best.command)}"
    yield ""
    yield from next_commands([(command, "every line, and values that were guessed")])


def _largest(name: str, outcomes: Sequence[Outcome]) -> Iterator[str]:
    for device in dict.fromkeys(one.device for one in outcomes):
        fitting = _fitting(device, outcomes)
        yield f"{device}: " + (
            f"largest tried {name} that fits: {fitting[-1]}" if fitting else "none fits"
        )


def _fitting(device: str, outcomes: Sequence[Outcome]) -> list[str]:
    """Return the values that fit on a device, the largest last."""
    fitting = [one.value for one in outcomes if (one.device, one.verdict) == (device, "fits")]
    return sorted(fitting, key=float) if all(map(_is_number, fitting)) else fitting


def _best(attempts: Sequence[Attempt], outcomes: Sequence[Outcome]) -> Attempt:
    """Return the largest attempt that fits on the first device where one does, else the last."""
    for device in dict.fromkeys(one.device for one in outcomes):
        for value in _fitting(device, outcomes)[-1:]:
            return next(one for one in attempts if (one.device, one.value) == (device, value))
    return attempts[-1]


def _document(args: argparse.Namespace, outcomes: Sequence[Outcome]) -> dict[str, object]:
    name, _ = _sweep(args.sweep)
    return {
        "schema_version": 1,
        "simulated": True,
        "sweep": name or None,
        "results": [asdict(outcome) for outcome in outcomes],
    }
