"""Memory of compiled code is on the line and the module of the model that made it.

The oracle is the program itself: comments state the bytes of each line. It runs three times with
one cache of torch: an empty one; a filled one; and, edited, one that another version filled.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from lab import PROGRAMS, ROOT, Lab, Run

PROGRAM = PROGRAMS / "compiled_lines.py"
FROM_ANOTHER_VERSION = "compiled code from a cache of another version of this file"
# Starting workers that compile takes longer than they save.
NO_WORKERS = {"TORCHINDUCTOR_COMPILE_THREADS": "1"}
# Functions of the program that torch compiles, and the function within one of them.
COMPILED = re.findall(r"def (?!main|__init__)(\w+)", PROGRAM.read_text())


def stated(source: str) -> dict[int, int]:
    """Bytes by line, from the comments of a program."""
    found = {
        number: int(made[1])
        for number, line in enumerate(source.splitlines(), 1)
        if (made := re.search(r"# bytes: (\d+)$", line))
    }
    assert len(found) >= 14
    return found


def rows_at_end(lab: Lab, run: Run, *options: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = lab.table(run.trace, "--at", "end", "--top", "0", *options)["rows"]
    return rows


def by_line(lab: Lab, run: Run, *options: str) -> dict[int, int]:
    """Bytes by line of the compiled functions at the end of the program."""
    return {
        row["location"]["line"]: row["bytes"]
        for row in rows_at_end(lab, run, *options)
        if row["location"] and row["location"]["function"] in COMPILED
    }


class Runs:
    """The runs of one cache."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        self.lab, self.folder = lab, folder
        self.cold = self.run(PROGRAM.read_text())
        self.warm = self.run(PROGRAM.read_text())
        self.shifted = self.run("# one\n# two\n# three\n" + PROGRAM.read_text())
        text = PROGRAM.read_text().replace("hidden", "wide").replace("first", "renamed")
        self.renamed = self.run(text)

    def run(self, source: str) -> Run:
        program = self.folder / PROGRAM.name
        program.write_text(source)
        environment = {
            "TORCHINDUCTOR_CACHE_DIR": str(self.folder / "cache"),
            "PYTHONPATH": f"{ROOT / 'pyhook'}:{PROGRAMS}",
            **NO_WORKERS,
        }
        run = self.lab.run(program, environment=environment)
        assert run.status == 0, run.stderr
        return run


@pytest.fixture(scope="module")
def runs(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    return Runs(lab, tmp_path_factory.mktemp("compiled"))


@pytest.mark.parametrize("frame", ["caller", "leaf", "user"])
def test_every_line_of_compiled_code_has_its_bytes(lab: Lab, runs: Runs, frame: str) -> None:
    assert by_line(lab, runs.cold, "--frame", frame) == stated(PROGRAM.read_text())


def test_compiled_code_has_the_operators_of_its_lines(lab: Lab, runs: Runs) -> None:
    lines = PROGRAM.read_text().splitlines()
    found: dict[int, set[str]] = {}
    for row in rows_at_end(lab, runs.cold, "--by", "line,op"):
        if row["location"] and row["location"]["function"] in COMPILED:
            found.setdefault(row["location"]["line"], set()).add(row["keys"][1])
    seen = 0
    for line, operators in found.items():
        if made := re.search(r"torch\.(sin|tan|sinh|cosh|tanh)\(|(@)", lines[line - 1]):
            assert operators == {f"aten::{made[1] or 'mm'}"}, lines[line - 1]
            seen += 1
    assert seen == 9
    [one_kernel] = found[1 + lines.index("    a = torch.cos(x)  # bytes: 262144")]
    assert one_kernel == "fused: cos, add, _to_copy"


def test_the_facts_of_a_trace_are_those_that_the_recorder_wrote(lab: Lab, runs: Runs) -> None:
    facts = lab.noted(runs.cold.trace)
    kinds = {key.split(":")[1] for key in facts if key.startswith("compiled:")}
    assert kinds == {"code", "frame", "line"}


def test_lines_are_the_same_with_a_filled_cache(lab: Lab, runs: Runs) -> None:
    assert runs.cold.said["hits"] < runs.warm.said["hits"]
    assert by_line(lab, runs.warm) == stated(PROGRAM.read_text())


def test_lines_that_moved_are_those_of_the_program_that_ran(lab: Lab, runs: Runs) -> None:
    assert runs.shifted.said["hits"] == runs.warm.said["hits"]
    moved = {line + 3: size for line, size in stated(PROGRAM.read_text()).items()}
    assert by_line(lab, runs.shifted) == moved


def test_a_line_is_never_that_of_another_version(lab: Lab, runs: Runs) -> None:
    expected = stated(PROGRAM.read_text())
    lost = 0
    for row in rows_at_end(lab, runs.renamed):
        if not row["location"] or row["location"]["function"] not in COMPILED:
            continue
        if {via["name"] for via in row["via"]} == {FROM_ANOTHER_VERSION}:
            lost += row["bytes"]
        else:
            assert row["bytes"] == expected.pop(row["location"]["line"])
    assert lost == sum(expected.values()) > 0


def test_a_compiled_model_has_its_bytes_on_its_modules(lab: Lab, runs: Runs) -> None:
    rows = rows_at_end(lab, runs.cold, "--by", "module")
    # Graphs that torch keeps are models, too; then the names begin with the model.
    found = {row["key"].removeprefix("Model."): row["bytes"] for row in rows}
    # Weights and gradients of both widths; the results of `down`.
    weights = {"layers.0.up": 512 * 256 * 4, "layers.1.up": 1024 * 256 * 4}
    weights |= {name.replace("up", "down"): size for name, size in weights.items()}
    results = {"layers.0.down": 96 * 256 * 4, "layers.1.down": 96 * 256 * 4}
    expected = {name: 2 * size + results.get(name, 0) for name, size in weights.items()}
    assert {name: size for name, size in found.items() if name.startswith("layers")} == expected


def test_the_callers_of_a_compiled_function_follow_its_lines(lab: Lab, runs: Runs) -> None:
    tree = lab.report("tree", runs.cold.trace, "--at", "end", "--frame", "user")
    stacks = re.findall(r"compiled_lines\.py:\d+ (\S+)", tree)
    assert stacks[0] == "<module>"
    assert stacks.index("main") < min(stacks.index(name) for name in ("twin", "broken", "forward"))


def test_the_program_compiles_as_often_as_without_peakline(lab: Lab, runs: Runs) -> None:
    plain = lab.run(
        PROGRAM,
        recorded=False,
        environment={"TORCHINDUCTOR_CACHE_DIR": str(runs.folder / "cache"), **NO_WORKERS},
    )
    assert plain.said == runs.warm.said
