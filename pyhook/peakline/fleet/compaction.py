"""Joins the small files of a fleet to few large ones: opening a file costs more than its rows.

The large ones are written beside the small ones under hidden names. Then a journal says what is to
appear and what to go, and that is done; whoever finds a journal does what is left of it, so no row
is lost or counted twice when a compaction is killed.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from peakline.fleet import schema
from peakline.fleet.engines import FleetError
from peakline.fleet.tables import ROWS_OF_A_GROUP, SCHEMAS

FOLDER = "run=many"
_JOURNAL, _LOCK, _UNFINISHED = "_compacting.json", "_lock", ".part"
_ROWS_OF_A_FILE = 8 * ROWS_OF_A_GROUP
_LARGE_BYTES = 32 << 20  # such a file is left as it is


@dataclass(frozen=True)
class Compacted:
    """What a compaction did."""

    files_before: int
    files_after: int
    bytes_after: int


def compact(fleet: Path, progress: Callable[[float], object] = lambda _: None) -> Compacted:
    """Join the small files of all tables; rows of traces that were exported anew are left out.

    Raises:
        FleetError: another process compacts it, or a file cannot be read.
    """
    with _lock(fleet):
        finish(fleet)
        for left_by_killed in fleet.glob(f"*/{FOLDER}/.*{_UNFINISHED}"):
            left_by_killed.unlink()
        small = {name: _small_files(fleet / name) for name in schema.TABLES}
        total = sum(map(len, small.values()))
        if all(len(files) < 2 for files in small.values()):
            return Compacted(total, total, 0)
        # Known before the rows are read: a file that changes meanwhile is left.
        known = [_state(fleet, path) for files in small.values() for path in files]
        # To remove many small files takes as long as to read them.
        writing = _Writing(fleet, lambda part: progress(part / 2), total)
        try:
            stale = writing.join_ranks(small[schema.RANKS])
            for name in schema.TABLES:
                if name != schema.RANKS:
                    writing.join(name, small[name], stale)
        except (OSError, pa.ArrowException) as error:
            writing.give_up()
            raise FleetError(f"{fleet}: cannot be compacted: {error}") from error
        journal = {"new": [str(path.relative_to(fleet)) for path in writing.files], "old": known}
        _write_journal(fleet, journal)
        size = sum(path.stat().st_size for path in writing.files)
        finish(fleet, lambda part: progress((1 + part) / 2))
        return Compacted(total, len(writing.files), size)


def finish(fleet: Path, progress: Callable[[float], object] = lambda _: None) -> None:
    """Do what the journal of a compaction says; without one there is nothing to do.

    Raises:
        FleetError: the folder cannot be written.
    """
    path = fleet / _JOURNAL
    try:
        journal = json.loads(path.read_text())
    except FileNotFoundError:
        return
    try:
        for name in journal["new"]:
            hidden = fleet / name
            with suppress(FileNotFoundError):  # it was done already, or is by another process
                hidden.rename(hidden.with_name(hidden.name[1:].removesuffix(_UNFINISHED)))
        for number, (name, size, changed_ns) in enumerate(journal["old"], 1):
            _remove(fleet / name, size, changed_ns)
            progress(number / len(journal["old"]))
        path.unlink(missing_ok=True)
    except OSError as error:
        raise FleetError(
            f"{fleet}: a compaction was interrupted and cannot be finished here"
            f" ({error.strerror}); finish it where the folder can be written, with:"
            f" peakline fleet {fleet} --compact"
        ) from error


def _remove(path: Path, size: int, changed_ns: int) -> None:
    """Remove a file whose rows are elsewhere now, unless it was written anew since."""
    with suppress(FileNotFoundError):
        now = path.stat()
        if (now.st_size, now.st_mtime_ns) == (size, changed_ns):
            path.unlink()
    with suppress(OSError):  # other ranks of the run may have files there
        path.parent.rmdir()


def _write_journal(fleet: Path, journal: dict[str, Any]) -> None:
    unfinished = fleet / f".{_JOURNAL}.{os.getpid()}"
    unfinished.write_text(json.dumps(journal))
    unfinished.replace(fleet / _JOURNAL)


def _small_files(folder: Path) -> list[Path]:
    found = sorted(path for path in folder.rglob("*.parquet") if not path.name.startswith("."))
    return [path for path in found if path.stat().st_size < _LARGE_BYTES]


def _state(fleet: Path, path: Path) -> tuple[str, int, int]:
    now = path.stat()
    return str(path.relative_to(fleet)), now.st_size, now.st_mtime_ns


@contextmanager
def _lock(fleet: Path) -> Iterator[None]:
    with (fleet / _LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise FleetError(f"{fleet} is being compacted by another process") from error
        yield


class _Writing:
    """The large files of one compaction, under hidden names."""

    def __init__(self, fleet: Path, progress: Callable[[float], object], total: int) -> None:
        self.files: list[Path] = []
        self._fleet = fleet
        self._progress = progress
        self._total = total
        self._done = 0

    def join_ranks(self, paths: Sequence[Path]) -> pa.Array:
        """Write the newest row of each rank; returns the ids of those that are not.

        Rows of other tables whose id is unknown stay: their row of `ranks` may be about to come.
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
        """Write the rows of a table whose ranks are not stale."""
        self._write(name, (_without(table, stale) for table in self._read(paths)))

    def _read(self, paths: Sequence[Path]) -> Iterator[pa.Table]:
        for path in paths:
            yield pq.ParquetFile(path).read()
            self._done += 1
            self._progress(self._done / self._total)

    def _write(self, name: str, tables: Any) -> None:
        folder = self._fleet / name / FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        waiting: list[pa.Table] = []
        writer, rows_of_file, rows_waiting = None, 0, 0

        def write_group() -> None:
            nonlocal writer, rows_of_file, waiting, rows_waiting
            if writer is None:
                token = os.urandom(8).hex()
                self.files.append(folder / f".{token}.parquet{_UNFINISHED}")
                writer = pq.ParquetWriter(self.files[-1], SCHEMAS[name], compression="zstd")
            writer.write_table(pa.concat_tables(waiting), row_group_size=ROWS_OF_A_GROUP)
            rows_of_file += rows_waiting
            waiting, rows_waiting = [], 0
            if rows_of_file >= _ROWS_OF_A_FILE:
                writer.close()
                writer, rows_of_file = None, 0

        for table in tables:
            waiting.append(table)
            rows_waiting += table.num_rows
            if rows_waiting >= ROWS_OF_A_GROUP:
                write_group()
        if waiting:
            write_group()
        if writer is not None:
            writer.close()

    def give_up(self) -> None:
        """Remove what was written."""
        for path in self.files:
            path.unlink(missing_ok=True)


def _without(table: pa.Table, stale: pa.Array) -> pa.Table:
    return table.filter(pc.invert(pc.is_in(table["rank_id"], stale))) if len(stale) else table
