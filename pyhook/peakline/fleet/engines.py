"""The two engines that answer SQL about a fleet: DuckDB in this process, Spark here or elsewhere.

Everything they read differently is in this file; questions and views are written once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

Values = Mapping[str, "str | float"]
Progress = Callable[[float], object]  # called with the part that is done


class FleetError(Exception):
    """A question that allows no answer; the text says what to do now."""


@dataclass(frozen=True)
class Answer:
    """Rows as an engine gives them."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]

    def dictionaries(self) -> list[dict[str, Any]]:
        """Return the rows by name."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


class Engine(Protocol):
    """What questions need of an engine."""

    name: str

    def ask(self, sql: str, values: Values) -> Answer:
        """Return the rows of a query; words after colons in it are in `values`."""
        ...

    def need_query(self, sql: str) -> None:
        """Refuse what is not one query that only reads.

        Raises:
            FleetError: it writes a file, changes something, or is several statements.
        """
        ...

    def close(self) -> None:
        """Let go of what it holds."""
        ...


def no_query(found: str) -> FleetError:
    """Return the error for SQL that is not one query that only reads."""
    return FleetError(f"--sql takes one query that only reads (select, with), and this is {found}")


_WORD = re.compile(r"(?<![:\w]):([a-z]\w*)")


def words_as(mark: str, sql: str, values: Values) -> str:
    """Return the SQL with another mark than a colon before the words that have values."""
    return _WORD.sub(lambda found: mark + found[1] if found[1] in values else found[0], sql)


def is_url(fleet: str) -> bool:
    """Whether a fleet is in an object store."""
    return "://" in fleet


def table_path(fleet: str, table: str) -> str:
    """Return where the files of a table are."""
    return f"{fleet.rstrip('/')}/{table}"


def count_files(fleet: str) -> int:
    """Return how many files the tables of a folder are; 0 of an object store."""
    return 0 if is_url(fleet) else sum(1 for _ in Path(fleet).rglob("*.parquet"))


def look_for_tables(fleet: str, tables: Sequence[str]) -> None:
    """Refuse a folder that is no fleet, and say how to make one.

    Raises:
        FleetError: it has no tables.
    """
    if is_url(fleet):
        return
    folder = Path(fleet)
    if not folder.is_dir():
        raise FleetError(
            f"{fleet}: no such folder; make it with: peakline export parquet --tables TRACES -o"
            f" {fleet}"
        )
    lacking = [one for one in tables if next((folder / one).rglob("*.parquet"), None) is None]
    if not lacking:
        return
    if next(folder.rglob("*.peak"), None) or next(folder.rglob("*.peak.zst"), None):
        raise FleetError(
            f"{fleet} has traces and no tables; make tables of them with:"
            f" peakline export parquet {fleet} -o {fleet.rstrip('/')}-tables"
        )
    raise FleetError(no_table(fleet, lacking[0]))


def no_table(fleet: str, table: str) -> str:
    """Return what to do where a table lacks."""
    return (
        f"{fleet} has no table {table}; fill it with: peakline export parquet --tables TRACES"
        f" -o {fleet}"
    )
