"""``peakline completion``: prints the completion script of a shell."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence

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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("shell", choices=list(SHELLS), help="The shell that reads the script")


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    write_report(script_of(args.shell, words_of_commands()))
    return 0


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
            options = options_of(parser, known)
            words = Words(first_sentence(command.help), options, tuple(first.get(command.name, ())))
            found[command.name] = words
    return found


def _known_values() -> Mapping[str, Sequence[str]]:
    """Return values of options that also take others: keys, moments, devices."""
    from peakline.builds.device_profiles import simulated_devices
    from peakline.commands.running.device_list import LIST

    return {
        "--by": list(option_words("by")),
        "--at": [*option_words("at"), *_PHASES],
        "--during": _PHASES,
        "--empty-cache-at": _PHASES,
        # A colon separates words in bash, so slices are left out.
        "--simulate": [*(one.name for one in simulated_devices() if not one.is_slice), LIST],
    }
