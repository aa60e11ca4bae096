"""SQL that does more than read, which both engines refuse, and what it would leave."""

from __future__ import annotations

from pathlib import Path

import pytest
from peakline.fleet.asking import answer_sql
from peakline.fleet.engines import Engine, FleetError

_OF_BOTH = (
    "create table t as select 1",
    "create temp view w as select 1",
    "drop view ranks",
    "delete from ranks",
    "insert into ranks select * from ranks",
    "set x = 1",
    "begin transaction",
    "select 1; select 2",
    "",
)
_OF_ENGINE = {
    "duckdb": (
        "copy (select 1) to 'FILE'",
        "select 1; copy (select 1) to 'FILE'",
        "explain analyze copy (select 1) to 'FILE'",
        "attach 'FILE'",
        "export database 'FILE'",
        "prepare x as copy (select 1) to 'FILE'",
        "set enable_external_access = true",
        "pragma threads = 1",
        "install httpfs",
        "load httpfs",
        "call pragma_version()",
        "vacuum",
    ),
    "spark": (
        "insert overwrite directory 'FILE' using csv select 1",
        "with a as (select 1) insert overwrite directory 'FILE' using csv select * from a",
        "create table t using csv location 'FILE' as select 1",
        "select transform(rank) using 'touch FILE' from ranks",
        "select (select max(a) from (select transform(rank) using 'touch FILE' as (a) from ranks))",
        "execute immediate 'create view x as select 1'",
        "select reflect('java.lang.System', 'getenv', 'HOME')",
        "add jar 'FILE'",
        "cache table ranks",
    ),
}
_READ = (
    "select count(*) as found from ranks",
    "with a as (select * from ranks) select count(*) as found from a",
)


def check_only_queries(engine: Engine, folder: Path) -> None:
    """Refused are all of these, and nothing is written; queries are answered."""
    file = folder / "written"
    before = sorted(folder.rglob("*"))
    for sql in (*_OF_BOTH, *_OF_ENGINE[engine.name]):
        with pytest.raises(FleetError) as refused:
            answer_sql(engine, sql.replace("FILE", str(file)))
        assert "\n" not in str(refused.value), sql
    assert sorted(folder.rglob("*")) == before
    counts = {answer_sql(engine, sql)[0]["found"] for sql in _READ}
    assert len(counts) == 1 and 0 not in counts
