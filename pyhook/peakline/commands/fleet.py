"""``peakline fleet``: questions about many runs, answered by DuckDB or Spark."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peakline.base.engine import CommandError
from peakline.base.files import terminal_bar
from peakline.base.next_commands import shortener, terminal_width
from peakline.base.output import did_you_mean, write_json, write_lines
from peakline.base.sizes import size_of
from peakline.commands.shared.report_options import row_count
from peakline.fleet.engines import Engine, FleetError, Progress, count_files, is_url
from peakline.fleet.questions import QUESTIONS, Asked, Question

if TYPE_CHECKING:
    from peakline.fleet.asking import Answered

NAME = "fleet"
HELP = "Ask about many runs: waste, growth by version, near limits."
EXAMPLES = (
    "peakline fleet fleet/ waste\n"
    "peakline fleet fleet/ regressions --version 1.4.1 --version 1.4.2\n"
    'peakline fleet fleet/ --sql "select version, max(peak_bytes) from ranks group by version"\n'
    "peakline fleet s3a://bucket/fleet gb-hours --engine spark --master spark://host:7077"
)
_SCHEMA_VERSION = 1
_TOP = 20
_MANY_FILES = 2000
_MODULES = {"duckdb": "duckdb", "spark": "pyspark"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument(
        "fleet",
        metavar="FLEET",
        help="Folder of tables that `peakline export parquet --tables` wrote, or one in an object"
        " store: s3://, gs:// ...",
    )
    listed = "; ".join(f"{one.name}: {one.asks}" for one in QUESTIONS.values())
    parser.add_argument("question", metavar="QUESTION", nargs="?", help=listed)
    parser.add_argument(
        "--sql", metavar="QUERY", help="Ask this of the tables ranks, sites, phases and groups"
    )
    parser.add_argument(
        "--since",
        type=_time,
        metavar="TIME",
        help="Count only runs that began since then: a date (UTC), or 24h, 7d, 2w ago",
    )
    parser.add_argument(
        "--version",
        action="append",
        default=[],
        metavar="NAME",
        help="Count only runs of this version, may be given several times; for regressions the old"
        " one, then the new one (default: the two newest)",
    )
    parser.add_argument(
        "--by", choices=("line", "function"), default="", help="Rows are lines or functions"
    )
    parser.add_argument(
        "--near",
        type=_percent,
        default=0.9,
        metavar="PERCENT",
        help="For limits: show jobs that use this much of a device (default: 90)",
    )
    parser.add_argument(
        "--top", type=row_count, metavar="N", help=f"Show N rows, 0: all (default: {_TOP})"
    )
    parser.add_argument("--json", action="store_true", help="Print JSON, by default with all rows")
    parser.add_argument(
        "--engine",
        choices=tuple(_MODULES),
        default="duckdb",
        help="Use this engine: duckdb in this process, or spark (default: duckdb)",
    )
    parser.add_argument(
        "--master",
        default="",
        metavar="URL",
        help="Cluster that Spark works on (default: all cores of this machine)",
    )
    parser.add_argument(
        "--compact",
        action="store_true",
        help="Join the small files of the tables to few large ones, which are read faster",
    )


def _time(text: str) -> str:
    from peakline.fleet.asking import time_of

    try:
        return time_of(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"'{text}' is no time: 2030-01-31, '2030-01-31 12:00', 24h, 7d, 2w"
        ) from None


def _percent(text: str) -> float:
    number = text.removesuffix("%")
    if not number.isdigit() or int(number) > 100:
        raise argparse.ArgumentTypeError(f"'{text}' is no percentage from 0 to 100")
    return int(number) / 100


def run(args: argparse.Namespace) -> int:
    """Answer a question, or compact the fleet."""
    question = _question_of(args)
    try:
        if args.compact:
            _compact(args.fleet)
        if question is None and args.sql is None:
            if not args.compact:
                _list_questions(args.fleet)
            return 0
        found = _ask(args, question)
    except FleetError as error:
        raise CommandError(str(error)) from error
    if question is None:
        _show_rows(args, found.rows)
    else:
        _show(args, question, found)
    if not args.json and (files := count_files(args.fleet)) >= _MANY_FILES:
        write_lines(
            f"These are {files:,} files; quicker next: peakline fleet {args.fleet} --compact"
        )
    return 0


def _ask(args: argparse.Namespace, question: Question | None) -> Answered:
    of_store = ("fsspec",) if args.engine == "duckdb" and is_url(args.fleet) else ()
    _need_packages(_MODULES[args.engine], *of_store)
    from peakline.fleet.asking import Answered, answer, answer_sql

    asked = Asked(args.since, tuple(args.version), args.by, args.near, _rows_shown(args))
    with _asking(args.engine) as progress, _opened(args, progress) as engine:
        if question is None:
            return Answered(asked, answer_sql(engine, args.sql))
        return answer(engine, question, asked)


def _rows_shown(args: argparse.Namespace) -> int:
    if args.top is not None:
        return int(args.top)
    return 0 if args.json else _TOP


def _question_of(args: argparse.Namespace) -> Question | None:
    if args.question is None:
        return None
    if args.sql is not None:
        raise CommandError("name a question or give --sql, not both")
    found = QUESTIONS.get(args.question)
    if found is None:
        near = did_you_mean(args.question, QUESTIONS)
        listed = "; there are: " + ", ".join(QUESTIONS) + "; or --sql"
        raise CommandError(f"no question is called '{args.question}'{near or listed}")
    if args.by and not found.default_by:
        raise CommandError(f"--by is about lines, and {found.name} has none")
    return found


def _need_packages(*modules: str) -> None:
    for module in ("pyarrow", *modules):
        if importlib.util.find_spec(module) is None:
            extra = "spark" if module == "pyspark" else "fleet"
            raise CommandError(f"this is done with {module}; type: pip install 'peakline[{extra}]'")


def _list_questions(fleet: str) -> None:
    width = max(map(len, QUESTIONS))
    for one in QUESTIONS.values():
        write_lines(f"{one.name:<{width}}  {one.asks}")
    write_lines("", f"Type: peakline fleet {fleet} {next(iter(QUESTIONS))}, or --sql QUERY")


def _compact(fleet: str) -> None:
    _need_packages()
    from peakline.fleet.compaction import compact
    from peakline.fleet.engines import look_for_tables
    from peakline.fleet.schema import TABLES

    if is_url(fleet):
        raise FleetError(f"{fleet}: only folders are compacted; compact before you upload")
    look_for_tables(fleet, tuple(TABLES))
    with terminal_bar("Compacting", 1, "TimeElapsedColumn") as progress:
        done = compact(Path(fleet), progress or (lambda _: None))
    if done.bytes_after:
        write_lines(
            f"Joined {done.files_before:,} files to {done.files_after:,}"
            f" ({size_of(done.bytes_after)})"
        )
    else:
        write_lines("There are no small files to join")


@contextmanager
def _opened(args: argparse.Namespace, progress: Progress | None) -> Iterator[Engine]:
    from peakline.fleet.asking import open_engine

    engine = open_engine(args.engine, args.fleet, master=args.master, progress=progress)
    try:
        yield engine
    finally:
        engine.close()


def _show(args: argparse.Namespace, question: Question, found: Answered) -> None:
    asked = found.asked
    if args.json:
        facts = {"question": question.name, "since": asked.since, "versions": list(asked.versions)}
        _print_json(args, {**facts, "by": (asked.by or question.default_by) or None}, found.rows)
        return
    from peakline.fleet.text import answer_text

    write_lines(question.asks)
    if question.compares:
        before, after = asked.versions
        write_lines(f"From version {before} to {after}")
    if not found.rows:
        write_lines(f"None: {question.nothing}")
        return
    write_lines("")
    width = terminal_width(sys.stdout) or 0
    write_lines(*answer_text(question, found.rows, width, shortener(width)))
    if asked.top and len(found.rows) == asked.top:
        write_lines("... (--top 0 shows all)")


def _show_rows(args: argparse.Namespace, rows: list[dict[str, Any]]) -> None:
    if args.json:
        _print_json(args, {}, rows)
        return
    from peakline.fleet.text import rows_text

    top = _rows_shown(args)
    write_lines(*rows_text(rows[:top] if top else rows))
    if top and len(rows) > top:
        write_lines(f"... ({len(rows) - top:,} more rows; --top 0 shows all)")


def _print_json(
    args: argparse.Namespace, facts: dict[str, Any], rows: list[dict[str, Any]]
) -> None:
    head = {"schema_version": _SCHEMA_VERSION, "fleet": args.fleet, "engine": args.engine}
    write_json({**head, **facts, "rows": rows}, indent=1)


@contextmanager
def _asking(engine: str) -> Iterator[Progress | None]:
    """Show the progress of DuckDB; Spark shows its own on a terminal."""
    if engine == "spark":
        yield (lambda _: None) if sys.stderr.isatty() else None
        return
    with terminal_bar("Asking DuckDB", 1, "TimeElapsedColumn") as progress:
        yield progress
