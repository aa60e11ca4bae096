"""Rows of two keys and --where: against the blocks by themselves, and what a program knows."""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations
from typing import Any

import pytest
from lab import Lab
from peakline import _report as engine

# The keys that `tensors` tells of every block, and its names of them.
TOLD = {
    "category": "category",
    "module": "module",
    "op": "op",
    "phase": "phase",
    "step": "step",
    "lifetime": "lifetime",
    "line": "made_at",
    "freed-by": "freed_by",
}
KEYS = list(engine.CHOICES["by"])


@pytest.fixture(scope="module")
def trace(lab: Lab) -> Any:
    run = lab.once("train_model.py", "transformer", options=("--frees",))
    assert run.status == 0, run.stderr
    return engine.Trace(run.trace)


def table(trace: Any, **options: Any) -> Any:
    return json.loads(trace.report("table", json=True, **options))


def blocks_of(trace: Any, **options: Any) -> list[dict[str, Any]]:
    return json.loads(trace.report("tensors", json=True, **options))["tensors"]


def sums(rows: list[dict[str, Any]], key: int) -> Counter[str]:
    """Return the bytes of the rows by the text of one of their keys."""
    bytes_by_text: Counter[str] = Counter()
    for row in rows:
        bytes_by_text[row["keys"][key]] += row["bytes"]
    return bytes_by_text


@pytest.mark.parametrize("at", ["peak", "end"])
def test_rows_of_any_two_keys_sum_to_the_rows_of_each(trace: Any, at: str) -> None:
    alone = {key: sums(table(trace, by=key, at=at)["rows"], 0) for key in KEYS}
    for one, other in combinations(KEYS, 2):
        crossed = table(trace, by=f"{one},{other}", at=at)
        assert sums(crossed["rows"], 0) == alone[one], (one, other)
        assert sums(crossed["rows"], 1) == alone[other], (one, other)
        assert all(row["bytes"] > 0 for row in crossed["rows"])
        assert all(row["key"] == " | ".join(row["keys"]) for row in crossed["rows"])
        turned = table(trace, by=f"{other},{one}", at=at)
        swapped = {tuple(row["keys"]): (row["bytes"], row["count"]) for row in turned["rows"]}
        assert swapped == {
            (row["keys"][1], row["keys"][0]): (row["bytes"], row["count"])
            for row in crossed["rows"]
        }


def test_rows_of_two_keys_are_those_of_the_list_of_blocks(trace: Any) -> None:
    blocks = blocks_of(trace)
    for one, other in combinations(TOLD, 2):
        wanted: Counter[tuple[str, str]] = Counter()
        for block in blocks:
            wanted[block[TOLD[one]], block[TOLD[other]]] += block["bytes"]
        rows = table(trace, by=f"{one},{other}")["rows"]
        assert {tuple(row["keys"]): row["bytes"] for row in rows} == wanted, (one, other)


def test_where_the_text_of_a_row_shows_this_row(trace: Any) -> None:
    for key in KEYS:
        whole = table(trace, by=key)
        for text, held in sums(whole["rows"], 0).most_common(4):
            shown = table(trace, by="op", where=f"{key}={text}")
            assert shown["where_bytes"] == held == sum(row["bytes"] for row in shown["rows"])
            assert shown["where"] == [{"key": key, "values": [text]}]
            assert (shown["where_unmatched"], shown["total_bytes"]) == ([], whole["total_bytes"])
            assert shown["peak_bytes"] == whole["peak_bytes"]


def test_where_selects_the_blocks_that_the_list_has(trace: Any) -> None:
    where = ["category=activation", "category=gradient", "module=*layers.1.*", "step=step 1"]

    def is_asked(block: dict[str, Any]) -> bool:
        return (
            block["category"] in ("activation", "gradient")
            and "layers.1." in block["module"]
            and block["step"] == "step 1"
        )

    asked = [block for block in blocks_of(trace) if is_asked(block)]
    assert asked
    listed = json.loads(trace.report("tensors", json=True, where=where))
    assert listed["tensors"] == asked
    assert listed["where_bytes"] == sum(block["bytes"] for block in asked)
    rows = table(trace, by="line", where=where)["rows"]
    wanted: Counter[str] = Counter()
    for block in asked:
        wanted[block["made_at"]] += block["bytes"]
    assert {row["key"]: row["bytes"] for row in rows} == wanted


def test_counts_of_the_whole_trace_cross_and_select(trace: Any) -> None:
    def stats(**options: Any) -> Any:
        return json.loads(trace.report("stats", json=True, **options))

    known = [
        key for key in KEYS if key not in ("tensor", "step", "category", "lifetime", "freed-by")
    ]
    alone = {key: sums(stats(by=key)["by_bytes"], 0) for key in known}
    for one, other in combinations(known, 2):
        crossed = stats(by=f"{one},{other}")
        assert sums(crossed["by_bytes"], 0) == alone[one]
        assert sums(crossed["by_count"], 1) == alone[other]
    for key in known:
        [(text, held)] = alone[key].most_common(1)
        shown = stats(by="op", where=[f"{key}={text}"])
        rows = shown["by_bytes"]
        assert shown["where_bytes"] == held == sum(row["bytes"] for row in rows)
        assert shown["where_count"] == sum(row["count"] for row in rows)
        assert shown["allocated_bytes"] == sum(alone[key].values())
    for key in set(KEYS) - set(known):
        with pytest.raises(engine.TraceError, match=f"does not know --where {key}; peakline table"):
            stats(where=[f"{key}=x"])


@pytest.mark.parametrize("key", ["category", "lifetime", "freed-by", "module", "step"])
def test_timelines_of_single_rows_add_up_to_the_timeline_of_all(trace: Any, key: str) -> None:
    def timeline(texts: list[str]) -> Any:
        where = [f"{key}={text}" for text in texts]
        return json.loads(trace.report("timeline", json=True, top=300, where=where))

    whole = timeline([])
    assert timeline(["*"])["points"] == whole["points"]
    held = sums(table(trace, by=key)["rows"], 0)
    parts = [timeline([text]) for text in held]
    for index, point in enumerate(timeline(list(held))["points"]):
        assert point["level_bytes"] == sum(part["points"][index]["level_bytes"] for part in parts)
    for text, part in zip(held, parts, strict=True):
        assert held[text] <= part["where_bytes"] <= whole["peak_bytes"] == part["peak_bytes"]


def test_a_program_finds_its_block_by_lifetime_and_line(lab: Lab) -> None:
    run = lab.once("lifetimes.py")
    wanted = run.said["sizes"]["held to backward"]
    shown = lab.table(
        run.trace,
        *("--measure", "requested", "--at", "forward@1", "--by", "line,lifetime"),
        *("--where", "lifetime=held to backward", "--where", "line=*/lifetimes.py:*"),
    )
    assert wanted <= shown["where_bytes"] < wanted + 4096
    [row] = [row for row in shown["rows"] if row["bytes"] >= 4096]
    assert row["location"]["file"].endswith("/lifetimes.py")
    assert row["keys"][1] == "held to backward"
