"""The argument parser: errors show the usage of the command, and suggest the intended word."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from peakline.base.output import did_you_mean, say
from peakline.commands.shared.groups import overview

_USAGE_LINES = 2  # of a usage that an error shows whole


class CommandParser(argparse.ArgumentParser):
    """The parser of one command, or of `peakline` itself."""

    def __init__(
        self,
        *,
        examples: str = "",
        see_also: Sequence[str] = (),
        add_arguments: Callable[[argparse.ArgumentParser], None] | None = None,
        **kwargs: Any,
    ) -> None:
        """Take `examples`, lines at the end of --help, and related commands, named above them.

        `add_arguments` runs only when this command is parsed: it may need the report engine, which
        the other commands and `peakline --help` do not load.
        """
        self._add_arguments = add_arguments
        related = ", ".join(f"peakline {name}" for name in see_also)
        lines = [f"See also: {related}\n"] * bool(see_also)
        lines += ["Example:", *(f"  {line}" for line in examples.splitlines())] * bool(examples)
        super().__init__(
            epilog="\n".join(lines) or None,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            add_help=False,
            **kwargs,
        )
        self._positionals.title, self._optionals.title = "Arguments", "Options"
        self.add_argument("-h", "--help", action="help", help="Show this help and exit")

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Refuse unknown words here, where the usage is that of the command."""
        if self._add_arguments is not None:
            self._add_arguments(self)
            self._add_arguments = None
        found, unknown = super().parse_known_args(args, namespace)
        self._fill_late_positionals(found, unknown)
        if unknown:
            self.error(self._unknown_text(unknown[0]))
        return found, []

    def _fill_late_positionals(self, found: Any, unknown: list[str]) -> None:
        """Assign words that follow options to arguments that may be left out.

        argparse decides at the first option that such an argument is absent.
        """
        for action in self._get_positional_actions():
            given = getattr(found, action.dest, None)
            if action.nargs == "?" and given is action.default and _begins_with_word(unknown):
                setattr(found, action.dest, unknown.pop(0))
            while action.nargs == "*" and not given and _begins_with_word(unknown):
                setattr(found, action.dest, [*getattr(found, action.dest), unknown.pop(0)])

    def _unknown_text(self, word: str) -> str:
        name = word.split("=")[0]
        if not name.startswith("-"):
            return f"'{word}' is one argument too many"
        options = [option for option in self._option_string_actions if option.startswith("--")]
        return f"{self.prog} has no option {name}{did_you_mean(name, options)}"

    def error(self, message: str) -> NoReturn:
        """Print a short usage and the message, and exit with 2."""
        say(*self._short_usage(), f"peakline: error: {message}")
        self.exit(2)

    def _short_usage(self) -> list[str]:
        """Return the usage; a long one without its options, so that the message stands out."""
        lines = self.format_usage().splitlines()
        if len(lines) <= _USAGE_LINES:
            return lines
        formatter = self._get_formatter()
        formatter.add_usage(None, self._get_positional_actions(), [])
        start = f"usage: {self.prog}"
        words = formatter.format_help().strip().removeprefix(start)
        return [f"{start} [options]{words}    ({self.prog} --help shows them)"]

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse a value that is no choice, with the nearest one."""
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            near = did_you_mean(str(value), map(str, action.choices or ()))
            raise argparse.ArgumentError(action, f"{error.message}{near}") from None


class MainParser(CommandParser):
    """The parser of `peakline` itself; its help lists the commands in groups."""

    def __init__(self, help_of: Mapping[str, str], **kwargs: Any) -> None:
        """Take the help of each command."""
        super().__init__(**kwargs)
        self._help_of = help_of

    def format_help(self) -> str:
        """Return the help of all commands."""
        return overview(self.format_usage(), self.description or "", self._help_of)


def _begins_with_word(words: Sequence[str]) -> bool:
    return bool(words) and not words[0].startswith("-")


def refuse_option(parser: argparse.ArgumentParser, option: str, reason: str) -> None:
    """Give a reason when this command lacks an option that other commands have."""

    class Refusal(argparse.Action):
        def __call__(self, parser: argparse.ArgumentParser, *_: Any, **__: Any) -> None:
            parser.error(f"{option} cannot apply: {reason}")

    parser.add_argument(option, action=Refusal, nargs="?", help=argparse.SUPPRESS)
