"""The command line: one module per command, found by name.

A command module has ``NAME``, ``HELP``, ``EXAMPLES``, ``add_arguments(parser)`` and
``run(args) -> int``. It parses, prints and exits; the work is done elsewhere. Exit codes: 0 fine,
1 a gate failed, 2 bad use or bad input.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import io
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Protocol, cast

from peakline.commands._common import CommandError
from peakline.commands._parser import CommandParser, did_you_mean

_COMMANDS = (
    "run",
    "fit",
    "table",
    "summary",
    "phases",
    "layers",
    "ops",
    "stages",
    "tensors",
    "tree",
    "flamegraph",
    "timeline",
    "diff",
    "merge",
    "pack",
    "export",
    "oom",
    "leaks",
    "stats",
    "live",
    "check",
    "doctor",
    "preload",
)


class Command(Protocol):
    """What every module of a command has."""

    NAME: str
    HELP: str
    EXAMPLES: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments of the command."""

    def run(self, args: argparse.Namespace) -> int:
        """Do it; the result is the exit code."""


def _find_commands() -> Iterator[Command]:
    for name in _COMMANDS:
        module_name = f"peakline.commands.{name}"
        if importlib.util.find_spec(module_name) is not None:
            yield cast(Command, importlib.import_module(module_name))


def _make_parser() -> CommandParser:
    parser = CommandParser(
        prog="peakline",
        description="Show which lines of a PyTorch program hold the GPU memory at its peak.",
        examples="peakline run train.py --epochs 1\npeakline table --by category train.peak",
    )
    version = importlib.import_module("peakline").__version__
    parser.add_argument(
        "--version",
        action="version",
        version=f"peakline {version}",
        help="Show the version and exit",
    )
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", required=True, parser_class=CommandParser
    )
    for command in _find_commands():
        sub_parser = commands.add_parser(
            command.NAME,
            help=command.HELP,
            description=command.HELP,
            examples=command.EXAMPLES,
            add_arguments=command.add_arguments,
        )
        sub_parser.set_defaults(run_command=command.run)
    return parser


def _refuse_unknown_command(parser: CommandParser, words: Sequence[str]) -> None:
    known = [command.NAME for command in _find_commands()]
    if words and not words[0].startswith("-") and words[0] not in known:
        near = did_you_mean(words[0], known)
        parser.error(f"there is no command '{words[0]}'{near or '; peakline --help lists them'}")


def _let_output_take_any_character() -> None:
    """Charts, and names from the program, may have characters that the terminal does not."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _discard_output() -> None:
    """Keep the interpreter from reporting the closed pipe once more when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the result is the exit code of the process."""
    words = list(sys.argv[1:] if argv is None else argv)
    program_arguments: list[str] = []
    if words[:1] == ["fit"] and "--" in words:
        # What follows belongs to the program; the options of fit may stand after the script.
        border = words.index("--")
        words, program_arguments = words[:border], words[border + 1 :]
    _let_output_take_any_character()
    parser = _make_parser()
    _refuse_unknown_command(parser, words)
    try:
        args = parser.parse_args(words)
        args.program_arguments = program_arguments
        status = cast(int, args.run_command(args))
        sys.stdout.flush()
    except CommandError as error:
        print(f"peakline: error: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        _discard_output()
        return 0
    except KeyboardInterrupt:
        return 130
    return status
