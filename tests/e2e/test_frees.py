"""`peakline run --frees`: the line that gives a block up, for blocks freed at known lines."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from lab import PROGRAMS, Lab, Run

PROGRAM = PROGRAMS / "frees_blocks.py"
COLLECTOR = "garbage collection at "
# Block, how its row begins.
FREES = {
    "deleted": "",
    "reassigned": "",
    "returned": "",
    "collected": COLLECTOR,
    "collected by itself": COLLECTOR,
    "used by another stream": "",
    "handed over": "",
    "gradient": "",
}


def marked_lines(word: str) -> dict[str, set[int]]:
    """Return the lines with the comment `# WORD NAME`, by name."""
    lines = defaultdict(set)
    for number, line in enumerate(PROGRAM.read_text().splitlines(), 1):
        _, found, name = line.partition(f"# {word} ")
        if found:
            lines[name].add(number)
    return lines


def names_its_collector() -> bool:
    """Whether this Python has its symbols; distributions leave them out."""
    library = Path(sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("LDLIBRARY"))
    files = (library, Path(os.path.realpath(sys.executable)))
    return any(b"gc_collect_main" in file.read_bytes() for file in files if file.is_file())


def run_of(lab: Lab) -> Run:
    return lab.once(PROGRAM.name, options=("--frees",))


@pytest.fixture(scope="module")
def freed(lab: Lab) -> dict[str, dict[str, Any]]:
    """Return the table by freeing line, for either choice of the frame."""
    by = ("--by", "freed-by", "--measure", "requested", "--frame")
    return {frame: lab.table(run_of(lab).trace, *by, frame) for frame in ("user", "leaf")}


def row_of(lab: Lab, table: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the row with the block of this name: its size is its own."""
    size = run_of(lab).said["sizes"][name]
    freed_rows = [row for row in table["rows"] if row["location"] is not None]
    found = [row for row in freed_rows if row["median_bytes"] == size]
    assert len(found) == 1, table["rows"]
    return found[0]


@pytest.mark.parametrize("name", FREES)
def test_the_line_that_frees_a_block_is_told(lab: Lab, freed: Any, name: str) -> None:
    row = row_of(lab, freed["user"], name)
    assert row["location"]["file"] == str(PROGRAM)
    assert row["location"]["line"] in marked_lines("frees")[name], row["key"]
    prefix = FREES[name] if names_its_collector() else ""
    assert row["key"].startswith(prefix + str(PROGRAM)), row["key"]


def test_the_innermost_line_of_zero_grad_is_in_torch(lab: Lab, freed: Any) -> None:
    row = row_of(lab, freed["leaf"], "gradient")
    assert row["location"]["file"].endswith("/torch/optim/optimizer.py")


def test_what_autograd_lets_go_is_named_by_its_forward_line(lab: Lab, freed: Any) -> None:
    row = row_of(lab, freed["user"], "saved")
    assert row["location"]["line"] in marked_lines("saves")["for autograd"]
    assert row["key"].startswith("backward of "), row["key"]


def test_what_is_live_at_the_end_was_not_freed(lab: Lab, freed: Any) -> None:
    live = [row for row in freed["leaf"]["rows"] if row["location"] is None]
    assert [row["key"] for row in live] == ["still live at the end"]
    assert live[0]["bytes"] >= run_of(lab).said["sizes"]["kept"]


def test_frees_change_no_other_report(lab: Lab) -> None:
    plain = lab.once(PROGRAM.name)
    table, other = (lab.table(run.trace, "--by", "line") for run in (plain, run_of(lab)))
    assert [row["bytes"] for row in table["rows"]] == [row["bytes"] for row in other["rows"]]
    unknown = lab.table(plain.trace, "--by", "freed-by")
    assert "peakline run --frees" in lab.report("table", plain.trace, "--by", "freed-by")
    keys = {row["key"] for row in unknown["rows"]}
    assert all(key.startswith(("in ", "between ", "still live")) for key in keys), keys
