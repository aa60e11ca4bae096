"""Every pattern of tests/long.py matches tests, and what it names as covering them exists."""

from __future__ import annotations

import re
from fnmatch import translate
from pathlib import Path

import pytest
from long import LONG, is_long

TESTS = Path(__file__).resolve().parents[1]
FILES = {path.name: path for path in TESTS.rglob("test_*.py")}


@pytest.mark.parametrize("pattern", LONG)
def test_a_pattern_matches_tests_that_are_there(pattern: str) -> None:
    file, _, name = pattern.partition("::")
    functions = re.findall(r"^def (test_\w+)\(", FILES[file].read_text(), re.MULTILINE)
    wanted = re.compile(translate(name.partition("[[]")[0]))
    assert any(map(wanted.fullmatch, functions))
    for covering in re.findall(r"\btest_\w+\.py", LONG[pattern]):
        assert covering in FILES


def test_other_tests_are_not_long() -> None:
    assert is_long("tests/families/test_families.py::test_a_program_runs[deepspeed 2]")
    assert not is_long("tests/families/test_families.py::test_a_program_runs[ddp late]")
    assert not is_long("tests/e2e/test_fit.py::test_the_heaviest_line_is_named")
