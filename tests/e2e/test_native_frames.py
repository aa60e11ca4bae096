"""Native frames in tables, against the native stacks that torch itself records."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from lab import PROGRAMS, Lab, Run

MIB = 1 << 20


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("native-frames") / "allocates_natively.so"
    source = str(PROGRAMS / "allocates_natively.cpp")
    subprocess.run(["g++", "-shared", "-fPIC", "-o", str(library), source, "-ldl"], check=True)
    return library


@pytest.fixture(scope="module")
def all_stacks(lab: Lab, library: Path) -> Run:
    return lab.once("native_lines.py", str(library))


@pytest.fixture(scope="module")
def native_stacks(lab: Lab, library: Path) -> Run:
    return lab.once("native_lines.py", str(library), options=["--stacks", "native"])


def without_clone(name: str) -> str:
    return name.split(" [clone")[0]


def assert_same_frames(ours: list[str], torchs: list[str]) -> None:
    """torch begins within its recorder; its engine is called through a function of ours."""
    torchs = [name for name in torchs if "peakline" not in name]
    pairs = list(zip(ours, torchs[torchs.index(ours[0]) :], strict=False))
    # Not Python's and the system's, whose inlined functions torch names where it can.
    named = [pair for pair in pairs if "::" in pair[0]]
    assert len(named) >= 10
    assert [name for name, _ in named] == [name for _, name in named]


def test_native_frames_of_a_stack_are_torchs(lab: Lab, all_stacks: Run) -> None:
    table = lab.table(all_stacks.trace, "--by", "stack", "--native", "--at", "end")
    rows = [
        [without_clone(f["qualified_name"]) for f in row["stack"] if f["native"]]
        for row in table["rows"]
    ]
    torchs = {tuple(map(without_clone, stack)) for stack in all_stacks.said}
    assert len(rows) == len(torchs) == 4
    for ours in rows:
        # The outermost operator tells which of torch's stacks it is.
        operator = [name for name in ours if name.startswith("at::_ops::")][-1]
        (stack,) = (list(stack) for stack in torchs if operator in stack)
        assert_same_frames(ours, stack)


def test_a_stack_goes_on_with_python(lab: Lab, all_stacks: Run) -> None:
    options = ["--by", "stack", "--at", "end"]
    native = lab.table(all_stacks.trace, *options, "--native")["rows"]
    python = lab.table(all_stacks.trace, *options)["rows"]
    outward = {str([f for f in row["stack"] if not f["native"]]) for row in native}
    assert outward == {str(row["stack"]) for row in python}
    assert len(outward) == 3  # two lines, and the thread without Python


def test_rows_of_native_stacks_are_native_functions(lab: Lab, native_stacks: Run) -> None:
    table = lab.table(native_stacks.trace, "--at", "end")
    rows = {row["key"]: row for row in table["rows"]}
    (own,) = (key for key in rows if key.endswith("(allocates_natively.so)"))
    assert rows[own]["bytes"] == 5 * MIB
    assert [part["name"] for part in rows[own]["via"]] == ["aten::empty_strided"]
    for name in ("full", "exp", "mul_Tensor"):
        assert rows[f"at::_ops::{name}::call (libtorch_cpu.so)"]["bytes"] == 3 * MIB
    assert sum(row["bytes"] for row in table["rows"]) == table["total_bytes"]


def test_what_was_not_recorded_is_said_with_the_option(
    lab: Lab, all_stacks: Run, native_stacks: Run
) -> None:
    text = lab.report("table", native_stacks.trace)
    assert "no python frame" not in text
    assert "Recorded with --stacks native: Python lines were not recorded" in text
    assert "record with --stacks all" in text
    assert "Recorded with" not in lab.report("table", all_stacks.trace)
    python = lab.once("holds_sizes.py", options=["--stacks", "python"]).trace
    assert "Recorded with" not in lab.report("table", python)
    text = lab.report("table", python, "--by", "stack", "--native")
    assert "Recorded with --stacks python: native frames were not recorded" in text
    refused = lab.peakline("table", str(python), "--native")
    assert refused.returncode == 2
    assert "--native" in refused.stderr and "--by stack" in refused.stderr
