"""The command line on a stored trace, for the tests of commands."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TRACE = ROOT / "tests" / "data" / "two_steps.trace"

NEEDS_ENGINE = pytest.mark.skipif(
    not (ROOT / "pyhook" / "peakline" / "_report.abi3.so").exists(),
    reason="the report engine is not built: make build",
)


def peakline(*arguments, cwd=ROOT):
    """Run the command line as a user does."""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "pyhook")}
    return subprocess.run(
        [sys.executable, "-m", "peakline", *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment,
        cwd=cwd,
        check=False,
    )


def python(script):
    """Run a program that gets the stored trace as its argument."""
    return subprocess.run(
        [sys.executable, "-c", script, str(TRACE)],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT / "pyhook")},
        check=False,
    )
