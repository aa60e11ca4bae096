"""Runs chosen ranks of a job too large for this machine: `peakline run --world 64 --ranks 0,7`.

Each rank is a process that believes in all the others (startup/one_rank.py explains how). When a
rank needs an object that only another rank knows, it requests that rank in the job's folder. The
requested rank is started here, unrecorded and silent, until the chosen ranks have ended.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from peakline.base.output import say

_PAUSE_SECONDS = 0.05
_SHOWN_LINES = 12
_OWN_PRELOAD = "libpeakline_preload.so"


@dataclass(frozen=True)
class Ranks:
    """The ranks of a job that run here, and the number of ranks per machine."""

    chosen: tuple[int, ...]
    world_size: int
    per_machine: int


def parse_ranks(text: str, world_size: int) -> tuple[int, ...]:
    """Return the ranks of a list such as `0,7,56-63`.

    Raises:
        ValueError: the text is no such list, or names a rank that the job does not have.
    """
    ranks: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d+)(?:-(\d+))?\s*", part)
        if match is None:
            raise ValueError(f"'{text}' is no list of ranks: write for example 0,7,56-63")
        first, last = int(match[1]), int(match[2] or match[1])
        ranks += range(first, last + 1)
    beyond = [rank for rank in ranks if rank >= world_size]
    if beyond:
        raise ValueError(
            f"a job of {world_size} ranks has no rank {beyond[0]}: they are 0 to {world_size - 1}"
        )
    return tuple(dict.fromkeys(ranks))


def device_count(selection: str) -> int:
    """Return the number of devices in a selection such as `h200x8:40GiB`."""
    match = re.search(r"x(\d+)(?::|$)", selection, re.IGNORECASE)
    return int(match[1]) if match else 1


def rank_environment(rank: int, ranks: Ranks, folder: Path) -> dict[str, str]:
    """Return the environment of a rank: torchrun's variables, and those that mark a lone rank."""
    machines = -(-ranks.world_size // ranks.per_machine)
    local_world_size = min(ranks.per_machine, ranks.world_size)
    numbers = {
        "RANK": rank,
        "WORLD_SIZE": ranks.world_size,
        "LOCAL_RANK": rank % ranks.per_machine,
        "LOCAL_WORLD_SIZE": local_world_size,
        "GROUP_RANK": rank // ranks.per_machine,
        "GROUP_WORLD_SIZE": machines,
        "ROLE_RANK": rank,
        "ROLE_WORLD_SIZE": ranks.world_size,
        "MASTER_PORT": 29500,
    }
    return {
        **{name: str(number) for name, number in numbers.items()},
        "MASTER_ADDR": "127.0.0.1",
        "PEAKLINE_SIM_RANK_ALONE": "1",
        "PEAKLINE_SIM_JOB": str(folder),
        "PEAKLINE_SIM_GROUP": str(folder / f"devices{rank // ranks.per_machine}"),
    }


@dataclass
class _Process:
    rank: int
    process: subprocess.Popen[bytes]
    log: IO[bytes] | None = None
    is_noted: bool = False


@dataclass
class Job:
    """The processes of one run; `status` is that of the first chosen rank that failed."""

    command: Sequence[str]
    environment: Mapping[str, str]
    ranks: Ranks
    status: int = 0
    _chosen: list[_Process] = field(default_factory=list)
    _others: list[_Process] = field(default_factory=list)

    def run(self) -> int:
        """Run every chosen rank to its end; returns the status.

        Raises:
            OSError: the command cannot be run.
        """
        with tempfile.TemporaryDirectory(prefix="peakline-job-") as name, ExitStack() as cleanup:
            folder = Path(name)
            for part in ("objects", "wanted", "ended"):
                (folder / part).mkdir()
            cleanup.callback(self._end_others)
            waiting = list(self.ranks.chosen)
            at_once = max(1, os.cpu_count() or 1)
            while waiting or self._running():
                while waiting and len(self._running()) < at_once:
                    self._start_chosen(waiting.pop(0), folder)
                for rank in self._wanted(folder):
                    if rank in waiting:
                        waiting.remove(rank)
                        self._start_chosen(rank, folder)
                    else:
                        self._start_other(rank, folder)
                self._note_ended(folder)
                time.sleep(_PAUSE_SECONDS)
        return self.status

    def send_signal(self, number: int) -> None:
        """Pass a signal to the chosen ranks."""
        for one in self._running():
            one.process.send_signal(number)

    def _running(self) -> list[_Process]:
        return [one for one in self._chosen if not one.is_noted]

    def _wanted(self, folder: Path) -> list[int]:
        known = {one.rank for one in (*self._chosen, *self._others)}
        wanted = sorted(int(file.name) for file in (folder / "wanted").iterdir())
        return [rank for rank in wanted if rank not in known]

    def _start_chosen(self, rank: int, folder: Path) -> None:
        environment = {**self.environment, **rank_environment(rank, self.ranks, folder)}
        process = subprocess.Popen(self.command, env=environment)
        self._chosen.append(_Process(rank, process))

    def _start_other(self, rank: int, folder: Path) -> None:
        say(f"peakline: rank {rank} is started as well: a chosen rank needs an object from it")
        environment = {**self.environment, **rank_environment(rank, self.ranks, folder)}
        preload = environment.get("LD_PRELOAD", "").split(":")
        kept = [part for part in preload if not part.endswith(_OWN_PRELOAD)]
        environment["LD_PRELOAD"] = ":".join(kept)
        # The log stays open until the process has ended.
        log = (folder / f"rank-{rank}.log").open("w+b")
        process = subprocess.Popen(
            self.command, env=environment, stdout=subprocess.DEVNULL, stderr=log
        )
        self._others.append(_Process(rank, process, log))

    def _note_ended(self, folder: Path) -> None:
        for one in (*self._chosen, *self._others):
            if one.is_noted or one.process.poll() is None:
                continue
            one.is_noted = True
            if one.log is None:
                self.status = self.status or one.process.returncode
            elif one.process.returncode != 0:
                _show_end_of(one)
            # Mark the end after the last output: a rank that waits for this one may fail at once.
            (folder / "ended" / str(one.rank)).touch()

    def _end_others(self) -> None:
        for one in (*self._others, *self._chosen):
            if one.process.poll() is None:
                with suppress(OSError):
                    one.process.kill()
                one.process.wait()
            if one.log is not None:
                one.log.close()


def _show_end_of(one: _Process) -> None:
    assert one.log is not None
    one.log.seek(0)
    lines = one.log.read().decode(errors="replace").splitlines()[-_SHOWN_LINES:]
    say(f"peakline: rank {one.rank} failed (status {one.process.returncode}):")
    say(*(f"  {line}" for line in lines))
