"""Parquet files of a fleet: their names, and writing them completely or not at all.

A fleet is a folder of tables: `TABLE/run=RUN/HOST.RANK.TRACE.parquet`. Names that begin with a dot
are unfinished: neither DuckDB nor Spark reads them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from peakline.fleet import schema

if TYPE_CHECKING:
    from peakline.fleet.rows import TraceRows
    from peakline.fleet.stores import Store

_TYPES = {
    "int64": pa.int64(),
    "int32": pa.int32(),
    "float64": pa.float64(),
    "bool": pa.bool_(),
    "text": pa.string(),
    "time": pa.timestamp("us"),  # in UTC: an engine would convert a column with a time zone
    "labels": pa.map_(pa.string(), pa.string()),
}
SCHEMAS = {
    name: pa.schema(
        [(column.name, _TYPES[column.type]) for column in columns],
        metadata={"peakline.table": name, "peakline.schema_version": str(schema.VERSION)},
    )
    for name, columns in schema.TABLES.items()
}
# An engine reads or skips a whole row group.
ROWS_OF_A_GROUP = 1 << 20


def arrow_table(name: str, rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Return rows as a table of the schema of this name."""
    return pa.Table.from_pylist(list(rows), SCHEMAS[name])


def write_rows(fleet: Path | Store, found: TraceRows) -> int:
    """Write the files of a trace, replacing older ones, the ranks last; returns their bytes.

    Rows that no row of `ranks` names do not count, so a trace appears as a whole.
    """
    names = [name for name in schema.TABLES if name != schema.RANKS]
    size = 0
    for name in (*names, schema.RANKS):
        path = f"{name}/{found.identity.folder}/{found.identity.file_stem}.parquet"
        table = arrow_table(name, found.tables[name])
        if isinstance(fleet, Path):
            size += write_table(table, fleet / path)
        else:
            size += fleet.write(path, _as_bytes(table))
    return size


def _as_bytes(table: pa.Table) -> pa.Buffer:
    out = pa.BufferOutputStream()
    pq.write_table(table, out, compression="zstd", row_group_size=ROWS_OF_A_GROUP)
    return out.getvalue()


def write_table(table: pa.Table, path: Path) -> int:
    """Write a file, completely or not at all; returns its size."""
    try:
        return _write_table(table, path)
    except FileNotFoundError:  # a compaction renamed the folder meanwhile
        return _write_table(table, path)


def _write_table(table: pa.Table, path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        pq.write_table(table, unfinished, compression="zstd", row_group_size=ROWS_OF_A_GROUP)
        size = unfinished.stat().st_size
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    return size
