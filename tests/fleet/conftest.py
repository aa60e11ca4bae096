"""Engines for the tests; what is not installed skips them with that reason."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from here import LACKING, ROOT

sys.path.insert(0, str(ROOT / "pyhook"))


# The tests cannot even be read without it.
collect_ignore_glob = ["test_*.py"] if "pyarrow" in LACKING else []


def pytest_collection_modifyitems(items: list[Any]) -> None:
    if LACKING:
        skipped = pytest.mark.skip(reason=f"needs {', '.join(LACKING)}: make setup")
        for item in items:
            if Path(item.fspath).parent == Path(__file__).parent:
                item.add_marker(skipped)
