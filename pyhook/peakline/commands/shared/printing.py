"""Prints the report of every file, as text or as JSON."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from peakline.base.files import reading
from peakline.base.next_commands import shell_words, suggest_for
from peakline.base.output import write_lines, write_report
from peakline.text.document import write_document
from peakline.text.terminal import terminal_of

if TYPE_CHECKING:
    from peakline._report import Options


def print_reports(args: argparse.Namespace, name: str, options: Options) -> None:
    """Print the report of this name for every file.

    Text reports follow each other; JSON is one document.
    """
    files: list[str] = args.files
    if args.json:
        documents = []
        for path in files:
            with reading(path) as trace:
                documents.append(trace.report(name, json=True, **options))
        write_report(documents[0] if len(documents) == 1 else "[" + ",\n".join(documents) + "]")
        write_lines("")
        return
    terminal = terminal_of(sys.stdout, is_plain=args.plain, has_color=not args.no_color)
    for index, path in enumerate(files):
        with reading(path) as trace:
            document = trace.document(name, **options)
        if len(files) > 1:
            write_lines(*([""] if index else []), f"{path}:")
        write_document(document, sys.stdout, terminal, all_rows_command(args.words))


def all_rows_command(words: Sequence[str]) -> str:
    """Return the typed command, changed to show all rows."""
    kept: list[str] = []
    for word in words:
        if kept[-1:] == ["--top"]:
            kept.pop()
        elif not word.startswith("--top="):
            kept.append(word)
    return shell_words(["peakline", *kept, "--top", "0"])


def suggest(args: argparse.Namespace, command: str) -> None:
    """End a text report on a terminal with the command to type next."""
    if not args.json:
        suggest_for(args.files[0], command)
