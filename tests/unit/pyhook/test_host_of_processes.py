"""Host memory of the processes of a run; the kernel's own VmHWM is the oracle."""

from __future__ import annotations

import csv
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from peakline.launch import host_memory
from peakline.launch.host_memory import HostMemory, limit_of_container, pinned_warning
from peakline.launch.options import RunOptions, problem_of
from peakline.launch.run_end import RunEnd

# A parent that stays as it is, and a forked child that grows; it prints its VmHWM in kB.
PROGRAM = """
import os, re, time
held = []
if os.fork() == 0:
    time.sleep(0.5)
    for _ in range(6):
        held.append(bytearray(os.urandom(1 << 20)) * 16)
        time.sleep(0.1)
    print(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1], flush=True)
    time.sleep(0.3)
    os._exit(0)
os.wait()
"""

# Follows a command in a process that has no other children, and hands over what it saw.
FOLLOW = """
import pickle, subprocess, sys
from peakline.launch import host_memory
host_memory._WORK_SHARE = 1.0
host_memory._MOST_SAMPLES = int(sys.argv[1])
with host_memory.HostMemory(interval=float(sys.argv[2])) as host:
    run = subprocess.run(sys.argv[3:], stdout=subprocess.PIPE, check=True)
pickle.dump((host.processes, run.stdout), sys.stdout.buffer)
"""


def follow(command: list[str], most_samples: int, interval: float) -> tuple[HostMemory, bytes]:
    """Return what was seen of a command's processes, and what it printed."""
    words = [sys.executable, "-c", FOLLOW, str(most_samples), str(interval), *command]
    run = subprocess.run(words, stdout=subprocess.PIPE, check=True)
    host = HostMemory()
    host.processes, output = pickle.loads(run.stdout)
    return host, output


@pytest.fixture(scope="module")
def followed() -> tuple[HostMemory, int]:
    host, output = follow([sys.executable, "-c", PROGRAM], 1024, 0.02)
    return host, int(output) * 1024


def test_the_child_that_grew_is_named_with_its_bytes(followed: tuple[HostMemory, int]) -> None:
    host, most = followed
    found = max(host.processes.values(), key=lambda one: one.growth())
    assert max(one.resident for one in found.samples) == pytest.approx(most, rel=0.02)
    assert found.growth() == pytest.approx(6 * 16 << 20, rel=0.2)
    assert host.who_grew().startswith(f"process {found.pid} ({Path(sys.executable).name}) grew by ")
    end = RunEnd(-9, False, ["train.py"], kernel_kills=1, who_grew=host.who_grew())
    assert f"killer ended it: process {found.pid} (" in end.how()


def test_a_file_that_cannot_be_written_is_refused_before_the_program() -> None:
    problem = problem_of(RunOptions(program=["-c", "0"], host="/dev/full"))
    assert problem == "/dev/full is no regular file: name another file with --host"


def test_the_table_has_every_process_over_time(
    followed: tuple[HostMemory, int], tmp_path: Path
) -> None:
    host, _ = followed
    host.write(tmp_path / "host.csv")
    rows = list(csv.DictReader((tmp_path / "host.csv").open()))
    assert len({row["pid"] for row in rows}) == 2
    seconds = [float(row["seconds"]) for row in rows]
    assert seconds == sorted(seconds)
    assert all(int(row["resident_bytes"]) >= int(row["shared_bytes"]) > 0 for row in rows)


def test_a_long_run_keeps_few_samples() -> None:
    host, _ = follow(["sleep", "1.5"], 16, 0.002)
    [process] = host.processes.values()
    assert len(process.samples) <= 17
    assert process.samples[-1].seconds - process.samples[0].seconds > 0.3


def test_the_limit_of_the_container_is_the_kernels(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(host_memory, "_LIMITS", (tmp_path / "missing", limit))
    for text, found in (("max\n", None), (f"{1 << 62}\n", None), (f"{1 << 30}\n", 1 << 30)):
        limit.write_text(text)
        assert limit_of_container() == found
    assert pinned_warning([(1 << 28) - 1, 0]) == ""
    assert pinned_warning([1 << 29, 0]).startswith("pinned memory of the host: 512.0 MB, 50% of")
    assert "at most 768.0 MB, 75% of the 1.000 GB" in pinned_warning([1 << 29, 1 << 28])
