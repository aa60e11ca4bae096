"""Joins the small files of a fleet into a few large ones: opening a file costs more than its rows.

For each table, the large files are written to a folder beside it, `.TABLE.new`. The table is
renamed to `.TABLE.old`; then the new files, and the old files that were not joined, move to the
table. A process that finds an old folder finishes these moves, so a killed compaction neither loses
nor doubles rows. Tables need not change together: each keeps its rows, except rows that no row of
`ranks` names.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import dataset

from peakline.fleet import schema
from peakline.fleet.engines import FleetError
from peakline.fleet.tables import ROWS_OF_A_GROUP, SCHEMAS

FOLDER = "run=many"
_LOCK = "_lock"  # its time stamp is the beginning of the last compaction
_ROWS_OF_A_FILE = 8 * ROWS_OF_A_GROUP
_LARGE_BYTES = 32 << 20  # files of this size are not joined
_TICK_SECONDS = 0.02  # more than the resolution of time stamps


@dataclass(frozen=True)
class Compacted:
    """The result of a compaction."""

    files_before: int
    files_after: int
    bytes_after: int


def compact(fleet: Path, progress: Callable[[float], object] = lambda _: None) -> Compacted:
    """Join the small files of all tables; drops rows of traces that were exported again.

    Raises:
        FleetError: another process compacts the fleet, or a file cannot be read.
    """
    with _lock(fleet):
        finish(fleet)
        _remove_unused(fleet)
        os.utime(fleet / _LOCK)
        time.sleep(_TICK_SECONDS)
        small = {name: _small_files(fleet, fleet / name) for name in schema.TABLES}
        total = sum(map(len, small.values()))
        if all(len(files) < 2 for files in small.values()):
            return Compacted(total, total, 0)
        writing = _Writing(fleet, lambda part: progress(part / 2), total)
        try:
            stale = writing.join_ranks(small[schema.RANKS])
            for name in schema.TABLES:
                if name != schema.RANKS:
                    writing.join(name, small[name], stale)
            size = sum(path.stat().st_size for path in writing.files)
            # Removing many small files takes as long as reading them.
            for number, name in enumerate(schema.TABLES, 1):
                (fleet / name).rename(_old(fleet, name))
                finish(fleet)
                progress((1 + number / len(schema.TABLES)) / 2)
        except (OSError, pa.ArrowException) as error:
            _remove_unused(fleet)
            raise FleetError(f"{fleet}: cannot be compacted: {error}") from error
        return Compacted(total, len(writing.files), size)


def finish(fleet: Path) -> None:
    """Finish an interrupted compaction; does nothing if no table was renamed.

    Raises:
        FleetError: the folder cannot be written.
    """
    for name in schema.TABLES:
        table, new, old = fleet / name, _new(fleet, name), _old(fleet, name)
        if not old.exists():
            continue
        joined = set(_small_files(fleet, old))
        try:
            _move(new.rglob("*.parquet"), new, table)
            _move((path for path in old.rglob("*.parquet") if path not in joined), old, table)
            shutil.rmtree(new, ignore_errors=True)
            shutil.rmtree(old, ignore_errors=True)
        except OSError as error:
            raise FleetError(
                f"{fleet}: a compaction was interrupted and cannot be finished here"
                f" ({error.strerror}); finish it where the folder can be written, with:"
                f" peakline fleet {fleet} --compact"
            ) from error


def _new(fleet: Path, table: str) -> Path:
    return fleet / f".{table}.new"


def _old(fleet: Path, table: str) -> Path:
    return fleet / f".{table}.old"


def _remove_unused(fleet: Path) -> None:
    """Remove files that a compaction wrote for tables that it did not rename."""
    for name in schema.TABLES:
        if not _old(fleet, name).exists():
            shutil.rmtree(_new(fleet, name), ignore_errors=True)


def _move(paths: Iterable[Path], source: Path, target: Path) -> None:
    for path in list(paths):
        moved = target / path.relative_to(source)
        moved.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):  # another process moved it
            path.rename(moved)


def _small_files(fleet: Path, folder: Path) -> list[Path]:
    """Return the files to join: small ones that existed when the compaction began."""
    began = (fleet / _LOCK).stat().st_mtime_ns
    found = sorted(path for path in folder.rglob("*.parquet") if not path.name.startswith("."))
    return [path for path in found if _is_joined(path.stat(), began)]


def _is_joined(file: os.stat_result, began: int) -> bool:
    """Return whether a file is small and its last change of any kind was before `began`.

    A file is complete before it gets its name.
    """
    return file.st_size < _LARGE_BYTES and file.st_ctime_ns <= began


@contextmanager
def _lock(fleet: Path) -> Iterator[None]:
    with (fleet / _LOCK).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise FleetError(f"{fleet} is being compacted by another process") from error
        yield


class _Writing:
    """The large files of one compaction, in the new folders."""

    def __init__(self, fleet: Path, progress: Callable[[float], object], total: int) -> None:
        self.files: list[Path] = []
        self._fleet = fleet
        self._progress = progress
        self._total = total
        self._done = 0

    def join_ranks(self, paths: Sequence[Path]) -> pa.Array:
        """Write the newest row of each rank; returns the ids of the older rows.

        Rows of other tables with unknown ids stay: their row of `ranks` may be written soon.
        """
        small = pa.concat_tables([*self._read(paths), SCHEMAS[schema.RANKS].empty_table()])
        folder = self._fleet / schema.RANKS
        large = [one for one in sorted(folder.rglob("*.parquet")) if one not in set(paths)]
        both = pa.concat_tables([small, *(pq.ParquetFile(one).read() for one in large)])
        rows = both.select(["trace_id", "device_kind", "device", "exported", "rank_id"]).to_pylist()
        rows.sort(key=lambda row: row["exported"])
        newest = {(row["trace_id"], row["device_kind"], row["device"]): row for row in rows}
        stay = {row["rank_id"] for row in newest.values()}
        stale = pa.array({row["rank_id"] for row in rows} - stay, pa.int64())
        self._write(schema.RANKS, [_without(small, stale)])
        return stale

    def join(self, name: str, paths: Sequence[Path], stale: pa.Array) -> None:
        """Write the rows of a table without those of stale ranks."""
        self._write(name, (_without(table, stale) for table in self._read(paths)))

    def _read(self, paths: Sequence[Path]) -> Iterator[pa.Table]:
        began = (self._fleet / _LOCK).stat().st_mtime_ns
        for path in paths:
            with path.open("rb") as file:
                if _is_joined(os.fstat(file.fileno()), began):  # else it was written anew
                    yield pq.ParquetFile(file).read()
            self._done += 1
            self._progress(self._done / self._total)

    def _write(self, name: str, tables: Iterable[pa.Table]) -> None:
        folder = _new(self._fleet, name) / FOLDER
        written: list[Path] = []
        dataset.write_dataset(
            (batch for table in tables for batch in table.to_batches()),
            folder,
            schema=SCHEMAS[name],
            format="parquet",
            file_options=dataset.ParquetFileFormat().make_write_options(compression="zstd"),
            basename_template=f"{os.urandom(8).hex()}-{{i}}.parquet",
            max_rows_per_file=_ROWS_OF_A_FILE,
            min_rows_per_group=ROWS_OF_A_GROUP,
            max_rows_per_group=ROWS_OF_A_GROUP,
            file_visitor=lambda one: written.append(Path(one.path)),
        )
        if not written:  # a table without rows has a file, too
            written.append(folder / "empty.parquet")
            pq.write_table(SCHEMAS[name].empty_table(), written[0])
        self.files += written


def _without(table: pa.Table, stale: pa.Array) -> pa.Table:
    return table.filter(pc.invert(pc.is_in(table["rank_id"], stale))) if len(stale) else table
