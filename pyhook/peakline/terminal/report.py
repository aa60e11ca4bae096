"""Decides whether a report is laid out for a terminal, and does it: rich is loaded only then."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from peakline.base.common import CommandError, progress_bar, report_engine, shell_words
from peakline.base.output import write_report
from peakline.terminal.terminal import Terminal, terminal_of

if TYPE_CHECKING:
    from peakline._report import Options, Trace

_END = "the program was killed or interrupted:"  # as the engine begins its note


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


def show_table(trace: Trace, stream: TextIO, options: Options, *, says_end: bool = True) -> None:
    """Write the table of a trace: in columns on a terminal, else in its literal form.

    Where the caller has said how the program ended, `says_end` is false.
    """
    terminal = terminal_of(stream)
    if terminal is None:
        lines = trace.report("table", **options).splitlines(keepends=True)
        write_report("".join(line for line in lines if says_end or _END not in line), stream)
    else:
        parts = dict(trace.parts("table", **options))
        parts["notes"] = [one for one in parts["notes"] if says_end or _END not in one["text"]]
        _show(parts, "table", terminal, "")


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
    engine = report_engine()
    try:
        with progress_bar(path) as progress:
            trace = engine.Trace(path, progress)
            _show(trace.parts(name, **options), name, terminal, command)
    except engine.TraceError as error:
        raise CommandError(str(error)) from error


def _show(parts: Mapping[str, Any], name: str, terminal: Terminal, command: str) -> None:
    from peakline.terminal.table import show_parts

    show_parts(name, parts, terminal, command)
