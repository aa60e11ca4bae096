"""The DuckDB engine, in this process. The only file that imports duckdb."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import duckdb

from peakline.fleet import schema, views
from peakline.fleet.engines import (
    Answer,
    FleetError,
    Progress,
    Values,
    is_url,
    no_query,
    no_table,
    table_path,
    words_as,
)

_LOOK_SECONDS = 0.2  # between two progress updates of a query


def _of_folder(fleet: str) -> dict[str, list[str]]:
    return {table: [f"{table_path(fleet, table)}/**/*.parquet"] for table in schema.TABLES}


class DuckDBEngine:
    """An in-memory database with views on the files of a fleet."""

    name = "duckdb"

    def __init__(self, fleet: str, progress: Progress | None = None) -> None:
        """Make the views.

        Raises:
            FleetError: a table cannot be read.
            ImportError: the fleet is in a store, and fsspec is not installed.
        """
        self._progress = progress
        self._connection = duckdb.connect(":memory:")
        self._connection.execute("set preserve_insertion_order = false")
        # DuckDB tracks progress only if it may print it; we print it instead.
        self._connection.execute("set enable_progress_bar = true")
        self._connection.execute("set enable_progress_bar_print = false")
        found = self._of_store(fleet) if is_url(fleet) else _of_folder(fleet)
        for table, paths in found.items():
            listed = ", ".join("'" + path.replace("'", "''") + "'" for path in paths)
            # The `run` in a folder name is also a column of `ranks`, because a file may hold many
            # runs.
            files = f"read_parquet([{listed}], hive_partitioning = false)"
            self._run(f"create or replace temp view {table}_files as select * from {files}", {})
        for statement in views.statements():
            self._run(statement, {})
        self._lock(fleet)

    def _lock(self, fleet: str) -> None:
        """Deny access to files outside of the fleet, and changes of this setting, from now on."""
        # DuckDB does not know names of stores; a store serves only the files of the tables.
        if not is_url(fleet):
            folder = table_path(fleet, "").replace("'", "''")
            self._connection.execute(f"set allowed_directories = ['{folder}']")
            self._connection.execute("set enable_external_access = false")
        self._connection.execute("set lock_configuration = true")

    def _of_store(self, fleet: str) -> dict[str, list[str]]:
        """Return the files of each table of a store, and register the store for reading them."""
        from peakline.fleet.duckdb_store import StoreFiles
        from peakline.fleet.stores import open_store

        store = open_store(fleet)
        files = {table: store.files(table) for table in schema.TABLES}
        lacking = [table for table, found in files.items() if not found]
        if lacking:
            store.need_bucket()
            raise FleetError(no_table(fleet, lacking[0]))
        every = {path: one for found in files.values() for path, one in found.items()}
        self._connection.register_filesystem(StoreFiles(store, every))
        return {
            table: [f"{store.scheme}://{path}" for path in sorted(found)]
            for table, found in files.items()
        }

    def need_query(self, sql: str) -> None:
        """Refuse anything but one read-only query.

        Raises:
            FleetError: the SQL writes, changes something, is several statements, or is invalid.
        """
        try:
            kinds = [one.type for one in self._connection.extract_statements(sql)]
        except duckdb.Error as error:
            raise FleetError(f"DuckDB: {error}") from error
        except ValueError:  # a kind of statement without a name in duckdb's Python module
            raise no_query("none") from None
        if len(kinds) != 1:
            raise no_query(f"{len(kinds)} statements")
        if kinds[0] != duckdb.StatementType.SELECT:
            raise no_query(kinds[0].name)

    def ask(self, sql: str, values: Values) -> Answer:
        """Return the rows of a query.

        Raises:
            FleetError: DuckDB refuses the query.
        """
        columns, rows = self._run(words_as("$", sql, values), values)
        return Answer(columns, rows)

    def _run(self, sql: str, values: Values) -> tuple[list[str], list[Any]]:
        def work() -> tuple[list[str], list[Any]]:
            cursor = self._connection.execute(sql, dict(values) or None)
            return [one[0] for one in cursor.description or ()], cursor.fetchall()

        try:
            return work() if self._progress is None else self._watched(work, self._progress)
        except duckdb.Error as error:
            # After an empty line DuckDB repeats the query.
            why, _, _ = str(error).partition("\n\nLINE ")
            raise FleetError(f"DuckDB: {' '.join(why.split())}") from error

    def _watched(
        self, work: Callable[[], tuple[list[str], list[Any]]], progress: Progress
    ) -> tuple[list[str], list[Any]]:
        """Do the work in a thread, so that this thread can show progress and receive Ctrl-C."""
        found: list[Any] = []
        failed: list[BaseException] = []

        def body() -> None:
            try:
                found.append(work())
            except BaseException as error:  # raised again below, in the caller's thread
                failed.append(error)

        thread = threading.Thread(target=body, daemon=True)
        thread.start()
        try:
            while thread.is_alive():
                thread.join(_LOOK_SECONDS)
                progress(max(0.0, self._connection.query_progress()) / 100)
        except KeyboardInterrupt:
            self._connection.interrupt()
            thread.join()
            raise
        if failed:
            raise failed[0]
        result: tuple[list[str], list[Any]] = found[0]
        return result

    def close(self) -> None:
        """Close the database."""
        self._connection.close()
