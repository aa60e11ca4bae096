"""Spark on this machine answers as plain Python does, and says what it lacks."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from brute_force import Fleet
from cluster import QUICK_JAVA
from expected import asked_and_expected, check_equal
from here import spark_is_lacking
from peakline.fleet.asking import answer, answer_sql, open_engine
from peakline.fleet.engines import FleetError
from peakline.fleet.questions import QUESTIONS, Asked
from plans import check_plans
from reading_only import check_only_queries
from synthetic import make_fleet, rename_version, write_fleet


@pytest.mark.skipif(bool(spark_is_lacking()), reason=spark_is_lacking())
def test_spark_answers_as_plain_python_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", QUICK_JAVA)
    name = "1.0' or '1'='1\\"
    ranks = make_fleet(1)
    rename_version(ranks, name)
    write_fleet(ranks, tmp_path)
    engine = open_engine("spark", tmp_path.as_uri())
    try:
        # The last form of each: a query of Spark takes a second or two.
        forms = {name: (asked, rows) for name, asked, rows in asked_and_expected(ranks)}
        assert set(forms) == set(QUESTIONS)
        for question, (asked, expected) in forms.items():
            check_equal(answer(engine, QUESTIONS[question], asked).rows, expected)
        found = answer(engine, QUESTIONS["waste"], Asked(versions=(name,)))
        check_equal(found.rows, Fleet(ranks, versions=(name,)).waste())
        [row] = answer_sql(
            engine, "select count(*) as found, min(labels['team']) as team from ranks"
        )
        assert row == {"found": len(ranks), "team": "a"}
        check_plans(engine)
        check_only_queries(engine, tmp_path)
    finally:
        engine.close()


@pytest.mark.skipif(importlib.util.find_spec("pyspark") is None, reason="needs pyspark: make setup")
def test_without_java_spark_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_fleet(make_fleet(4)[:2], tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(FleetError, match="apt install default-jre-headless"):
        open_engine("spark", str(tmp_path))


@pytest.mark.skipif(bool(spark_is_lacking()), reason=spark_is_lacking())
@pytest.mark.parametrize("scheme", ["s3", "s3a"])
def test_spark_without_a_connector_says_how_to_get_one(scheme: str) -> None:
    with pytest.raises(FleetError, match="--packages org.apache.hadoop:hadoop-aws:3") as told:
        open_engine("spark", f"{scheme}://bucket/fleet")
    assert len(str(told.value).splitlines()) == 1
