"""What a program can see of itself is the same with and without recording.

Each program prints what it sees; the oracle is its own output without recording. What cannot be
hidden is listed in preload/VISIBLE.md.
"""

from __future__ import annotations

import re
import signal
from collections import Counter
from typing import Any

import pytest
from lab import ON_GPU, ROOT, Lab, Run


def own_lines(run: Run) -> list[str]:
    """What the program and Python wrote to standard error."""
    return [line for line in run.stderr.splitlines() if not line.startswith("peakline: ")]


def both(lab: Lab, program: str) -> tuple[Run, Run]:
    return lab.once(program), lab.once(program, recorded=False)


def test_objects_look_the_same_and_die_at_the_same_moments(lab: Lab) -> None:
    recorded, plain = both(lab, "own_objects.py")
    assert recorded.said == plain.said
    assert len(plain.said) > 60
    assert all(facts["weak"] == 0 for key, facts in plain.said.items() if " parameter " in key)


def test_nothing_is_printed_when_modules_outlive_the_interpreter(lab: Lab) -> None:
    recorded, plain = both(lab, "own_objects.py")
    assert own_lines(recorded) == own_lines(plain)


def test_modules_keep_their_names_while_tensors_and_classes_are_swapped(lab: Lab) -> None:
    recorded, _ = both(lab, "own_objects.py")
    rows = lab.table(recorded.trace, "--by", "tensor", "--at", "end")["rows"]
    # Those of the model that outlives its interpreter.
    assert "gradient of Linear.weight" in {re.sub(r"#\d+", "", row["key"]) for row in rows}


@pytest.fixture(scope="module")
def processes(lab: Lab) -> tuple[dict[str, Any], dict[str, Any]]:
    recorded, plain = both(lab, "own_process.py")
    assert own_lines(recorded) == own_lines(plain)
    return recorded.said, plain.said


# By the words of preload/VISIBLE.md: what recording may add, as patterns of whole names.
MAY_ADD = {
    "modules": r"peakline\._recorder",
    "files": r"run\.peak",
    "mapped files": r"_recorder\.abi3\.so|libpeakline.*\.so|libpkunwind\.so|run\.peak",
    "environment": r"LD_PRELOAD|PEAKLINE_\w+",
}
OTHERS = ("exit callbacks", "signals")
# `--no-record` passes on the list of value reads by a file, recording by the trace.
MAY_LACK = r"PEAKLINE_SIM_READS|reads"


def test_a_process_differs_only_as_documented(
    processes: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    recorded, plain = processes
    assert recorded.keys() == plain.keys()
    differs = {key for key in plain if recorded[key] != plain[key]}
    assert differs == {*MAY_ADD, *OTHERS}
    assert recorded["exit callbacks"] == plain["exit callbacks"] + 1
    caught = [int(of["signals"].pop("SigCgt").split()[1], 16) for of in processes]
    assert caught[0] == caught[1] | 1 << (signal.SIGBUS - 1)
    assert recorded["signals"] == plain["signals"]
    for key, pattern in MAY_ADD.items():
        added = Counter(recorded[key]) - Counter(plain[key])
        lacking = Counter(plain[key]) - Counter(recorded[key])
        assert [name for name in added if not re.fullmatch(pattern, name)] == []
        assert [name for name in lacking if not re.fullmatch(MAY_LACK, name)] == []
        assert sum(added.values()) <= 1 or key != "modules"


def test_the_differences_are_those_of_the_document() -> None:
    document = (ROOT / "preload" / "VISIBLE.md").read_text()
    rows = re.findall(r"^\| ([a-z ]+) \|", document, re.MULTILINE)
    assert set(rows) - {"seen in"} == {*MAY_ADD, *OTHERS}


@pytest.mark.skipif(ON_GPU, reason="the meta start needs one rank and its collective library")
def test_fully_sharded_modules_may_begin_on_the_meta_device(lab: Lab) -> None:
    recorded, plain = both(lab, "meta_start.py")
    assert recorded.said == plain.said
    table = lab.table(recorded.trace)
    assert table["peak_bytes"] == recorded.said["peak_bytes"]
