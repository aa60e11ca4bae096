"""The contents of the parsers of all commands: the source of the reference and of manual pages.

`manuals()` reads the parsers that the program itself uses, so a page cannot differ from --help.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "pyhook"))

from peakline.commands import all_commands  # noqa: E402
from peakline.commands.shared.groups import GROUPS, HIDDEN, first_sentence, see_also  # noqa: E402
from peakline.commands.shared.parser import CommandParser  # noqa: E402


@dataclass(frozen=True)
class Entry:
    """An argument or option: its forms (`-o NAME`, `--output NAME`) and its help."""

    forms: tuple[str, ...]
    help: str


@dataclass(frozen=True)
class Manual:
    """One command. `group` is a heading of `peakline --help`; `related` are commands."""

    name: str
    group: str
    help: str
    usage: str
    sections: dict[str, tuple[Entry, ...]]
    examples: tuple[str, ...]
    related: tuple[str, ...]

    @property
    def short(self) -> str:
        """The first sentence of the help."""
        return first_sentence(self.help)


def group_of(name: str) -> str:
    """Return the heading under which --help lists a command; a hidden one has its parent's."""
    listed = HIDDEN.get(name, name)
    [group] = [title for title, names in GROUPS.items() if listed in names]
    return group


def manuals() -> list[Manual]:
    """Return each command, in the order of --help; those that it does not list come last."""
    os.environ["COLUMNS"] = "80"  # the width of a usage
    found = []
    for command in all_commands():
        parser = CommandParser(prog=f"peakline {command.name}")
        command.add_arguments(parser)
        found.append(
            Manual(
                command.name,
                group_of(command.name),
                command.help,
                parser.format_usage().removeprefix("usage: ").rstrip(),
                dict(_sections(parser)),
                tuple(command.examples.splitlines()),
                tuple(see_also(command.name)) or tuple(filter(None, [HIDDEN.get(command.name)])),
            )
        )
    return found


def _sections(parser: CommandParser) -> Iterator[tuple[str, tuple[Entry, ...]]]:
    formatter = parser._get_formatter()
    for group in parser._action_groups:
        shown = [one for one in group._group_actions if one.help != argparse.SUPPRESS]
        entries = tuple(Entry(_forms(one, formatter), _help(one, formatter)) for one in shown)
        if entries and group.title:
            yield group.title, entries


def _forms(action: argparse.Action, formatter: argparse.HelpFormatter) -> tuple[str, ...]:
    if not action.option_strings:
        [form] = formatter._metavar_formatter(action, action.dest)(1)
        return (form,)
    if action.nargs == 0:
        return tuple(action.option_strings)
    value = formatter._format_args(action, action.dest.upper())
    return tuple(f"{name} {value}" for name in action.option_strings)


def _help(action: argparse.Action, formatter: argparse.HelpFormatter) -> str:
    return " ".join(formatter._expand_help(action).split())
