"""Suggests what to type for words that are no command, or no trace."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from peakline.base.files import TRACE_ENDINGS
from peakline.base.next_commands import shell_words
from peakline.base.output import did_you_mean


def asks_for_help(words: Sequence[str]) -> list[str]:
    """Return the words with `help COMMAND` as `COMMAND --help`, and no words as `--help`."""
    given = list(words) or ["help"]
    return [*given[1:2], "--help"] if given[0] == "help" else given


def problem_of_words(words: Sequence[str], known: Sequence[str]) -> str:
    """Return the reason why the words begin with no command, and a suggestion; '' if they do."""
    if not words or words[0] in ("-h", "--help", "--version"):
        return ""
    if words[0] in known:
        return _problem_of_export(words)
    first, rest = words[0], shell_words(words[1:])
    if first.startswith("-"):
        return _problem_of_option(words, known)
    typed = shell_words([first])
    if first.endswith(TRACE_ENDINGS):
        return f"{first} is a trace: peakline table {typed}, or html, tree, summary ..."
    if first.endswith(".py") or (Path(first).is_file() and not did_you_mean(first, known)):
        return f"{first} is no command; to record it: peakline run {typed} {rest}".rstrip()
    if Path(first).is_dir():
        return f"{first} is a folder; of the newest run in it: peakline table {typed}"
    near = did_you_mean(first, known)
    return f"there is no command '{first}'{near or '; peakline --help lists them'}"


def problem_of_file(word: str) -> str:
    """Return the reason why a word is no trace to read, and a suggestion; '' if it may be one."""
    path = Path(word)
    if path.suffix == ".py" and path.is_file():
        return f"{word} is a program, no trace; to record it: peakline run {shell_words([word])}"
    try:
        beside = [] if path.exists() else [one.name for one in path.parent.iterdir()]
    except OSError:
        return ""  # whoever opens the file reports why
    near = did_you_mean(path.name, [name for name in beside if name.endswith(TRACE_ENDINGS)])
    return f"{word} does not exist{near}" if near else ""


def _problem_of_option(words: Sequence[str], known: Sequence[str]) -> str:
    """Return the corrected order of words that begin with an option."""
    at = next((number for number, word in enumerate(words) if word in known), None)
    if at is not None:
        moved = shell_words([words[at], *words[:at], *words[at + 1 :]])
        return f"options follow the command: peakline {moved}"
    typed = shell_words(words)
    for word in words:
        if word.endswith(TRACE_ENDINGS):
            return f"the command is missing, such as table: peakline table {typed}"
        if word.endswith(".py"):
            return f"the command is missing: peakline run {typed}"
    return (
        f"options follow a command, as in peakline run {words[0]} ...; peakline --help lists the"
        " commands"
    )


def _problem_of_export(words: Sequence[str]) -> str:
    """Return a correction if export got a trace instead of a format, else ''."""
    if words[0] != "export" or len(words) != 2 or not words[1].endswith(TRACE_ENDINGS):
        return ""
    return f"the format comes first: peakline export speedscope {shell_words(words[1:])}"
