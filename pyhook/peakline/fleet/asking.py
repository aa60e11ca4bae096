"""Sends a question, or SQL, to an engine; answers are rows with plain values."""

from __future__ import annotations

import decimal
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from peakline.fleet import schema
from peakline.fleet.engines import Engine, FleetError, Progress, is_url, look_for_tables
from peakline.fleet.questions import NEWEST_VERSIONS, Asked, Question, conditions_of, sql_of

_SPANS = {"h": "hours", "d": "days", "w": "weeks"}


@dataclass(frozen=True)
class Answered:
    """The answer to a question: its rows, and the final form of the request."""

    asked: Asked
    rows: list[dict[str, Any]]


def open_engine(
    name: str, fleet: str, *, master: str = "", progress: Progress | None = None
) -> Engine:
    """Open a fleet with "duckdb" or "spark".

    `progress` is called with the finished fraction of a DuckDB query; if it is given, Spark draws
    its own bar.

    Raises:
        FleetError: there are no tables, or they cannot be read.
        ImportError: the engine is not installed.
    """
    if not is_url(fleet):
        from peakline.fleet.compaction import finish

        finish(Path(fleet))
    look_for_tables(fleet, tuple(schema.TABLES))
    if name == "spark":
        from peakline.fleet.spark_engine import SparkEngine

        return SparkEngine(fleet, master, shows_progress=progress is not None)
    from peakline.fleet.duckdb_engine import DuckDBEngine

    return DuckDBEngine(fleet, progress)


def answer(engine: Engine, question: Question, asked: Asked) -> Answered:
    """Answer a named question; a comparison without two versions takes the two newest.

    Raises:
        FleetError: the question has no answer.
    """
    if question.compares:
        asked = replace(asked, versions=_compared(engine, asked))
    found = engine.ask(*sql_of(question, asked))
    return Answered(asked, [_plain_row(row) for row in found.dictionaries()])


def answer_sql(engine: Engine, sql: str) -> list[dict[str, Any]]:
    """Return the rows of a query on ranks, sites, phases and groups.

    Raises:
        FleetError: the query does more than read, or the engine refuses it.
    """
    engine.need_query(sql)
    return [_plain_row(row) for row in engine.ask(sql, {}).dictionaries()]


def _compared(engine: Engine, asked: Asked) -> Sequence[str]:
    if len(asked.versions) == 2:
        return asked.versions
    if asked.versions:
        raise FleetError("two versions are compared: name both, --version BEFORE --version AFTER")
    conditions, values = conditions_of(asked)
    sql = NEWEST_VERSIONS.replace("{conditions}", conditions)
    found = [str(row[0]) for row in engine.ask(sql, values).rows]
    if len(found) < 2:
        raise FleetError(
            f"there are {len(found)} versions to compare, and two are needed: export each with"
            " --label version=NAME (without it the commit of the program is its version)"
        )
    return found[::-1]


def _plain_row(row: dict[str, Any]) -> dict[str, Any]:
    return {name: _plain(value) for name, value in row.items()}


def _plain(value: Any) -> Any:
    """Return a value in a form that JSON has."""
    if isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


def time_of(text: str, now: datetime | None = None) -> str:
    """Return the UTC time, in SQL form, of "2030-01-31", "2030-01-31 12:00", "24h" or "7d" ago.

    Raises:
        ValueError: the text is none of these.
    """
    count, unit = text[:-1], text[-1:]
    if unit in _SPANS and count.isdigit():
        now = now or datetime.now(timezone.utc)
        found = now - timedelta(**{_SPANS[unit]: int(count)})
    else:
        found = datetime.fromisoformat(text)
    if found.tzinfo is not None:
        found = found.astimezone(timezone.utc)
    return found.strftime("%Y-%m-%d %H:%M:%S")
