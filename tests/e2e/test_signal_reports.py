"""SIGUSR2 with `--report-on-signal`: the report of a program that runs on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from lab import ON_GPU, PROGRAMS, Lab

PROGRAM = str(PROGRAMS / "waits_to_be_asked.py")
LIMIT_SECONDS = 60


@contextmanager
def running(
    lab: Lab,
    folder: Path,
    *options: str,
    words: tuple[str, ...] = (),
    launcher: tuple[str, ...] = (),
) -> Iterator[subprocess.Popen[str]]:
    """A program that ends when the file `stop` is there; it may say something before."""
    stop = folder / "stop"
    device = "h200x2" if launcher else "h200"
    command = lab.recording_command(
        *launcher, PROGRAM, str(stop), *words, options=["-q", *options], device=device
    )
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=lab.environment(None),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            stop.touch()


def wait_for(what: Callable[[], bool]) -> None:
    end = time.monotonic() + LIMIT_SECONDS
    while not what():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_the_program_and_its_launcher_take_the_signal(lab: Lab, tmp_path: Path) -> None:
    options = ("--report-on-signal", "-o", "run.peak")
    with running(lab, tmp_path, *options) as process:
        said = json.loads(process.stdout.readline())
        for number in range(1, 6):  # to the program, to its launcher, and so on
            os.kill(said["pid"] if number % 2 else process.pid, signal.SIGUSR2)
            wait_for((tmp_path / f"run.{number}.txt").exists)
        (tmp_path / "stop").touch()
        out, errors = process.communicate()
        assert process.returncode == 0, errors
    assert json.loads(out) == {"signals": [], "grew": 0}
    names = [f"run.{number}.txt" for number in range(1, 6)]
    assert sorted(path.name for path in tmp_path.glob("*.txt")) == names  # one signal, one report
    for name in names:
        text = (tmp_path / name).read_text()
        assert f"run.peak: process {said['pid']}, recorded for" in text
        assert "waits_to_be_asked.py:" in text
        assert f"peakline: wrote {tmp_path / name}" in errors
    assert lab.table(tmp_path / "run.peak")["complete"]


def test_thousands_of_signals_to_any_thread_change_nothing(lab: Lab, tmp_path: Path) -> None:
    quiet = lab.run("signal_storm.py", "0", recorded=False).said
    options = ("-q", "-o", "run.peak", "--report-on-signal")
    run = lab.recorded(tmp_path, str(PROGRAMS / "signal_storm.py"), "2000", options=options)
    stormy = run.said
    assert stormy.pop("to_others") > 200 and quiet.pop("to_others") == 0
    assert stormy == quiet
    assert 1 <= len(list(tmp_path.glob("*.txt"))) < 200
    table = lab.table(tmp_path / "run.peak")
    assert (table["peak_bytes"], table["complete"]) == (quiet["peak"], True)


def test_one_signal_is_a_search_and_a_report(lab: Lab, tmp_path: Path) -> None:
    options = ("--report-on-signal", "--hold", "99", "-o", "run.peak")
    with running(lab, tmp_path, *options) as process:
        said = json.loads(process.stdout.readline())
        os.kill(said["pid"], signal.SIGUSR2)
        wait_for((tmp_path / "run.1.txt").exists)
    found = json.loads(lab.report("holders", tmp_path / "run.peak", "--json"))
    assert (found["reason"], found["search_count"]) == ("signal", 1)


def test_a_handler_of_the_program_stays(lab: Lab, tmp_path: Path) -> None:
    options = ("--report-on-signal", "-o", "run.peak")
    with running(lab, tmp_path, *options, words=("handles",)) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGUSR2)  # the program gets it, the report is made from outside
        wait_for((tmp_path / "run.1.txt").exists)
        (tmp_path / "stop").touch()
        out, errors = process.communicate()
    assert json.loads(out)["signals"] == ["own"]
    assert "the program handles SIGUSR2 itself" in errors


@pytest.mark.skipif(ON_GPU, reason="needs two devices")
def test_every_rank_has_its_report(lab: Lab, tmp_path: Path) -> None:
    launcher = ("--", lab.python, "-m", "torch.distributed.run", "--nproc-per-node", "2")
    options = ("--report-on-signal", "-o", "run.%r.peak")
    with running(lab, tmp_path, *options, words=("ranks",), launcher=launcher) as process:
        ranks = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.send_signal(signal.SIGUSR2)
        wait_for(lambda: len(list(tmp_path.glob("*.txt"))) == 2)
        (tmp_path / "stop").touch()
        _, errors = process.communicate()
        assert process.returncode == 0, errors
    for said in ranks:
        text = (tmp_path / f"run.{said['rank']}.1.txt").read_text()
        assert f"process {said['pid']}, recorded for" in text


def test_without_peakline_run_the_command_is_named(lab: Lab, tmp_path: Path) -> None:
    environment = {"PEAKLINE_REPORT_ON_SIGNAL": "1", "PEAKLINE_OUTPUT": "run.peak"}
    asks = (
        "import os, signal, torch; x = torch.ones(9, device='cuda');"
        " os.kill(os.getpid(), signal.SIGUSR2); print('on')"
    )
    done = lab.preloaded(tmp_path, lab.python, "-c", asks, environment=environment)
    assert (done.status, done.stdout) == (0, "on\n"), done.stderr
    assert "type: peakline report " in done.stderr
    assert list(tmp_path.glob("*.txt")) == []


def test_without_the_option_the_signal_is_the_programs(lab: Lab, tmp_path: Path) -> None:
    with running(lab, tmp_path, "-o", "run.peak") as process:
        process.stdout.readline()
        process.send_signal(signal.SIGUSR2)
        assert process.wait(LIMIT_SECONDS) == -signal.SIGUSR2
