"""What engines are about to read of the files, by the plans that they explain."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from peakline.fleet.engines import Engine, Values
from peakline.fleet.questions import QUESTIONS, Asked, sql_of
from synthetic import VERSIONS

# What tells the latest export of a trace from those before.
_OF_EXPORTS = {"rank_id", "trace_id", "exported", "device_kind", "device"}


@dataclass(frozen=True)
class Scan:
    """One reading of the files of a table: columns, and what skips rows and groups of rows."""

    columns: frozenset[str]
    filters: str


def scans_of(engine: Engine, sql: str, values: Values) -> list[Scan]:
    """Return the scans of a query."""
    explain = "explain formatted " if engine.name == "spark" else "explain (format json) "
    text = str(engine.ask(explain + sql, values).rows[0][-1])
    return list(_of_spark(text) if engine.name == "spark" else _of_duckdb(json.loads(text)))


def check_plans(engine: Engine) -> None:
    """An engine reads once the rows of lines, only the columns of the question, only GPUs."""
    for question in QUESTIONS.values():
        versions = VERSIONS[:2] if question.compares else ()
        sql, values = sql_of(question, Asked(since="2030-01-02", versions=versions))
        scans = scans_of(engine, sql, values)
        of_ranks = [one for one in scans if "trace_id" in one.columns]
        of_sites = [one.columns for one in scans if "trace_id" not in one.columns]
        by = question.default_by
        assert of_sites == [{"rank_id", "bytes", "file", "line", "function", f"{by}_hash"}] * bool(
            by
        )
        assert of_ranks
        for scan in of_ranks:
            assert scan.columns <= _OF_EXPORTS | set(re.findall(r"\w+", sql))
            assert re.search(r"device_kind\W+gpu", scan.filters.replace("=", ","))
    scans = scans_of(engine, "select sum(bytes) as more from sites where bytes > 12345", {})
    [filters] = [one.filters for one in scans if "bytes" in one.columns]
    assert re.search(r"bytes\W+12345", filters)


def _of_duckdb(nodes: list[dict[str, Any]]) -> Iterator[Scan]:
    for node in nodes:
        facts = node["extra_info"]
        if "READ_PARQUET" in node["name"]:
            columns = facts["Projections"]
            names = [columns] if isinstance(columns, str) else columns
            yield Scan(frozenset(names), str(facts.get("Filters", "")))
        yield from _of_duckdb(node["children"])


def _of_spark(text: str) -> Iterator[Scan]:
    for part in re.split(r"\n\n+", text):
        if schema := re.search(r"^ReadSchema: struct<(.*)>$", part, re.MULTILINE):
            pushed = re.search(r"^PushedFilters: \[(.*)\]$", part, re.MULTILINE)
            names = frozenset(one.partition(":")[0] for one in schema[1].split(","))
            yield Scan(names, pushed[1] if pushed else "")
