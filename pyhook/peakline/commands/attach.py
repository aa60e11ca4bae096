"""``peakline attach``: begin to record a program that runs already."""

from __future__ import annotations

import argparse
from pathlib import Path

from peakline.attaching.requests import Answer, ask
from peakline.attaching.targets import Target, targets_of
from peakline.base.engine import CommandError
from peakline.base.next_commands import suggest
from peakline.base.output import say, say_error, write_lines
from peakline.base.processes import command_of, script_of
from peakline.builds.native_build import BuildError, ensure_torch_part
from peakline.launch.output_name import is_no_file, problem_of_output

NAME = "attach"
HELP = "Begin to record a Python program that runs already. Its memory until then is untraced."
EXAMPLES = "peakline attach 4242\npeakline attach -o late.peak 4242"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    add_process(parser)
    parser.add_argument(
        "-o",
        "--output",
        default="",
        metavar="FILE",
        help="The trace (default: SCRIPT.PID.peak here); of several processes a folder",
    )
    parser.add_argument("--force", action="store_true", help="Replace an existing trace")


def add_process(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments that attach and detach share."""
    parser.add_argument(
        "pid",
        type=int,
        metavar="PID",
        help="A Python program that has imported torch, or an ancestor (torchrun: all its ranks)",
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=60.0,
        metavar="S",
        help="Wait S seconds until the program runs Python code (default: 60)",
    )


def run(args: argparse.Namespace) -> int:
    """Attach to the process and its descendants."""
    targets = targets_of(args.pid)
    outputs = _outputs(targets, args)
    parts = {one.pid: _torch_part(one) for one in targets}

    def request_for(target: Target) -> dict[str, object]:
        return {
            "action": "begin",
            "output": str(outputs[target.pid]),
            "overwrite": args.force,
            "only_with_cuda": len(targets) > 1,
            "torch_part": parts[target.pid],
        }

    answers = ask(targets, request_for, args.timeout, say_waiting)
    if report(answers, "recorded to"):
        return 2
    suggest([(f"live {args.pid}", "what it holds"), (f"detach {args.pid}", "end the recording")])
    return 0


def say_waiting(processes: list[int]) -> None:
    """Name the processes that have not begun."""
    for pid in processes:
        say(f"peakline: process {pid} is in native code: waiting until it runs Python code again")


def report(answers: list[Answer], done: str) -> int:
    """Print the answers; return 2 if no process did as asked."""
    succeeded = any("trace" in (one.facts or {}) for one in answers)
    for one in answers:
        facts = one.facts or {}
        if "trace" in facts:
            write_lines(f"Process {one.target.pid} is {done} {facts['trace']}")
            for text in facts["messages"]:
                say(f"peakline: {text}")
        elif not succeeded or "problem" in facts:
            say(f"peakline: error: process {one.target.pid}: {_problem(one)}")
    return 0 if succeeded else 2


def _problem(answer: Answer) -> str:
    if answer.facts is not None:
        return str(answer.facts.get("problem") or answer.facts["idle"])
    if not Path(f"/proc/{answer.target.pid}").is_dir():
        return "it ended before it answered"
    return "it ran no Python code in this time: nothing was changed; try again, or --timeout longer"


def _outputs(targets: list[Target], args: argparse.Namespace) -> dict[int, Path]:
    names = {one.pid: f"{_script_of(one.pid)}.{one.pid}.peak" for one in targets}
    output = Path(args.output)
    if not args.output or len(targets) > 1 or output.is_dir() or args.output.endswith("/"):
        outputs = {pid: (output / name).absolute() for pid, name in names.items()}
    else:
        outputs = {targets[0].pid: output.absolute()}
    for path in outputs.values():
        if is_no_file(str(path)):
            raise CommandError("a recording that is attached needs a file: name one with -o")
        if problem := problem_of_output(str(path), force=args.force):
            raise CommandError(problem)
    return outputs


def _script_of(pid: int) -> str:
    """Return a name for the program: its script, or python."""
    return Path(script_of(command_of(pid)) or "python").stem


def _torch_part(target: Target) -> str:
    """Build the part for its torch here, and not in the program."""
    try:
        return str(ensure_torch_part(target.installation()))
    except BuildError as error:
        say_error(error, "peakline")
        return ""
