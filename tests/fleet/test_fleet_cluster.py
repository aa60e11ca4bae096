"""Spark on a cluster: a master and two workers answer as DuckDB and plain Python do."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import pytest
from cluster import environment, spark_cluster
from expected import asked_and_expected, check_equal
from here import ROOT, free_port, spark_is_lacking
from peakline.fleet.asking import answer, answer_sql, open_engine
from peakline.fleet.engines import FleetError
from peakline.fleet.questions import QUESTIONS
from synthetic import Size, make_fleet, write_fleet

pytestmark = pytest.mark.skipif(bool(spark_is_lacking()), reason=spark_is_lacking())
SQL = "select version, count(*) as ranks from ranks group by version order by version nulls last"


def test_a_cluster_answers_as_duckdb_and_plain_python_do(tmp_path: Path) -> None:
    ranks = make_fleet(5, Size(runs=30, lines=8))
    fleet = tmp_path / "a fleet"
    write_fleet(ranks, fleet)
    # One form of each question: a query takes a second or two.
    forms = {name: (asked, rows) for name, asked, rows in asked_and_expected(ranks)}
    assert set(forms) == set(QUESTIONS)
    asked = json.dumps([(name, asdict(one)) for name, (one, _) in forms.items()])
    script = Path(__file__).with_name("ask_everything.py")
    with spark_cluster(tmp_path, workers=2) as master:
        done = subprocess.run(
            [sys.executable, script, "spark", master, fleet, asked, SQL],
            env=environment() | {"PYTHONPATH": str(ROOT / "pyhook")},
            capture_output=True,
            text=True,
        )
    assert done.stderr == ""
    assert done.returncode == 0
    *answers, by_sql = json.loads(done.stdout)
    duckdb = open_engine("duckdb", str(fleet))
    for (name, (one, expected)), rows in zip(forms.items(), answers, strict=True):
        check_equal(rows, expected)
        check_equal(rows, answer(duckdb, QUESTIONS[name], one).rows)
    assert by_sql == answer_sql(duckdb, SQL)
    duckdb.close()
    counted = Counter(row["version"] for rank in ranks for row in rank.tables["ranks"])
    assert {row["version"]: row["ranks"] for row in by_sql} == counted
    # The workers did it: each had an executor.
    for number in range(2):
        assert "Asked to launch executor" in (tmp_path / f"worker{number}.log").read_text()


def test_a_cluster_that_does_not_answer_is_told_before_spark_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_fleet(make_fleet(4)[:2], tmp_path)
    monkeypatch.delattr("pyspark.sql.SparkSession.builder")
    masters = [f"127.0.0.1:{free_port()}" for _ in range(2)]
    with pytest.raises(FleetError) as told:
        open_engine("spark", str(tmp_path), master=f"spark://{','.join(masters)}")
    assert all(f"{one} (connection refused)" in str(told.value) for one in masters)
    assert len(str(told.value).splitlines()) == 1


@pytest.mark.parametrize("master", ["spark://host", "spark://:7077", "spark://host:port"])
def test_an_address_that_is_none_is_told(tmp_path: Path, master: str) -> None:
    write_fleet(make_fleet(4)[:2], tmp_path)
    with pytest.raises(FleetError, match="spark://HOST:7077"):
        open_engine("spark", str(tmp_path), master=master)


def test_why_spark_does_not_start_is_one_sentence(tmp_path: Path) -> None:
    write_fleet(make_fleet(4)[:2], tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "peakline", "fleet", tmp_path, "waste"]
        + ["--engine", "spark", "--master", "nonsense"],
        env=environment() | {"PYTHONPATH": str(ROOT / "pyhook")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "Master must either be yarn or start with spark" in done.stderr
