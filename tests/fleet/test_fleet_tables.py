"""Files of a fleet: exported again, compacted, compacted and killed. Every row counts once."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from brute_force import Fleet
from peakline.fleet import compaction, schema
from peakline.fleet.asking import answer, answer_sql, open_engine, time_of
from peakline.fleet.compaction import compact
from peakline.fleet.engines import FleetError
from peakline.fleet.places import stable_hash
from peakline.fleet.questions import QUESTIONS, Asked
from peakline.fleet.rows import TraceRows
from peakline.fleet.tables import SCHEMAS, write_rows
from synthetic import Size, make_fleet, write_fleet

SMALL = Size(runs=8, lines=5)


def exported_again(rank: TraceRows) -> TraceRows:
    """The same trace, exported a day later, with half the bytes."""
    number = stable_hash(rank.identity.member.file_uuid, "again")
    tables: dict[str, list[dict[str, Any]]] = {
        name: [{**row, "rank_id": number} for row in rows] for name, rows in rank.tables.items()
    }
    [row] = tables["ranks"]
    row["exported"] += timedelta(days=1)
    for site in tables["sites"]:
        site["bytes"] //= 2
    row["peak_bytes"] = sum(site["bytes"] for site in tables["sites"])
    return replace(rank, tables=tables)


def check_answers(folder: Path, ranks: list[TraceRows]) -> None:
    """The fleet answers as plain Python does of these ranks, and has no other rows."""
    engine = open_engine("duckdb", str(folder))
    try:
        fleet = Fleet(ranks)
        for name, expected in (
            ("waste", fleet.waste()),
            ("ranks", fleet.ranks_differ()),
            ("gb-hours", fleet.gb_hours()),
        ):
            found = answer(engine, QUESTIONS[name], Asked()).rows
            assert [row.keys() for row in found] == [row.keys() for row in expected]
            for row, wanted in zip(found, expected, strict=True):
                assert list(row.values()) == [
                    pytest.approx(one, rel=1e-12) if isinstance(one, float) else one
                    for one in wanted.values()
                ]
        for table in schema.TABLES:
            [counted] = answer_sql(engine, f"select count(*) as found from {table}")
            assert counted["found"] == sum(len(rank.tables[table]) for rank in ranks)
    finally:
        engine.close()


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and path.name != "_lock"]


def test_files_have_the_columns_of_the_schema_and_lie_in_the_folder_of_their_run(
    tmp_path: Path,
) -> None:
    [rank, *_] = make_fleet(1, SMALL)
    write_rows(tmp_path, rank)
    for name, columns in schema.TABLES.items():
        [path] = (tmp_path / name).rglob("*.parquet")
        assert path.parent.name == f"run={rank.identity.run_id}"
        assert pq.read_schema(path).names == [column.name for column in columns]
        assert pq.read_schema(path).equals(SCHEMAS[name])
    assert len(files(tmp_path)) == len(schema.TABLES)


def test_exporting_a_trace_again_replaces_its_files_and_no_others(tmp_path: Path) -> None:
    ranks = make_fleet(1, SMALL)
    write_fleet(ranks, tmp_path)
    before = {path: path.read_bytes() for path in files(tmp_path)}
    again = exported_again(ranks[3])
    write_rows(tmp_path, again)
    after = {path: path.read_bytes() for path in files(tmp_path)}
    assert before.keys() == after.keys()
    changed = {path for path in before if before[path] != after[path]}
    assert {path.name for path in changed} == {f"{again.identity.file_stem}.parquet"}
    check_answers(tmp_path, [*ranks[:3], again, *ranks[4:]])


def test_compaction_joins_files_and_changes_no_answer(tmp_path: Path) -> None:
    ranks = make_fleet(2, SMALL)
    write_fleet(ranks, tmp_path)
    done = compact(tmp_path)
    assert done.files_before == len(schema.TABLES) * len(ranks)
    assert done.files_after == len(files(tmp_path)) == len(schema.TABLES)
    check_answers(tmp_path, ranks)


def test_a_trace_that_is_exported_again_after_a_compaction_counts_once(tmp_path: Path) -> None:
    ranks = make_fleet(2, SMALL)
    write_fleet(ranks, tmp_path)
    compact(tmp_path)
    again = exported_again(ranks[0])
    write_rows(tmp_path, again)
    check_answers(tmp_path, [again, *ranks[1:]])
    compact(tmp_path)
    check_answers(tmp_path, [again, *ranks[1:]])


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("step", [*range(8), 11, 16, 21, 29])
def test_a_killed_compaction_loses_and_doubles_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    ranks = make_fleet(3, Size(runs=3, lines=3))
    write_fleet(ranks, tmp_path)
    left = step

    def counted(real: Any) -> Any:
        def call(*arguments: Any, **named: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                raise Killed
            return real(*arguments, **named)

        return call

    for owner, name in ((Path, "rename"), (os, "unlink")):
        monkeypatch.setattr(owner, name, counted(getattr(owner, name)))
    with pytest.raises(Killed):
        compact(tmp_path)
    monkeypatch.undo()
    check_answers(tmp_path, ranks)
    assert not list(tmp_path.glob(".*.old"))
    compact(tmp_path)
    check_answers(tmp_path, ranks)
    assert len(files(tmp_path)) == len(schema.TABLES)


@pytest.mark.parametrize("is_before", [False, True], ids=["after reading", "before reading"])
def test_a_file_that_is_written_anew_during_a_compaction_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_before: bool
) -> None:
    ranks = make_fleet(3, SMALL)
    write_fleet(ranks, tmp_path)
    again = exported_again(ranks[0])
    real = compaction._Writing.join_ranks

    def meanwhile(*arguments: Any) -> Any:
        if is_before:
            write_rows(tmp_path, again)
        found = real(*arguments)
        if not is_before:
            write_rows(tmp_path, again)
        return found

    monkeypatch.setattr(compaction._Writing, "join_ranks", meanwhile)
    compact(tmp_path)
    check_answers(tmp_path, [again, *ranks[1:]])


def test_two_compactions_at_a_time_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_fleet(make_fleet(3, SMALL), tmp_path)
    real = compaction._Writing.join_ranks

    def meanwhile(*arguments: Any) -> Any:
        with pytest.raises(FleetError, match="another process"):
            compact(tmp_path)
        return real(*arguments)

    monkeypatch.setattr(compaction._Writing, "join_ranks", meanwhile)
    compact(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_what_cannot_be_finished_is_said(tmp_path: Path) -> None:
    write_fleet(make_fleet(3, SMALL), tmp_path)
    (tmp_path / "_lock").touch()
    (tmp_path / "ranks").rename(tmp_path / ".ranks.old")
    tmp_path.chmod(0o500)
    with pytest.raises(FleetError, match="--compact"):
        open_engine("duckdb", str(tmp_path))
    tmp_path.chmod(0o700)


def test_folders_without_tables_say_what_to_type(tmp_path: Path) -> None:
    with pytest.raises(FleetError, match="no such folder"):
        open_engine("duckdb", str(tmp_path / "none"))
    with pytest.raises(FleetError, match="has no table ranks"):
        open_engine("duckdb", str(tmp_path))
    (tmp_path / "a.peak").touch()
    with pytest.raises(FleetError, match="peakline export parquet"):
        open_engine("duckdb", str(tmp_path))


def test_a_table_that_lacks_is_named(tmp_path: Path) -> None:
    write_fleet(make_fleet(3, SMALL), tmp_path)
    shutil.rmtree(tmp_path / "phases")
    with pytest.raises(FleetError, match="has no table phases"):
        open_engine("duckdb", str(tmp_path))


def test_times_are_utc() -> None:
    from datetime import datetime, timezone

    now = datetime(2030, 1, 31, 12, tzinfo=timezone.utc)
    assert time_of("2030-01-31") == "2030-01-31 00:00:00"
    assert time_of("2030-01-31 12:30") == "2030-01-31 12:30:00"
    assert time_of("2030-01-31T12:30:00+02:00") == "2030-01-31 10:30:00"
    assert time_of("36h", now) == "2030-01-30 00:00:00"
    assert time_of("2w", now) == "2030-01-17 12:00:00"
    for wrong in ("", "d", "soon", "-3d"):
        with pytest.raises(ValueError):
            time_of(wrong, now)
