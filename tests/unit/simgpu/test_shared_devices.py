"""Processes that share the devices: what does not fit beside the others is refused."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from simulated_gpu import PROGRAMS, SimulatedGpu

GIB = 1 << 30
OUT_OF_MEMORY = "2"
Start = Callable[..., "Asked"]


class Asked:
    """A process that calls the driver as it is asked to."""

    def __init__(self, environment: dict[str, str]) -> None:
        command = [sys.executable, str(PROGRAMS / "driver_calls.py")]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, env=environment, stdin=pipe, stdout=pipe, text=True, bufsize=1
        )

    def tell(self, words: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(words + "\n")

    def hear(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def ask(self, words: str) -> str:
        self.tell(words)
        return self.hear()

    @property
    def free_bytes(self) -> int:
        return int(self.ask("info").split()[0])

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


@pytest.fixture
def start(simgpu: SimulatedGpu, tmp_path: Path) -> Iterator[Start]:
    """Start processes of one group; by default they use the first device that they see."""
    started: list[Asked] = []

    def begin(device: str = "h200:100GiB", uses: str | None = "0", **more: str) -> Asked:
        settings = {
            "PEAKLINE_SIM_GROUP": str(tmp_path / "devices"),
            "PEAKLINE_SIM_CONSTANTS": "context_bytes=1073741824",
        }
        started.append(Asked(simgpu.environment(device, **{**settings, **more})))
        if uses is not None:
            assert started[-1].ask(f"use {uses}") == "0"
        return started[-1]

    yield begin
    for one in started:
        one.process.kill()
        one.process.wait()


def test_a_request_must_fit_beside_those_of_the_others(start: Start) -> None:
    first, second = start(), start()
    assert first.ask("alloc 60") == "0"
    assert (first.free_bytes, second.free_bytes) == (38 * GIB, 38 * GIB)  # and two contexts
    assert second.ask("alloc 39") == OUT_OF_MEMORY
    assert second.ask("alloc 38") == "0"
    assert first.ask("alloc 0.1") == OUT_OF_MEMORY
    assert second.ask("free") == "0"
    assert first.ask("alloc 38") == "0"
    assert second.ask("info") == f"0 {100 * GIB}"


def test_requests_at_one_time_never_take_more_than_the_device_has(start: Start) -> None:
    several = [start() for _ in range(8)]
    for turn in range(10):
        for one in several:
            one.tell("alloc 17")
        served = [one for one in several if one.hear() == "0"]
        assert len(served) == 5, turn  # 92 GiB beside eight contexts
        for one in served:
            assert one.ask("free") == "0"
    assert several[0].free_bytes == 92 * GIB


@pytest.mark.parametrize("reaped", [False, True])
def test_a_killed_process_gives_all_back(start: Start, *, reaped: bool) -> None:
    first, second = start(), start()
    assert first.ask("alloc 90") == "0"
    first.process.send_signal(signal.SIGKILL)
    if reaped:
        first.process.wait()
    deadline = time.monotonic() + 20
    while second.free_bytes != 99 * GIB and time.monotonic() < deadline:
        time.sleep(0.01)
    assert second.ask("alloc 90") == "0"


def test_many_processes_leave_nothing_behind(start: Start, tmp_path: Path) -> None:
    last = start()
    for _ in range(10):
        several = [start(), start()]
        assert all(one.ask("alloc 10") == "0" for one in several)
        several[0].process.kill()
        several[0].process.wait()
        several[1].end()
    assert last.free_bytes == 99 * GIB
    used_slots = int.from_bytes((tmp_path / "devices").read_bytes()[4:8], sys.byteorder)
    assert used_slots <= 4


def test_nvml_lists_the_processes_of_a_device(start: Start) -> None:
    first, second = start("h200x2:100GiB"), start("h200x2:100GiB", uses="1")
    assert (first.ask("alloc 10"), second.ask("alloc 20")) == ("0", "0")
    expected = [f"{first.process.pid}={11 * GIB}", f"{second.process.pid}={21 * GIB}"]
    for one in (first, second):
        assert [one.ask("nvml 0"), one.ask("nvml 1")] == expected


def test_without_a_group_a_process_has_its_devices_to_itself(start: Start) -> None:
    first, second = start(PEAKLINE_SIM_GROUP=""), start(PEAKLINE_SIM_GROUP="")
    assert first.ask("alloc 90") == second.ask("alloc 90") == "0"


def test_a_program_that_replaces_itself_gives_all_back(start: Start) -> None:
    first, second = start(), start()
    assert first.ask("alloc 90") == "0"
    assert second.ask("alloc 90") == OUT_OF_MEMORY
    assert first.ask("again") == "again"
    assert first.ask("use 0") == "0"
    assert second.ask("alloc 90") == "0"


@pytest.mark.parametrize(
    ("visible", "indices"),
    [
        ("1", [1]),
        ("2,0", [2, 0]),
        ("", []),
        ("-1", []),
        ("1,7,2", [1]),
        ("1,1", []),
        ("GPU-51585f66", [0]),
        ("GPU-53, 1", [2, 1]),
        (None, [0, 1, 2]),
        ("outer", [0, 1, 2]),
    ],
)
def test_a_process_sees_the_devices_that_it_chose(
    start: Start, visible: str | None, indices: list[int]
) -> None:
    more = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    one = start("h200x3", uses=None, PEAKLINE_SIM_OUTER_VISIBLE="outer", **more)
    assert one.ask("count") == str(len(indices))
    firsts = [int(one.ask(f"uuid {ordinal}")[:2], 16) - 0x51 for ordinal in range(len(indices))]
    assert firsts == indices


def test_processes_that_see_different_devices_do_not_share_them(start: Start) -> None:
    first = start("h200x2:100GiB", CUDA_VISIBLE_DEVICES="0")
    second = start("h200x2:100GiB", CUDA_VISIBLE_DEVICES="1")
    assert first.ask("alloc 90") == second.ask("alloc 90") == "0"
    assert second.ask("nvml 1") == f"{second.process.pid}={91 * GIB}"
    third = start("h200x2:100GiB", uses="1")
    assert third.ask("alloc 20") == OUT_OF_MEMORY
