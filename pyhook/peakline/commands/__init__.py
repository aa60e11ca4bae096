"""The command line: a row in `reports.py` for each report, a module for each other command.

Such a module has ``NAME``, ``HELP``, ``EXAMPLES``, ``add_arguments(parser)`` and ``run(args) ->
int``. It parses, prints and exits; other packages do the work. Exit codes: 0 fine, 1 a gate failed,
2 bad use or bad input.
"""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from peakline.base.engine import CommandError
from peakline.base.faults import is_expected, sentence_of, shows_traceback
from peakline.base.output import say, say_error
from peakline.commands.shared.groups import command_names, see_also
from peakline.commands.shared.parser import CommandParser, MainParser
from peakline.commands.shared.wrong_words import (
    asks_for_help,
    problem_of_file,
    problem_of_words,
)


@dataclass(frozen=True)
class Command:
    """The interface of a command; `run` returns the exit code."""

    name: str
    help: str
    examples: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


# Modules of the commands that are no reports.
_MODULES = (
    "run",
    "fit",
    "advise",
    "plan",
    "ranks",
    "diff",
    "check",
    "bisect",
    "fleet",
    "events",
    "export",
    "import_",
    "tree",
    "html",
    "flamegraph",
    "plot",
    "live",
    "report",
    "pack",
    "doctor",
    "attach",
    "detach",
    "preload",
    "completion",
    "mcp",
)

# Their FILE may be a program, a snapshot, or a trace that is not written yet.
_TAKE_OTHER_FILES = ("advise", "import", "live", "plan", "report")


def all_commands() -> list[Command]:
    """Return the commands in the order of --help, and then those that it does not list."""
    known = {command.name: command for command in (*map(_load, _MODULES), *_reports())}
    return [known[name] for name in command_names()]


def commands_for(words: Sequence[str]) -> list[Command]:
    """Return the command that the words begin with, else all commands; importing all is slow."""
    name = words[0] if words else ""
    if name == "--version":
        return []
    modules = [module for module in _MODULES if module.rstrip("_") == name]
    if modules:
        return [_load(modules[0])]
    return [one for one in _reports() if one.name == name] or all_commands()


def _load(module_name: str) -> Command:
    module = importlib.import_module(f"peakline.commands.{module_name}")
    return Command(module.NAME, module.HELP, module.EXAMPLES, module.add_arguments, module.run)


def _reports() -> list[Command]:
    from peakline.commands.shared.reports import REPORTS

    return [
        Command(one.name, one.help, one.examples, one.add_arguments, one.run) for one in REPORTS
    ]


def _make_parser(known: Sequence[Command]) -> CommandParser:
    parser = MainParser(
        {command.name: command.help for command in known},
        prog="peakline",
        description="Show which lines of a PyTorch program hold the GPU memory at its peak.",
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
    for command in known:
        sub_parser = commands.add_parser(
            command.name,
            help=command.help,
            description=command.help,
            examples=command.examples,
            see_also=see_also(command.name),
            add_arguments=command.add_arguments,
        )
        sub_parser.set_defaults(run_command=command.run)
    return parser


def _let_output_take_any_character() -> None:
    """Replace characters that the terminal lacks: charts and names of the program may have some."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _discard_output() -> None:
    """Keep the interpreter from reporting the closed pipe again at its exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _find_traces(args: argparse.Namespace) -> None:
    """Replace process ids and folders in the arguments by traces.

    The imports are here because --version and --help need none of them.

    Raises:
        CommandError: an argument is no trace.
    """
    from peakline.commands.shared.folders import is_folder, open_folders
    from peakline.commands.shared.running import name_traces
    from peakline.commands.shared.snapshots import refuse_snapshots

    words = [*(getattr(args, "files", None) or ()), getattr(args, "file", None)]
    for word in words if args.command not in _TAKE_OTHER_FILES else ():
        if word and not is_folder(word) and (problem := problem_of_file(word)):
            raise CommandError(problem)
    name_traces(args)
    open_folders(args)
    refuse_snapshots(args)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the result is the exit code of the process."""
    words = asks_for_help(sys.argv[1:] if argv is None else argv)
    program_arguments: list[str] = []
    takes_program = words[:1] in (["fit"], ["bisect"]) or (
        words[:1] in (["advise"], ["plan"]) and "--try" in words
    )
    if takes_program and "--" in words:
        # Words after `--` belong to the program; options may also follow the script.
        border = words.index("--")
        words, program_arguments = words[:border], words[border + 1 :]
    _let_output_take_any_character()
    known = commands_for(words)
    parser = _make_parser(known)
    if problem := problem_of_words(words, [command.name for command in known]):
        parser.error(problem)
    try:
        args = parser.parse_args(words)
        args.program_arguments = program_arguments
        args.words = words
        _find_traces(args)
        status = cast(int, args.run_command(args))
        sys.stdout.flush()
    except CommandError as error:
        say_error(error)
        return 2
    except BrokenPipeError:
        _discard_output()
        return 0
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if shows_traceback() and not is_expected(error):
            raise
        say(f"peakline: error: {sentence_of(error)}")
        return 2
    return status
