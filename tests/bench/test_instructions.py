"""Instructions an event costs, counted by valgrind, against a kept table.

Instructions do not depend on the load of the machine, so a step back shows that no clock would. The
table may differ by a few percent between compilers. After a deliberate change write it again:
``PEAKLINE_WRITE_INSTRUCTIONS=1 pytest tests/bench/test_instructions.py``.
"""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DRIVER = ROOT / "build" / "instruction_driver"
GOLDEN = Path(__file__).with_name("golden_instructions.json")
KINDS = ("plain", "churn", "native5", "native20", "native60")
FREES = ("plain", "native20")
PYTHON_DEPTHS = (5, 20, 60)
TOLERANCE = 0.05
FEW, MANY = 2_000, 6_000
FEW_CAPTURES, MANY_CAPTURES = 200, 1_200
# The loop of peakline_test_bench runs so often.
REPEATS = 7
PYHOOK = ROOT / "tests" / "unit" / "pyhook"
CAPTURE_LOOP = """
import sys
sys.path.insert(0, sys.argv[1])
import capture
loop = capture.library.peakline_test_bench
loop.argtypes = [capture.ctypes.c_int, capture.ctypes.c_long]
def at_depth(depth, count):
    return loop(2, count) if depth <= 1 else at_depth(depth - 1, count)
capture.attach()
at_depth(int(sys.argv[2]) - 1, int(sys.argv[3]))
"""

pytestmark = [
    pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed"),
    pytest.mark.skipif(not DRIVER.exists(), reason=f"make {DRIVER.relative_to(ROOT)} first"),
]


def counted(*words: str, only_in: str | None = None, **environment: str) -> int:
    """Return the instructions of a command, or of one function of it and what that calls."""
    only = [f"--toggle-collect={only_in}"] if only_in else []
    tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *only]
    result = subprocess.run(
        [*tool, *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        env={**os.environ, **environment},
    )
    found = re.search(r"Collected : ([0-9]+)", result.stderr)
    assert result.returncode == 0 and found, result.stderr
    return int(found[1])


def difference(kind: str, *more: str, only_in: str | None = None) -> float:
    """Return instructions of one round of the driver; start and warm-up cancel out."""
    few, many = (counted(str(DRIVER), kind, str(n), *more, only_in=only_in) for n in (FEW, MANY))
    return (many - few) / (MANY - FEW)


def check(name: str, now: float, of: str) -> None:
    """Compare with the table, or write it when asked to."""
    assert now > 0, f"{name}: valgrind saw nothing of it"
    golden = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
    if os.environ.get("PEAKLINE_WRITE_INSTRUCTIONS"):
        GOLDEN.write_text(json.dumps({**golden, name: round(now)}, indent=4) + "\n")
        pytest.skip(f"{GOLDEN.name} was written, not compared")
    assert now == pytest.approx(golden[name], rel=TOLERANCE), (
        f"{name}: {now:.0f} instructions {of}, {golden[name]} in {GOLDEN.name}; "
        "if that is meant: PEAKLINE_WRITE_INSTRUCTIONS=1 pytest tests/bench/test_instructions.py"
    )


@pytest.fixture(scope="module")
def capture_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The capture of Python stacks, callable from Python."""
    spec = importlib.util.spec_from_file_location("pyhook_library", PYHOOK / "interpreters.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.build_library(tmp_path_factory.mktemp("capture") / "libcapture.so")


@pytest.mark.parametrize("kind", KINDS)
def test_a_pair_takes_the_instructions_of_the_table(kind: str) -> None:
    check(kind, difference(kind), "an allocation and its free")


@pytest.mark.parametrize("kind", FREES)
def test_a_free_takes_the_instructions_of_the_table(kind: str) -> None:
    more = [] if kind == "plain" else ["frees"]
    check(f"free {kind}", difference(kind, *more, only_in="free_block"), "a free")


@pytest.mark.parametrize("depth", PYTHON_DEPTHS)
def test_a_python_stack_takes_the_instructions_of_the_table(
    depth: int, capture_library: Path
) -> None:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    name = f"python{depth} on {version}"
    writes = os.environ.get("PEAKLINE_WRITE_INSTRUCTIONS")
    if not writes and name not in json.loads(GOLDEN.read_text()):
        pytest.skip(f"{GOLDEN.name} has no counts of Python {version}")
    few, many = (
        counted(
            *(sys.executable, "-c", CAPTURE_LOOP, str(PYHOOK / "programs"), str(depth), str(count)),
            only_in="*peakline_test_capture_id*",
            PEAKLINE_TEST_LIBRARY=str(capture_library),
        )
        for count in (FEW_CAPTURES, MANY_CAPTURES)
    )
    captures = REPEATS * (MANY_CAPTURES - FEW_CAPTURES)
    check(name, (many - few) / captures, "a stack")
