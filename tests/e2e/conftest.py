"""Labs for the end-to-end tests, see lab.py.

A test asks for `lab` (the interpreter that runs pytest) or `each_lab` (the same, once for every
interpreter in PEAKLINE_TEST_PYTHONS, separated by colons).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from lab import Lab
from pytest_runs import PytestRuns

PYTHONS = [
    sys.executable,
    *(p for p in os.environ.get("PEAKLINE_TEST_PYTHONS", "").split(":") if p),
]


def _make_lab(python: str, factory: pytest.TempPathFactory) -> Lab:
    return Lab(python, factory.mktemp("lab"))


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return _make_lab(PYTHONS[0], tmp_path_factory)


@pytest.fixture(scope="session")
def _labs(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Lab]:
    return {p: lab if p == lab.python else _make_lab(p, tmp_path_factory) for p in PYTHONS}


@pytest.fixture(scope="session", params=PYTHONS, ids=lambda python: Path(python).parts[-3])
def each_lab(request: pytest.FixtureRequest, _labs: dict[str, Lab]) -> Lab:
    return _labs[request.param]


@pytest.fixture
def run_pytest(lab: Lab, tmp_path: Path) -> PytestRuns:
    """Runs pytest, with our plugin, in a folder of its own."""
    return PytestRuns(lab, tmp_path)
