"""Follows the host memory of every process of a run, from outside: /proc of each, once a second.

Resident bytes (proc(5), statm) are what the kernel's out-of-memory killer counts. Pages that forked
processes share count in each of them.
"""

from __future__ import annotations

import csv
import math
import os
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from peakline.base.engine import CommandError
from peakline.base.output import printable
from peakline.base.processes import command_of, descendants, script_of
from peakline.base.sizes import size_of

_PAGE = os.sysconf("SC_PAGE_SIZE")
_MOST_SAMPLES = 1024  # of a process; then every second one is dropped
_LOOK_BACK_SECONDS = 60.0
_LARGE_PINNED_SHARE = 0.25  # of the limit of the container
_WORK_SHARE = 0.02  # of a processor, on machines with very many processes
_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
_MOST_BYTES = 1 << 50  # of a process in a table, so that sums stay exact
_COLUMNS = ("seconds", "pid", "command", "resident_bytes", "shared_bytes", "limit_bytes")


@dataclass(frozen=True)
class Sample:
    """One process at one moment: seconds since the run began, resident and shared bytes."""

    seconds: float
    resident: int
    shared: int


@dataclass
class Process:
    """A process of the run."""

    pid: int
    command: str
    samples: list[Sample] = field(default_factory=list)

    def growth(self) -> int:
        """Return the resident bytes that it gained within the last minute of its life."""
        last = self.samples[-1]
        recent = [
            one.resident for one in self.samples if one.seconds >= last.seconds - _LOOK_BACK_SECONDS
        ]
        return last.resident - min(recent)


class HostMemory:
    """Samples all descendants of this process while the `with` block runs."""

    def __init__(self, interval: float = 1.0) -> None:
        """`interval`: seconds between samples."""
        self.processes: dict[tuple[int, str], Process] = {}  # by pid and start time
        self._interval = interval
        self._begin = time.monotonic()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> HostMemory:
        """Begin."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End."""
        self._is_over.set()
        self._thread.join()

    def write(self, path: Path) -> None:
        """Write a table of all samples, one row for each process and moment, as CSV.

        Every row has the limit of the container, if there is one.

        Raises:
            OSError: the file cannot be written.
        """
        rows = [(one.seconds, process, one) for process, one in self._samples()]
        limit = limit_of_container()
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", newline="", encoding="utf-8") as file:
            table = csv.writer(file)
            table.writerow(_COLUMNS)
            for seconds, process, one in sorted(rows, key=lambda row: row[0]):
                values = (process.pid, printable(process.command), one.resident, one.shared)
                table.writerow((f"{seconds:.3f}", *values, limit or ""))

    def who_grew(self) -> str:
        """Return which process grew most at its end, and what all held then; '' if unknown."""
        if not self.processes:
            return ""
        one = max(self.processes.values(), key=Process.growth)
        at = one.samples[-1].seconds
        held = [process for process in self.processes.values() if process.samples[-1].seconds >= at]
        total = sum(process.samples[-1].resident for process in held)
        limit = limit_of_container()
        room = f" of the {size_of(limit)} that this container may use" if limit else ""
        return (
            f"process {one.pid} ({one.command}) grew by {size_of(one.growth())} to"
            f" {size_of(one.samples[-1].resident)} in its last minute;"
            f" {len(held)} processes held {size_of(total)}{room}"
        )

    def _samples(self) -> Iterator[tuple[Process, Sample]]:
        for process in self.processes.values():
            for one in process.samples:
                yield process, one

    def _follow(self) -> None:
        interval = self._interval
        while not self._is_over.wait(interval):
            begin = time.thread_time()
            self._sample()
            interval = max(interval, (time.thread_time() - begin) / _WORK_SHARE)
            if any(len(one.samples) > _MOST_SAMPLES for one in self.processes.values()):
                interval *= 2
                for one in self.processes.values():
                    del one.samples[1:-1:2]

    def _sample(self) -> None:
        seconds = time.monotonic() - self._begin
        for pid in descendants(os.getpid()):
            try:
                _, resident, shared, *_ = Path(f"/proc/{pid}/statm").read_text().split()
                started = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
            except (OSError, ValueError, IndexError):  # it ended
                continue
            if resident == "0":  # it ended, and nobody has waited for it yet
                continue
            key = pid, started
            if key not in self.processes:
                self.processes[key] = Process(pid, _command_of(pid))
            sample = Sample(seconds, int(resident) * _PAGE, int(shared) * _PAGE)
            self.processes[key].samples.append(sample)


@dataclass(frozen=True)
class HostTable:
    """The table of a run: its processes, and the limit of its container."""

    processes: list[Process]
    limit: int | None


def read_table(path: Path) -> HostTable:
    """Read the table that HostMemory.write() wrote.

    Raises:
        OSError: the file cannot be read.
        CommandError: it is no such table.
    """
    processes: dict[tuple[int, str], Process] = {}
    limit = None
    with path.open(newline="", encoding="utf-8") as file:
        rows = csv.DictReader(file, strict=True)
        try:
            for row in rows:
                key = int(row["pid"]), row["command"]
                processes.setdefault(key, Process(*key)).samples.append(_sample_of(row))
                limit = int(row["limit_bytes"] or 0) or None
        except (ValueError, KeyError, TypeError, csv.Error) as error:
            line = max(1, rows.line_num)
            raise CommandError(
                f"{path}: line {line} is not of a table that peakline run --host FILE wrote"
            ) from error
    if not processes:
        raise CommandError(f"{path} has no samples: the run was shorter than a second")
    for one in processes.values():
        one.samples.sort(key=lambda sample: sample.seconds)
    return HostTable(list(processes.values()), limit)


def _sample_of(row: dict[str, str]) -> Sample:
    one = Sample(float(row["seconds"]), int(row["resident_bytes"]), int(row["shared_bytes"]))
    if not (0 <= one.seconds < math.inf and 0 < one.resident < _MOST_BYTES):
        raise ValueError
    return one


def limit_of_container() -> int | None:
    """Return the bytes that this control group may use, less than the machine has; else None."""
    machine = os.sysconf("SC_PHYS_PAGES") * _PAGE
    for path in _LIMITS:
        try:
            text = path.read_text().strip()
        except OSError:
            continue
        if text.isdecimal() and int(text) < machine:
            return int(text)
    return None


def pinned_warning(peaks: Sequence[int]) -> str:
    """Return a sentence if pinned memory was a large share of the limit of the container, else "".

    `peaks`: bytes, of each process.
    """
    limit = limit_of_container()
    pinned = sum(peaks)
    if not limit or pinned < limit * _LARGE_PINNED_SHARE:
        return ""
    most = "at most " if len([one for one in peaks if one]) > 1 else ""
    return (
        f"pinned memory of the host: {most}{size_of(pinned)}, {pinned / limit:.0%} of the"
        f" {size_of(limit)} that this container may use, and it cannot be swapped"
    )


def _command_of(pid: int) -> str:
    """Return the program and its script, without the rest of the command line."""
    try:
        words = command_of(pid)
    except OSError:
        return ""
    shown = [*words[:1], script_of(words)]
    return " ".join(Path(one).name for one in shown if one)
