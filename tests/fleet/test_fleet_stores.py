"""Fleets in an object store: a server on this machine does what S3 does; boto3 is the oracle."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from expected import asked_and_expected, check_equal
from peakline.fleet.asking import answer, answer_sql, open_engine
from peakline.fleet.compaction import compact
from peakline.fleet.engines import FleetError
from peakline.fleet.questions import QUESTIONS
from peakline.fleet.rows import TraceRows
from peakline.fleet.stores import open_store_to_write
from peakline.fleet.tables import write_rows
from s3_store import BUCKET, LACKING, client, s3_server
from synthetic import Size, make_fleet, write_fleet

pytestmark = pytest.mark.skipif(bool(LACKING), reason=f"needs {', '.join(LACKING)}: make setup")
URL = f"s3://{BUCKET}/it's a fleet"


@pytest.fixture(scope="module")
def server() -> Iterator[dict[str, str]]:
    with s3_server() as environment:
        yield environment


@pytest.fixture
def s3(server: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """AWS's client of a bucket that is empty; what asks finds the server in the environment."""
    for name, value in server.items():
        monkeypatch.setenv(name, value)
    found = client(server)
    yield found
    for key in objects(found):
        found.delete_object(Bucket=BUCKET, Key=key)


def objects(s3: Any) -> list[str]:
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=BUCKET)
    return [one["Key"] for page in pages for one in page.get("Contents", ())]


def upload(s3: Any, folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            key = f"it's a fleet/{path.relative_to(folder)}"
            s3.put_object(Bucket=BUCKET, Key=key, Body=path.read_bytes())


def check_answers(ranks: list[TraceRows], url: str) -> None:
    engine = open_engine("duckdb", url)
    try:
        for name, asked, expected in asked_and_expected(ranks):
            check_equal(answer(engine, QUESTIONS[name], asked).rows, expected)
        for table in ("ranks", "sites", "phases", "groups"):
            [row] = answer_sql(engine, f"select count(*) as found from {table}")
            assert row["found"] == sum(len(rank.tables[table]) for rank in ranks)
    finally:
        engine.close()


@pytest.mark.parametrize("is_compact", [False, True], ids=["small files", "compacted"])
def test_duckdb_answers_from_a_store_as_plain_python_does(
    s3: Any, tmp_path: Path, is_compact: bool
) -> None:
    # Every question opens every file anew.
    ranks = make_fleet(1, Size() if is_compact else Size(runs=4))
    write_fleet(ranks, tmp_path)
    if is_compact:
        compact(tmp_path)
    upload(s3, tmp_path)
    # Unfinished files of others are no tables.
    s3.put_object(Bucket=BUCKET, Key="it's a fleet/ranks/run=1/.a.parquet", Body=b"no table")
    check_answers(ranks, URL)
    check_answers(ranks, f"{URL.replace('s3:', 's3a:')}/")


def test_tables_are_written_to_a_store_as_to_a_folder(s3: Any, tmp_path: Path) -> None:
    ranks = make_fleet(2, Size(runs=5, lines=5))
    store = open_store_to_write(URL)
    for rank in ranks:
        size = write_rows(store, rank)
        stem = rank.identity.file_stem
        keys = [key for key in objects(s3) if stem in key]
        heads = [s3.head_object(Bucket=BUCKET, Key=key) for key in keys]
        assert sum(head["ContentLength"] for head in heads) == size
    write_fleet(ranks, tmp_path)
    paths = [path for path in tmp_path.rglob("*") if path.is_file()]
    names = {f"it's a fleet/{path.relative_to(tmp_path)}": path for path in paths}
    assert set(objects(s3)) == set(names)
    for key, path in names.items():
        body = s3.get_object(Bucket=BUCKET, Key=key)["Body"].read()
        assert pq.read_table(io.BytesIO(body)).equals(pq.ParquetFile(path).read())


def test_writing_a_trace_again_replaces_its_objects(s3: Any) -> None:
    ranks = make_fleet(1)
    for _ in range(2):
        for rank in ranks[:4]:
            write_rows(open_store_to_write(URL), rank)
    assert len(objects(s3)) == 4 * 4
    engine = open_engine("duckdb", URL)
    [row] = answer_sql(engine, "select count(*) as found from ranks_files")
    assert row["found"] == 4
    engine.close()


def test_what_a_store_lacks_is_told(s3: Any, tmp_path: Path) -> None:
    ranks = make_fleet(4)[:2]
    with pytest.raises(FleetError, match="has no table ranks; fill it with"):
        open_engine("duckdb", URL)
    for opened in (lambda url: open_engine("duckdb", url), open_store_to_write):
        with pytest.raises(FleetError, match="there is no bucket nobody"):
            opened("s3://nobody/fleet")
        with pytest.raises(FleetError, match="what://nobody/fleet: "):
            opened("what://nobody/fleet")
    with pytest.raises(FleetError, match="copy a folder"):
        open_store_to_write(tmp_path.as_uri())
    write_fleet(ranks, tmp_path)
    upload(s3, tmp_path)
    s3.put_object(Bucket=BUCKET, Key="it's a fleet/ranks/broken.parquet", Body=b"no table")
    with pytest.raises(FleetError, match=r"DuckDB: .*broken\.parquet"):
        open_engine("duckdb", URL)
