"""COVERAGE.md is whole, and names tests and commands that exist."""

from __future__ import annotations

import ast
import re
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COUNTS = {"S0": 49, "S1": 33, "S2": 17, "S3": 16, "S4": 13}
LEAST_REASON = 30  # characters

sys.path.insert(0, str(ROOT / "pyhook"))


def rows() -> list[list[str]]:
    lines = (ROOT / "tests" / "reference" / "COVERAGE.md").read_text().splitlines()
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in lines
        if line.startswith("| S")
    ]


def named(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


@cache
def functions_of(file: Path) -> set[str]:
    tree = ast.parse(file.read_text())
    return {one.name for one in tree.body if isinstance(one, ast.FunctionDef)}


def test_every_number_is_there_once_and_in_order() -> None:
    wanted = [f"{one}-{n:02}" for one, count in COUNTS.items() for n in range(1, count + 1)]
    assert len(wanted) == 128
    assert [row[0] for row in rows()] == wanted
    assert {len(row) for row in rows()} == {4}


def test_every_row_says_what_shows_it_or_why_not() -> None:
    for number, what, state, shown in rows():
        assert what
        assert state in ("has", "different", "not yet"), number
        words = re.sub(r"`[^`]+::[^`]+`", "", shown)
        if state == "has":
            assert any("::" in one or one.startswith("peakline ") for one in named(shown)), number
        else:
            assert len(words.strip(" ,;:")) >= LEAST_REASON, number


def test_every_file_and_test_that_is_named_exists() -> None:
    count = 0
    for number, *_, shown in rows():
        for one in named(shown):
            file, _, test = one.partition("::")
            if file.startswith("tests/"):
                assert (ROOT / file).is_file(), (number, one)
            if test:
                assert test.startswith("test_"), (number, one)
                assert test in functions_of(ROOT / file), (number, one)
                count += 1
    assert count > 100


def test_every_command_that_is_named_exists() -> None:
    from peakline.commands import all_commands
    from peakline.exports import FORMATS

    commands = {one.name for one in all_commands()}
    found = set()
    for number, *_, shown in rows():
        for one in named(shown):
            program, *words = one.split()
            if program == "peakline":
                assert words[0] in commands, (number, one)
                assert words[0] != "export" or words[1] in FORMATS, (number, one)
                found.add(words[0])
    assert len(found) > 10
