"""A program that dies at any moment leaves a trace that can be read up to that moment."""

import os
import random
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from lab import PROGRAMS, Run, together

STEPS = str(PROGRAMS / "life_steps.py")
KILLS = 10
# What the next step may add before it is printed: its growing block, whole, and torch's rounding.
MOST_BYTES_A_STEP = 4 << 20


def killed(lab: Any, folder: Path, number: int) -> Run:
    """Kill the program itself, not `peakline run`, some milliseconds after some step."""
    folder.mkdir()
    moment = random.Random(number)
    command = lab.recording_command(STEPS, options=["-q", "-o", "run.peak"])
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, cwd=folder, env=lab.environment(None), stdout=pipe, stderr=pipe, text=True
    ) as process:
        lines = [process.stdout.readline() for _ in range(moment.randint(1, 30))]
        said = Run(0, lines[-1], "", folder).said
        time.sleep(moment.uniform(0, 0.02))  # the moment within a step is what this varies
        os.kill(said["pid"], signal.SIGKILL)
        rest, errors = process.communicate(timeout=120)
    # The last line may be cut where the program was killed.
    whole = ("".join(lines) + rest).rpartition("\n")[0]
    return Run(process.returncode, whole, errors, folder)


@pytest.fixture(scope="module")
def kills(lab: Any, tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    base = tmp_path_factory.mktemp("kills")
    with ThreadPoolExecutor(max_workers=2) as pool:
        return list(pool.map(lambda n: killed(lab, base / f"{n}", n), range(KILLS)))


@pytest.fixture(scope="module")
def crashes(lab: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    base = tmp_path_factory.mktemp("crashes")

    def dies(how: str) -> Any:
        return lambda: lab.recorded(base / how, STEPS, how, options=["-o", "run.peak"])

    return together({how: dies(how) for how in ("segfault", "abort")})


@pytest.mark.parametrize("number", range(KILLS))
def test_after_kill_9_every_committed_event_is_readable(
    lab: Any, kills: list[Run], number: int
) -> None:
    run = kills[number]
    [trace] = run.traces
    table = lab.table(trace)
    assert not table["complete"]
    peak = run.last_said["peak"]
    assert peak <= table["peak_bytes"] <= peak + MOST_BYTES_A_STEP
    assert sum(row["bytes"] for row in table["rows"]) == table["peak_bytes"]
    assert table["records_dropped"] == 0


@pytest.mark.parametrize("number", range(KILLS))
def test_the_table_of_a_killed_run_says_where_the_trace_ends(
    lab: Any, kills: list[Run], number: int
) -> None:
    [trace] = kills[number].traces
    result = lab.peakline("table", str(trace))
    assert result.returncode == 0, result.stderr
    told = [line for line in (result.stdout + result.stderr).splitlines() if "killed" in line]
    assert len(told) == 1, result.stdout + result.stderr
    assert "end" in told[0]


def test_the_caller_sees_the_signal_that_killed_the_program(kills: list[Run]) -> None:
    assert [run.status for run in kills] == [-signal.SIGKILL] * KILLS, kills[0].stderr


@pytest.mark.parametrize(
    ("how", "number"), [("segfault", signal.SIGSEGV), ("abort", signal.SIGABRT)]
)
def test_a_program_that_crashes_leaves_a_readable_trace(
    lab: Any, crashes: dict[str, Run], how: str, number: signal.Signals
) -> None:
    run = crashes[how]
    assert run.status == -number, run.stderr
    assert run.last_said["step"] == 20
    assert "peakline: wrote run.peak (" in run.stderr
    [trace] = run.traces
    table = lab.table(trace)
    assert table["peak_bytes"] == run.last_said["peak"]
    assert sum(row["bytes"] for row in table["rows"]) == table["peak_bytes"]
    assert not table["complete"]
    assert len(table["problems"]) == 1
