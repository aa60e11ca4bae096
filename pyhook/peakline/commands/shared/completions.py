"""Makes the completion scripts of bash, zsh and fish from the parsers of the commands.

The scripts need nothing of peakline when they run: a key press must not wait for Python. Only the
phases of a trace that the line names come from peakline. Words for which nothing is known are
completed as file names.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Option:
    """An option: its names, its help in short, whether a value follows, and known values.

    `phases` are further values, for lines without a trace: it has phases of its own.
    """

    names: tuple[str, ...]
    help: str
    takes_value: bool
    values: tuple[str, ...]
    phases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Words:
    """A command's help and options, and words for its first argument (none: a file)."""

    help: str
    options: tuple[Option, ...]
    first: tuple[str, ...] = ()


def options_of(
    parser: argparse.ArgumentParser,
    known: Mapping[str, Sequence[str]],
    phases: Mapping[str, Sequence[str]],
) -> tuple[Option, ...]:
    """Return the options that --help lists.

    `known` are values of options without choices, `phases` those of options that take a phase.
    """
    found = []
    for action in parser._actions:
        if not action.option_strings or action.help == argparse.SUPPRESS:
            continue
        names = tuple(action.option_strings)
        values = action.choices or known.get(names[-1], ())
        text = " ".join((action.help or "").replace("%%", "%").split())
        takes_value = action.nargs != 0
        of_trace = tuple(phases.get(names[-1], ()))
        found.append(Option(names, text, takes_value, tuple(map(str, values)), of_trace))
    return tuple(found)


def script_of(shell: str, commands: Mapping[str, Words]) -> str:
    """Return the script for a shell of `SHELLS`."""
    return SHELLS[shell](commands)


# Functions of bash and zsh, which is asked with the words behind a command.
_PHASES_OF_TRACE = """\
# Prints the phases of the first trace among the words, else $1.
_peakline_phases() {
    local file usual=$1
    shift
    for file in "$@"; do
        if [[ $file == *.peak* && -f $file ]]; then
            peakline completion --phases "$file" 2>/dev/null && return
        fi
    done
    echo "$usual"
}"""


def _bash(commands: Mapping[str, Words]) -> str:
    return f"""\
# Completion of peakline for bash, made by: peakline completion bash
{_PHASES_OF_TRACE}
_peakline() {{
    local at=$COMP_CWORD command=${{COMP_WORDS[1]}} found= phases= start=
    local word=${{COMP_WORDS[at]}}
    COMPREPLY=()
    # bash takes @ and = for words: forward@3 is three of them.
    if [[ $word == @ ]]; then
        start=${{COMP_WORDS[--at]}}@ word=
    elif ((at > 2)) && [[ ${{COMP_WORDS[at - 1]}} == @ ]]; then
        start=${{COMP_WORDS[at -= 2]}}@
    fi
    if [[ $word == = ]]; then
        word=
    elif ((at > 2)) && [[ ${{COMP_WORDS[at - 1]}} == = ]]; then
        at=$((at - 1))
    fi
    local before=${{COMP_WORDS[at - 1]}}
    if ((COMP_CWORD == 1)); then
        found={shlex.quote(" ".join(commands))}
    else
{_cases(commands, "        ")}
    fi
    if [[ -n $phases ]]; then
        found+=" $(_peakline_phases "$phases" "${{COMP_WORDS[@]:2}}")"
    fi
    # Without words of ours, bash completes names of files.
    if [[ -n $found ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$found" -- "$start$word")
        COMPREPLY=("${{COMPREPLY[@]#"$start"}}")
    fi
}}
complete -o bashdefault -o default -F _peakline peakline
"""


def _zsh(commands: Mapping[str, Words]) -> str:
    return f"""\
#compdef peakline
# Completion of peakline for zsh, made by: peakline completion zsh
{_PHASES_OF_TRACE}
_peakline() {{
    local word=${{words[CURRENT]}} before=${{words[CURRENT - 1]}} command=${{words[2]}}
    local found= phases=
    if ((CURRENT == 2)); then
        found={shlex.quote(" ".join(commands))}
    else
{_cases(commands, "        ", count="CURRENT == 3")}
    fi
    if [[ -n $phases ]]; then
        found+=" $(_peakline_phases "$phases" "${{(@Q)words[3,-1]}}")"
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
                found = f"found={shlex.quote(' '.join(option.values))}"
                if option.phases:
                    found += f" phases={shlex.quote(' '.join(option.phases))}"
                lines.append(f"    {pattern}) {found} ;;")
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


_FISH_PHASES = """\
# Prints the phases of the first trace in the line, else the arguments.
function _peakline_phases
    for file in (commandline -opc)
        if string match -q '*.peak*' -- $file; and test -f $file
            peakline completion --phases $file 2>/dev/null; and return
        end
    end
    printf '%s\\n' $argv
end"""


def _fish(commands: Mapping[str, Words]) -> str:
    lines = ["# Completion of peakline for fish, made by: peakline completion fish", _FISH_PHASES]
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
    if option.phases:
        values = " ".join([*option.values, f"(_peakline_phases {' '.join(option.phases)})"])
        parts.append(f"-x -a {_fish_quoted(values)}")
    elif option.values:
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
