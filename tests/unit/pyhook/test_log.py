"""Messages of the API: standard error, or the program's own logging."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SAY = "from peakline.api.log import logger\nlogger().info('one')\nlogger().warning('two')\n"


def said(program: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": str(ROOT / "pyhook")} | environment,
    )
    assert done.stdout == ""
    return done.stderr


@pytest.mark.parametrize(
    ("level", "shown"),
    [("", "onetwo"), ("debug", "onetwo"), ("WARNING", "two"), ("error", ""), ("30", "two")],
)
def test_the_variable_sets_the_level(level: str, shown: str) -> None:
    lines = said(SAY, PEAKLINE_LOG=level).splitlines()
    assert lines == [f"peakline: {word}" for word in ("one", "two") if word in shown]


def test_a_program_that_configures_logging_gets_each_message_once() -> None:
    program = "import logging\nlogging.basicConfig(format='%(name)s/%(message)s', level=10)\n" + SAY
    assert said(program) == "peakline/one\npeakline/two\n"
    program = "import logging\nlogging.getLogger('peakline').setLevel(40)\n" + SAY
    assert said(program) == ""
