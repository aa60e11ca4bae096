"""Makes the completion scripts of bash, zsh and fish from the parsers of the commands.

The scripts need nothing of peakline when they run: a key press must not wait for Python. Words for
which nothing is known are completed as file names.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Option:
    """An option: its names, its help in short, whether a value follows, and known values."""

    names: tuple[str, ...]
    help: str
    takes_value: bool
    values: tuple[str, ...]


@dataclass(frozen=True)
class Words:
    """A command's help and options, and words for its first argument (none: a file)."""

    help: str
    options: tuple[Option, ...]
    first: tuple[str, ...] = ()


def options_of(
    parser: argparse.ArgumentParser, known: Mapping[str, Sequence[str]]
) -> tuple[Option, ...]:
    """Return the options that --help lists; `known` are values of options without choices."""
    found = []
    for action in parser._actions:
        if not action.option_strings or action.help == argparse.SUPPRESS:
            continue
        names = tuple(action.option_strings)
        values = action.choices or known.get(names[-1], ())
        text = " ".join((action.help or "").replace("%%", "%").split())
        takes_value = action.nargs != 0
        found.append(Option(names, text, takes_value, tuple(map(str, values))))
    return tuple(found)


def script_of(shell: str, commands: Mapping[str, Words]) -> str:
    """Return the script for a shell of `SHELLS`."""
    return SHELLS[shell](commands)


def _bash(commands: Mapping[str, Words]) -> str:
    return f"""\
# Completion of peakline for bash, made by: peakline completion bash
_peakline() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}}
    local command=${{COMP_WORDS[1]}} found=
    COMPREPLY=()
    if [[ $word == = ]]; then
        word=
    elif [[ $before == = ]]; then
        before=${{COMP_WORDS[COMP_CWORD - 2]}}
    fi
    if ((COMP_CWORD == 1)); then
        found={shlex.quote(" ".join(commands))}
    else
{_cases(commands, "        ")}
    fi
    # Without words of ours, bash completes names of files.
    if [[ -n $found ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$found" -- "$word")
    fi
}}
complete -o bashdefault -o default -F _peakline peakline
"""


def _zsh(commands: Mapping[str, Words]) -> str:
    return f"""\
#compdef peakline
# Completion of peakline for zsh, made by: peakline completion zsh
_peakline() {{
    local word=${{words[CURRENT]}} before=${{words[CURRENT - 1]}} command=${{words[2]}} found=
    if ((CURRENT == 2)); then
        found={shlex.quote(" ".join(commands))}
    else
{_cases(commands, "        ", count="CURRENT == 3")}
    fi
    if [[ -n $found ]]; then
        compadd -- ${{=found}}
    else
        _files
    fi
}}
if [[ ${{funcstack[1]}} == _peakline ]]; then
    _peakline "$@"
else
    compdef _peakline peakline
fi
"""


def _cases(commands: Mapping[str, Words], indent: str, count: str = "COMP_CWORD == 2") -> str:
    """Return the statements of bash and zsh that set `found` behind a command."""
    lines = ["case ${command}:${before} in"]
    for name, words in commands.items():
        for option in words.options:
            if option.takes_value:
                pattern = "|".join(f"{name}:{one}" for one in option.names)
                lines.append(f"    {pattern}) found={shlex.quote(' '.join(option.values))} ;;")
    lines += ["    *)", "        if [[ $word == -* ]]; then", "            case $command in"]
    for name, words in commands.items():
        listed = " ".join(option for one in words.options for option in one.names)
        lines.append(f"                {name}) found={shlex.quote(listed)} ;;")
    lines += ["            esac", f"        elif (({count})); then", "            case $command in"]
    for name, words in commands.items():
        if words.first:
            lines.append(f"                {name}) found={shlex.quote(' '.join(words.first))} ;;")
    lines += ["            esac", "        fi", "        ;;", "esac"]
    return "\n".join(f"{indent}{line}" for line in lines)


def _fish(commands: Mapping[str, Words]) -> str:
    lines = ["# Completion of peakline for fish, made by: peakline completion fish"]
    for name, words in commands.items():
        help_text = _fish_quoted(words.help)
        lines.append(f"complete -c peakline -n __fish_use_subcommand -f -a {name} -d {help_text}")
    for name, words in commands.items():
        start = f"complete -c peakline -n '__fish_seen_subcommand_from {name}'"
        lines += [f"{start} {option}" for option in map(_fish_option, words.options)]
        if words.first:
            lines.append(f"{start} -a {_fish_quoted(' '.join(words.first))}")
    return "\n".join(lines) + "\n"


def _fish_option(option: Option) -> str:
    parts = list(_fish_names(option.names))
    if option.values:
        parts.append(f"-x -a {_fish_quoted(' '.join(option.values))}")
    elif option.takes_value:
        parts.append("-r")
    return " ".join([*parts, "-d", _fish_quoted(option.help.partition(". ")[0])])


def _fish_names(names: Sequence[str]) -> Iterator[str]:
    for name in names:
        yield f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SHELLS: Mapping[str, Callable[[Mapping[str, Words]], str]] = {
    "bash": _bash,
    "zsh": _zsh,
    "fish": _fish,
}
