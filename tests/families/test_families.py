"""Programs of the common training libraries hold what families.py says, where installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from families import FAMILIES, compare, lacks
from warm_popen import WarmPopen


@pytest.fixture(autouse=True)
def _warm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", WarmPopen)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_program_runs_as_without_recording_and_has_its_lines(name: str, tmp_path: Path) -> None:
    family = FAMILIES[name]
    if lacks(family, sys.executable):
        pytest.skip(f"not installed: {', '.join(family.needs)}")
    found = compare(family, sys.executable, tmp_path)
    assert found.trouble == []
    assert len(found.shares) == family.ranks
