"""Prints the report of every file: laid out on a terminal, as text for a pipe, as JSON."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from peakline.base.files import reading
from peakline.base.next_commands import shell_words, suggest_for
from peakline.base.output import write_lines, write_report
from peakline.terminal.terminal import Terminal, terminal_of

if TYPE_CHECKING:
    from peakline._report import Options

_ASCII_BLOCKS = str.maketrans("▁▂▃▄▅▆▇█", "..::==##")


def print_reports(args: argparse.Namespace, name: str, options: Options) -> None:
    """Print the report of this name for every file.

    Text stands one after the other, JSON is one document.
    """
    files: list[str] = args.files
    if args.json:
        documents = [_make_report(path, name, True, options) for path in files]
        write_report(documents[0] if len(documents) == 1 else "[" + ",\n".join(documents) + "]")
        write_lines("")
        return
    for index, path in enumerate(files):
        report = _make_report(path, name, False, options)
        if len(files) > 1:
            write_lines(*([""] if index else []), f"{path}:")
        write_report(_for_stream(report, sys.stdout))


def _for_stream(text: str, stream: TextIO) -> str:
    """Draw charts with ASCII where the stream has no blocks."""
    try:
        text.encode(stream.encoding or "utf-8")
    except UnicodeEncodeError:
        return text.translate(_ASCII_BLOCKS)
    return text


def _make_report(path: str, name: str, as_json: bool, options: Options) -> str:
    with reading(path) as trace:
        return trace.report(name, json=as_json, **options)


def show_reports(args: argparse.Namespace, name: str, options: Options) -> bool:
    """Show the report of every file on the terminal; False where standard output is none."""
    if args.json:
        return False
    terminal = terminal_of(sys.stdout, is_plain=args.plain, has_color=not args.no_color)
    if terminal is None:
        return False
    for index, path in enumerate(args.files):
        if len(args.files) > 1:
            _show_name(path, terminal, is_first=index == 0)
        _show_file(path, name, options, terminal, all_rows_command(args.words))
    return True


def _show_name(path: str, terminal: Terminal, *, is_first: bool) -> None:
    if not is_first:
        terminal.console.print()
    terminal.console.print(terminal.marks.shown(f"{path}:"), soft_wrap=True)


def all_rows_command(words: Sequence[str]) -> str:
    """Return the command that was typed, as it shows all rows."""
    kept: list[str] = []
    for word in words:
        if kept[-1:] == ["--top"]:
            kept.pop()
        elif not word.startswith("--top="):
            kept.append(word)
    return shell_words(["peakline", *kept, "--top", "0"])


def _show_file(path: str, name: str, options: Options, terminal: Terminal, command: str) -> None:
    from peakline.terminal.table import show_parts

    with reading(path) as trace:
        show_parts(name, trace.parts(name, **options), terminal, command)


def suggest(args: argparse.Namespace, command: str) -> None:
    """End a text report with the command to type next, away from piped output."""
    if not args.json:
        suggest_for(args.files[0], command)
