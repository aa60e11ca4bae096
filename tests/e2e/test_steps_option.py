"""`peakline run --steps N`: the program ends after N steps of its optimizers, cleanly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lab import ON_GPU, PROGRAMS

PROGRAM = str(PROGRAMS / "ends_after_steps.py")
# Two steps of both optimizers; the second step of the second one does not come back.
PRINTED = ["0 a", "finally", "0 b", "finally", "1 a", "finally", "1 b"]
SAID = "peakline: the program was ended after 2 optimizer steps, as --steps asks"


def test_the_program_ends_with_status_0_and_a_whole_trace(lab: Any, tmp_path: Path) -> None:
    options = ["-q", "-o", "run.peak", "--steps", "2"]
    done = lab.recorded(tmp_path, PROGRAM, options=options)
    assert (done.status, done.stdout.splitlines()) == (0, PRINTED), done.stderr
    assert done.notes.count(SAID) == 1
    table = lab.table(tmp_path / "run.peak")
    assert (table["complete"], table["problems"]) == (True, [])
    assert table["ended_after_steps"] == "2"
    text = lab.report("table", tmp_path / "run.peak")
    assert "ended after 2 optimizer steps (--steps): this is not its whole run" in text
    phases = lab.report("phases", tmp_path / "run.peak")
    assert "4 steps" in phases or "Steps: 4" in phases


@pytest.mark.skipif(ON_GPU, reason="needs two devices")
def test_every_rank_ends(lab: Any, tmp_path: Path) -> None:
    words = ["--", lab.python, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    words += [PROGRAM, "ranks"]
    options = ["-q", "-o", "run.%r.peak", "--steps", "2"]
    done = lab.recorded(tmp_path, *words, options=options, device="h200x2")
    assert done.status == 0, done.stderr
    # Lines of two ranks may be mixed, their letters are all there.
    assert sorted(done.stdout.replace("\n", "")) == sorted("".join(PRINTED * 2))
    assert done.stderr.count(SAID) == 1
    tables = [lab.table(trace) for trace in done.traces]
    assert [table["complete"] for table in tables] == [True, True]


def test_a_program_that_is_not_recorded_ends_as_well(lab: Any, tmp_path: Path) -> None:
    words = ["-m", "peakline", "run", "-q", "--steps", "2", "--python", lab.python, PROGRAM, "cpu"]
    done = lab.plain(tmp_path, lab.python, *words)
    assert (done.status, done.stdout.splitlines()) == (0, PRINTED), done.stderr


def test_a_number_below_1_is_refused(lab: Any) -> None:
    done = lab.peakline("run", "--steps", "0", "-c", "print('ran')")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--steps 0" in done.stderr
