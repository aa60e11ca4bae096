"""``peakline completion``: prints the completion script of a shell."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable, Mapping, Sequence

from peakline.base.engine import report_engine
from peakline.base.output import write_report
from peakline.commands.shared.completions import SHELLS, Words, options_of, script_of
from peakline.commands.shared.report_options import option_words

NAME = "completion"
HELP = "Print the completion script of a shell: bash, zsh or fish."
EXAMPLES = (
    'eval "$(peakline completion bash)"  # in ~/.bashrc\n'
    "peakline completion zsh > ~/.zfunc/_peakline  # a folder of $fpath\n"
    "peakline completion fish > ~/.config/fish/completions/peakline.fish"
)
_PHASES = ("forward", "backward", "optimizer", "step")
# Options that take a phase of the trace.
_OF_TRACE = ("--at", "--during", "--empty-cache-at")
# A shell must find nothing to run in the name of a phase.
_PLAIN_WORD = re.compile(r"[\w.@+-]+", re.ASCII)
_MOST_PHASES = 500


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    wanted = parser.add_mutually_exclusive_group(required=True)
    wanted.add_argument(
        "shell", nargs="?", choices=list(SHELLS), help="The shell that reads the script"
    )
    wanted.add_argument(
        "--phases",
        metavar="FILE",
        help="Print the phases of a trace, a word on each line; the scripts do it",
    )


def run(args: argparse.Namespace) -> int:
    """Print the script, or the phases of a trace."""
    if args.phases:
        write_report("\n".join(phases_of(args.phases)))
        return 0
    write_report(script_of(args.shell, words_of_commands()))
    return 0


def phases_of(path: str) -> list[str]:
    """Return what --at takes of a trace, without names that a shell would not take as they are.

    Raises:
        TraceError: the file is no trace.
    """
    trace = report_engine().Trace(path)
    document = json.loads(trace.report("phases", json=True, device="all", top=0))
    parts = [("step", step["step"]) for step in document["steps"]]
    parts += [(one["name"], one["step"]) for one in (*document["phases"], *document["named"])]
    names = dict.fromkeys(name for name, _ in parts)
    numbered = dict.fromkeys(f"{name}@{step}" for name, step in parts if step is not None)
    words = [word for word in (*names, *numbered) if _PLAIN_WORD.fullmatch(word)]
    return words[:_MOST_PHASES]


def words_of_commands() -> dict[str, Words]:
    """Return the options and words of each command that --help lists."""
    from peakline.commands import all_commands
    from peakline.commands.shared.groups import HIDDEN, first_sentence
    from peakline.commands.shared.parser import CommandParser
    from peakline.exports import FORMATS
    from peakline.fleet.questions import QUESTIONS

    first: dict[str, Iterable[str]] = {"export": FORMATS, "fleet": QUESTIONS, NAME: SHELLS}
    known = _known_values()
    found = {}
    for command in all_commands():
        if command.name not in HIDDEN:
            parser = CommandParser(prog=f"peakline {command.name}")
            command.add_arguments(parser)
            options = options_of(parser, known, dict.fromkeys(_OF_TRACE, _PHASES))
            words = Words(first_sentence(command.help), options, tuple(first.get(command.name, ())))
            found[command.name] = words
    return found


def _known_values() -> Mapping[str, Sequence[str]]:
    """Return values of options that also take others: keys, moments, devices."""
    from peakline.builds.device_profiles import simulated_devices
    from peakline.commands.running.device_list import LIST

    return {
        "--by": list(option_words("by")),
        "--at": list(option_words("at")),
        # A colon separates words in bash, so slices are left out.
        "--simulate": [*(one.name for one in simulated_devices() if not one.is_slice), LIST],
    }
