"""Graphs that run as code of torch.fx: memory is on the line and the module of the model.

The oracle is the program itself: comments state the bytes of each line.
"""

from __future__ import annotations

import re
from collections import Counter

import pytest
from lab import PROGRAMS, Lab, Run

PROGRAM = PROGRAMS / "compiled_graphs.py"
UP = 512 * 256 * 4  # bytes of a weight; of a gradient, too
HIDDEN = 96 * 512 * 4  # bytes of a value between both layers


@pytest.fixture(scope="module")
def run(lab: Lab) -> Run:
    return lab.once(PROGRAM.name)


@pytest.mark.parametrize("frame", ["caller", "user"])
def test_every_line_of_a_graph_has_its_bytes(lab: Lab, run: Run, frame: str) -> None:
    stated = {
        number: int(found[1])
        for number, line in enumerate(PROGRAM.read_text().splitlines(), 1)
        if (found := re.search(r"# bytes: (\d+)$", line))
    }
    rows = lab.table(run.trace, "--at", "end", "--top", "0", "--frame", frame)["rows"]
    lines = {row["location"]["line"]: row["bytes"] for row in rows if row["location"]}
    assert {line: lines[line] for line in stated} == stated
    assert not [row for row in rows if row["key"].endswith("GraphModule")]


def test_every_module_of_a_graph_has_its_bytes(lab: Lab, run: Run) -> None:
    found: Counter[str] = Counter()
    rows = lab.table(run.trace, "--at", "end", "--top", "0", "--by", "module")["rows"]
    for row in rows:
        # Several models: the names begin with theirs.
        found[row["key"].partition(".")[2]] += row["bytes"]
    # Four models, of which three keep their values, and one its gradients.
    parts = {"up": 4 * UP + 3 * HIDDEN + UP, "down": 4 * UP + 3 * HIDDEN // 2 + UP}
    expected = {f"blocks.{i}.{name}": size for i in (0, 1) for name, size in parts.items()}
    expected["blocks.1.down"] += HIDDEN // 2  # the result of the one with gradients
    expected |= {f"blocks.{i}": 3 * HIDDEN for i in (0, 1)}
    assert {name: found[name] for name in expected} == expected


def test_values_that_a_graph_saves_are_activations(lab: Lab, run: Run) -> None:
    rows = lab.table(run.trace, "--at", "end", "--top", "0", "--by", "line,category")["rows"]
    gelu = 1 + next(i for i, line in enumerate(PROGRAM.read_text().splitlines()) if "gelu" in line)
    at_gelu = {row["keys"][1] for row in rows if row["keys"][0].split()[0].endswith(f":{gelu}")}
    assert at_gelu == {"activation"}
