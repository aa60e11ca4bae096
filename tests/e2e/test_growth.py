"""`peakline leaks` over a zoo of programs: every line that grows is named, and no other."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from lab import PROGRAMS

SOURCE = (PROGRAMS / "grows.py").read_text().splitlines()
LINES = {
    found[1]: number
    for number, line in enumerate(SOURCE, 1)
    if (found := re.search(r"# grows: (\w+)$", line))
}
CASES = re.findall(r'^    "(\w+)": ', "\n".join(SOURCE), re.MULTILINE)
KIB = 1 << 10


def leaks(lab: Any, trace: Path, *options: str) -> dict[str, Any]:
    """Return `peakline leaks --json`."""
    return json.loads(lab.report("leaks", trace, "--json", *options))


def growth(lab: Any, case: str) -> dict[str, Any]:
    run = lab.once("grows.py", case)
    assert run.status == 0, run.stderr
    return leaks(lab, run.trace)


def fastest(document: dict[str, Any]) -> dict[str, Any]:
    rows = document["growth"]
    assert rows, document
    return rows[0]


@pytest.mark.parametrize("case", [case for case in CASES if case in LINES])
def test_a_line_that_grows_is_named(lab: Any, case: str) -> None:
    row = fastest(growth(lab, case))
    assert (Path(row["location"]["file"]).name, row["location"]["line"]) == (
        "grows.py",
        LINES[case],
    )
    assert not row["is_slow"]


@pytest.mark.parametrize("case", [case for case in CASES if case not in LINES])
def test_nothing_else_is(lab: Any, case: str) -> None:
    assert growth(lab, case)["growth"] == []


def test_the_zoo_has_both() -> None:
    assert len(LINES) >= 12 and len(CASES) - len(LINES) >= 8
    assert set(LINES) <= set(CASES)


def test_the_report_says_how_to_find_what_keeps_blocks_alive(lab: Any) -> None:
    run = lab.once("grows.py", "closure")
    hint = "What keeps these blocks alive is found by a run with --hold end"
    assert hint in lab.report("leaks", run.trace)
    held = lab.run("grows.py", "closure", options=["--hold", "end"])
    text = lab.report("leaks", held.trace)
    assert hint not in text
    assert "held: " in text


# Bytes, blocks and the first step, as the program's own numbers say. A step ends with the
# optimizer's, so that what follows it is part of the next one.
@pytest.mark.parametrize(
    ("case", "bytes_per_step", "blocks_per_step", "first_step"),
    [
        ("global_cache", 256 * KIB, 1, 1),
        ("cycle", 256 * KIB, 1, 1),
        ("exception_kept", 256 * KIB, 1, 1),
        ("closure", 256 * KIB, 1, 1),
        ("begins_late", 256 * KIB, 1, 13),
        ("accumulation_keeps", 4 * 32 * KIB, 4, 0),
        ("inference", 64 * KIB, 1, 0),
        ("appended", 16 * KIB, 0, 1),
        ("evaluation_keeps", 64 * KIB / 3, 1 / 3, 1),
    ],
)
def test_how_much_and_since_when(
    lab: Any, case: str, bytes_per_step: float, blocks_per_step: float, first_step: int
) -> None:
    row = fastest(growth(lab, case))
    assert row["bytes_per_step"] == pytest.approx(bytes_per_step)
    assert row["blocks_per_step"] == pytest.approx(blocks_per_step)
    assert row["first_step"] == first_step


def test_a_cache_that_is_full_has_levelled_off(lab: Any) -> None:
    [row] = growth(lab, "cache_levels_off")["levelled_off"]
    assert (row["level_bytes"], row["last_step"]) == (8 * 256 * KIB, 8)


@pytest.mark.parametrize("case", ["cycle_collected", "emptied_each_epoch"])
def test_what_is_freed_at_once_now_and_then_returns(lab: Any, case: str) -> None:
    rows = growth(lab, case)["returning"]
    assert len(rows) == 1
    assert rows[0]["fall_count"] >= 2


def test_without_steps_growth_is_a_rate_over_time(lab: Any) -> None:
    document = growth(lab, "no_steps")
    assert document["unit"] == "time"
    row = fastest(document)
    assert row["bytes_per_step"] is None
    assert row["bytes_per_second"] > 0


def test_what_is_left_at_the_end_is_no_part_of_the_training(lab: Any) -> None:
    left = growth(lab, "global_cache")["at_end"]
    kept = [row for row in left if row["location"]["line"] == LINES["global_cache"]]
    # What follows the last step is part of none.
    assert sum(row["bytes"] for row in kept) == 23 * 256 * KIB
    assert sum(row["count"] for row in kept) == 23
    assert (kept[0]["first_step"], kept[-1]["last_step"]) == (1, 23)
    assert {row["category"] for row in left}.isdisjoint(
        {"parameter", "gradient", "optimizer state"}
    )


def test_status_1_on_growth_when_asked(lab: Any) -> None:
    for case, status in (("global_cache", 1), ("plain", 0)):
        trace = str(lab.once("grows.py", case).trace)
        assert lab.peakline("leaks", trace).returncode == 0
        assert lab.peakline("leaks", trace, "--fail-on-growth").returncode == status


def test_other_keys_find_the_same_growth(lab: Any) -> None:
    trace = lab.once("grows.py", "global_cache").trace
    for by in ("stack", "module", "category", "thread", "line,category"):
        assert fastest(leaks(lab, trace, "--by", by))["bytes_per_step"] == 256 * KIB, by


def test_the_end_of_a_run_says_so_unasked(lab: Any, tmp_path: Path) -> None:
    said = {}
    for case in ("global_cache", "plain", "appended"):
        words = ["run", "--simulate", "h200", "-o", str(tmp_path / case), "--python", lab.python]
        done = lab.peakline(*words, str(PROGRAMS / "grows.py"), case)
        said[case] = [line for line in done.stderr.splitlines() if "peakline: grows" in line]
    code = SOURCE[LINES["global_cache"] - 1].strip()
    assert len(said["global_cache"]) == 1
    assert "grows 256.0 KB per step at " in said["global_cache"][0]
    assert f"grows.py:{LINES['global_cache']} {' '.join(code.split())}" in said["global_cache"][0]
    assert said["plain"] == said["appended"] == []


def test_a_search_for_holders_names_what_holds_the_rows(lab: Any) -> None:
    run = lab.run("grows.py", "global_cache", options=["--hold", "end"])
    [holder, *_] = fastest(leaks(lab, run.trace))["holders"]
    assert "CACHE[*]" in holder["path"]
    assert "held: " in lab.report("leaks", run.trace)
