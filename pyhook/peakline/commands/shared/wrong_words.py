"""Suggests a command for a command line that does not begin with one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from peakline.base.next_commands import shell_words
from peakline.base.output import did_you_mean

_TRACE_ENDINGS = (".peak", ".peak.zst")
_ATTACH = (
    "peakline cannot attach to a running program: start it with peakline run; then peakline live"
    " PID shows the memory that it holds"
)


def asks_for_help(words: Sequence[str]) -> list[str]:
    """Return the words with `help COMMAND` as `COMMAND --help`, and no words as `--help`."""
    if not words:
        return ["--help"]
    return [*words[1:2], "--help"] if words[:1] == ["help"] else list(words)


def problem_of_words(words: Sequence[str], known: Sequence[str]) -> str:
    """Return the reason why the words begin with no command, and a suggestion; '' if they do."""
    if not words or words[0] in (*known, "-h", "--help", "--version"):
        return ""
    first, rest = words[0], shell_words(words[1:])
    if first.startswith("-"):
        return _problem_of_option(words, known)
    if first == "attach":
        return _ATTACH
    typed = shell_words([first])
    if first.endswith(_TRACE_ENDINGS):
        return f"{first} is a trace: peakline table {typed}, or html, tree, summary ..."
    if first.endswith(".py") or (Path(first).is_file() and not did_you_mean(first, known)):
        return f"{first} is no command; to record it: peakline run {typed} {rest}".rstrip()
    if Path(first).is_dir():
        return f"{first} is a folder; of the newest run in it: peakline table {typed}"
    near = did_you_mean(first, known)
    return f"there is no command '{first}'{near or '; peakline --help lists them'}"


def _problem_of_option(words: Sequence[str], known: Sequence[str]) -> str:
    """Return the corrected order if options precede the command, else ''."""
    at = next((number for number, word in enumerate(words) if word in known), 0)
    if not at:
        return ""
    moved = shell_words([words[at], *words[:at], *words[at + 1 :]])
    return f"options follow the command: peakline {moved}"
