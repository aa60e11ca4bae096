"""Instructions an event costs, counted by valgrind, against a kept table.

Instructions do not depend on the load of the machine, so a step back shows that no clock would. The
table may differ by a few percent between compilers. After a deliberate change write it again:
``PEAKLINE_WRITE_INSTRUCTIONS=1 pytest tests/bench/test_instructions.py``.
"""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DRIVER = ROOT / "build" / "instruction_driver"
GOLDEN = Path(__file__).with_name("golden_instructions.json")
KINDS = ("plain", "native5", "native20", "native60")
TOLERANCE = 0.05
FEW, MANY = 2_000, 6_000

pytestmark = [
    pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed"),
    pytest.mark.skipif(not DRIVER.exists(), reason=f"make {DRIVER.relative_to(ROOT)} first"),
]


def instructions(kind: str, count: int) -> int:
    """Return what valgrind counts for the whole driver."""
    result = subprocess.run(
        [
            "valgrind",
            "--tool=callgrind",
            "--callgrind-out-file=/dev/null",
            str(DRIVER),
            kind,
            str(count),
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
    )
    found = re.search(r"Collected : ([0-9]+)", result.stderr)
    assert found, result.stderr
    return int(found[1])


def per_pair(kind: str) -> float:
    """Return instructions of one allocation and its free; start and warm-up cancel out."""
    return (instructions(kind, MANY) - instructions(kind, FEW)) / (MANY - FEW)


@pytest.mark.parametrize("kind", KINDS)
def test_an_event_takes_no_more_instructions_than_the_table_says(kind: str) -> None:
    golden = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
    now = round(per_pair(kind))
    if os.environ.get("PEAKLINE_WRITE_INSTRUCTIONS"):
        GOLDEN.write_text(json.dumps({**golden, kind: now}, indent=4) + "\n")
        return
    assert now == pytest.approx(golden[kind], rel=TOLERANCE), (
        f"{kind}: {now} instructions an allocation and its free, {golden[kind]} in {GOLDEN.name}; "
        "if that is meant: PEAKLINE_WRITE_INSTRUCTIONS=1 pytest tests/bench/test_instructions.py"
    )
