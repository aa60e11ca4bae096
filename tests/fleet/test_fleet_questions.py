"""Every named question on fleets made by a seed: DuckDB and plain Python give one answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from brute_force import Fleet
from expected import PAIR, asked_and_expected, check_equal
from peakline.fleet.asking import answer, answer_sql, open_engine
from peakline.fleet.engines import Engine, FleetError
from peakline.fleet.questions import QUESTIONS, Asked
from peakline.fleet.rows import TraceRows
from plans import check_plans
from reading_only import check_only_queries
from synthetic import make_fleet, rename_version, write_fleet

SEEDS = (1, 2, 3)


@dataclass
class Written:
    ranks: list[TraceRows]
    folder: str


@pytest.fixture(scope="module", params=SEEDS)
def written(request: Any, tmp_path_factory: Any) -> Written:
    ranks = make_fleet(request.param)
    folder = tmp_path_factory.mktemp("fleet")
    write_fleet(ranks, folder)
    return Written(ranks, str(folder))


@pytest.fixture(scope="module")
def duckdb(written: Written) -> Iterator[Engine]:
    engine = open_engine("duckdb", written.folder)
    yield engine
    engine.close()


def test_duckdb_answers_as_plain_python_does(written: Written, duckdb: Engine) -> None:
    names = set()
    for name, asked, expected in asked_and_expected(written.ranks):
        assert expected, name
        check_equal(answer(duckdb, QUESTIONS[name], asked).rows, expected)
        names.add(name)
    assert names == set(QUESTIONS)


def test_the_newest_versions_are_compared_by_default(written: Written, duckdb: Engine) -> None:
    first: dict[str, Any] = {}
    for trace in written.ranks:
        [row] = trace.tables["ranks"]
        if row["version"] is not None:
            first[row["version"]] = min(first.get(row["version"], row["started"]), row["started"])
    newest = sorted(first, key=lambda name: first[name])[-2:]
    found = answer(duckdb, QUESTIONS["regressions"], Asked())
    assert list(found.asked.versions) == newest
    check_equal(found.rows, Fleet(written.ranks, versions=tuple(newest)).regressions(*newest))


def test_a_line_that_grew_with_a_version_is_the_largest_regression(
    written: Written, duckdb: Engine
) -> None:
    found = answer(duckdb, QUESTIONS["regressions"], Asked(versions=PAIR, by="line", top=1))
    assert found.rows[0]["line"] == 13  # the fourth line of every program
    assert found.rows[0]["more_bytes"] > 20 << 30


def test_the_views_have_every_row_of_the_files(written: Written, duckdb: Engine) -> None:
    for table in ("ranks", "sites", "phases", "groups"):
        [row] = answer_sql(duckdb, f"select count(*) as found from {table}")
        assert row["found"] == sum(len(trace.tables[table]) for trace in written.ranks)
    for row in answer_sql(
        duckdb,
        "select max(r.peak_bytes) - sum(s.bytes) as rest from sites s join ranks r"
        " on s.rank_id = r.rank_id group by r.rank_id",
    ):
        assert row["rest"] == 0


def test_duckdb_reads_only_what_a_question_is_about(duckdb: Engine) -> None:
    check_plans(duckdb)


def test_duckdb_answers_only_queries_that_read(written: Written, duckdb: Engine) -> None:
    check_only_queries(duckdb, Path(written.folder))
    with pytest.raises(FleetError, match="Cannot access file"):
        answer_sql(duckdb, "select * from read_text('/etc/hostname')")


def test_names_with_quotes_are_values_and_not_sql(tmp_path: Path) -> None:
    name = "1.0' or '1'='1"
    ranks = make_fleet(4)
    rename_version(ranks, name)
    folder = tmp_path / 'it\'s "here"'
    write_fleet(ranks, folder)
    engine = open_engine("duckdb", str(folder))
    found = answer(engine, QUESTIONS["waste"], Asked(versions=(name,)))
    check_equal(found.rows, Fleet(ranks, versions=(name,)).waste())
    engine.close()
