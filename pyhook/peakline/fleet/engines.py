"""The interface of the engines that answer SQL about a fleet: DuckDB here, Spark here or elsewhere.

The differences of their SQL are in this file; questions and views are written once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

Values = Mapping[str, "str | float"]
Progress = Callable[[float], object]  # called with the finished fraction


class FleetError(Exception):
    """A question cannot be answered; the text suggests a fix."""


@dataclass(frozen=True)
class Answer:
    """Rows as the engine returns them."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]

    def dictionaries(self) -> list[dict[str, Any]]:
        """Return the rows by name."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


class Engine(Protocol):
    """The interface of an engine for questions."""

    name: str

    def ask(self, sql: str, values: Values) -> Answer:
        """Return the rows of a query; `values` has the values of its :names."""
        ...

    def need_query(self, sql: str) -> None:
        """Refuse anything but one read-only query.

        Raises:
            FleetError: the SQL writes a file, changes something, or is several statements.
        """
        ...

    def close(self) -> None:
        """Release its resources."""
        ...


def no_query(found: str) -> FleetError:
    """Return the error for SQL that is not one read-only query."""
    return FleetError(f"--sql takes one query that only reads (select, with), and this is {found}")


_WORD = re.compile(r"(?<![:\w]):([a-z]\w*)")


def words_as(mark: str, sql: str, values: Values) -> str:
    """Return the SQL with another mark than a colon before the :names."""
    return _WORD.sub(lambda found: mark + found[1] if found[1] in values else found[0], sql)


def is_url(fleet: str) -> bool:
    """Return whether a fleet is in an object store."""
    return "://" in fleet


def table_path(fleet: str, table: str) -> str:
    """Return the path of the files of a table."""
    return f"{fleet.rstrip('/')}/{table}"


def count_files(fleet: str) -> int:
    """Return the number of files of a fleet's tables; 0 for an object store."""
    return 0 if is_url(fleet) else sum(1 for _ in Path(fleet).rglob("*.parquet"))


def look_for_tables(fleet: str, tables: Sequence[str]) -> None:
    """Refuse a folder that is no fleet, with a hint how to make one.

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
    """Return the hint for a missing table."""
    return (
        f"{fleet} has no table {table}; fill it with: peakline export parquet --tables TRACES"
        f" -o {fleet}"
    )
