"""CUDA first used without the GIL: lines come with the GIL, and what has none is counted."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from lab import PROGRAMS, Run, together

PROGRAM = "first_without_gil.py"
WAYS = ("process group", "device mesh", "thread", "native", "killed")
BLOCKS = 3
BYTES = BLOCKS << 20


@pytest.fixture(scope="module")
def runs(lab: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    base = tmp_path_factory.mktemp("without-gil")
    library = base / "allocates_natively.so"
    source = str(PROGRAMS / "allocates_natively.cpp")
    subprocess.run(["g++", "-shared", "-fPIC", "-o", str(library), source, "-ldl"], check=True)
    return together(
        {
            way: lambda way=way: lab.recorded(
                base / way, str(PROGRAMS / PROGRAM), way, str(library)
            )
            for way in WAYS
        }
    )


def rows_of(lab: Any, run: Run) -> dict[str, int]:
    table = lab.table(run.traces[0])
    assert (table["complete"], table["problems"]) == (True, [])
    assert table["peak_bytes"] == run.said["peak"] == sum(row["bytes"] for row in table["rows"])
    return {row["key"].rsplit("/", 1)[-1]: row["bytes"] for row in table["rows"]}


@pytest.mark.parametrize("way", WAYS[:3])
def test_the_first_line_after_it_has_its_memory(lab: Any, runs: dict[str, Run], way: str) -> None:
    run = runs[way]
    assert (run.status, run.notes) == (0, []), run.stderr
    rows = rows_of(lab, run)
    assert rows[f"{PROGRAM}:{run.said['line']} (allocate_after)"] == 3 << 20
    assert not any("Python" in key or "python" in key for key in rows)
    table = lab.table(run.traces[0])
    assert table["lines_missing"] is None
    assert "Python stacks" not in lab.report("table", run.traces[0])


def test_what_was_allocated_before_is_counted_in_every_report(
    lab: Any, runs: dict[str, Run]
) -> None:
    run = runs["native"]
    assert run.said["before"] == BYTES
    rows = rows_of(lab, run)
    assert rows["before Python stacks could be read"] == BYTES
    assert rows[f"{PROGRAM}:{run.said['line']} (allocate_after)"] == 3 << 20
    [note] = run.notes
    assert f"{BLOCKS} blocks ({BYTES} bytes) have no Python lines" in note
    assert "torch.cuda.set_device()" in note
    for command in ("table", "summary", "stats", "phases", "tensors", "ops", "layers", "timeline"):
        text = lab.report(command, run.traces[0])
        assert "3 blocks (3.000 MB) were allocated before Python" in text, command
        said = json.loads(lab.report(command, run.traces[0], "--json"))
        assert said["lines_missing"] == {"blocks": BLOCKS, "bytes": BYTES}, command


def test_a_program_killed_before_that_has_a_table_that_says_so(
    lab: Any, runs: dict[str, Run]
) -> None:
    [trace] = runs["killed"].traces
    assert lab.table(trace)["rows"][0]["key"] == "before Python stacks could be read"
    assert lab.table(trace)["lines_missing"] == {"blocks": None, "bytes": None}
    text = lab.report("table", trace)
    assert "The blocks were allocated before Python stacks could be read" in text
