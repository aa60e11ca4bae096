"""Which run and rank a trace is of: the only file of the fleet that knows how that is found."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from peakline.runs.members import Member


@dataclass(frozen=True)
class Identity:
    """The run of a trace, and its place in it."""

    run_id: str
    trace_id: str
    job: str | None
    attempt: int | None
    rank: int | None
    local_rank: int | None
    world_size: int | None
    host: str
    pid: int

    @property
    def name(self) -> str:
        """How answers name it."""
        return f"process {self.pid} on {self.host}" if self.rank is None else f"rank {self.rank}"

    @property
    def file_stem(self) -> str:
        """The name of its files: restarts, and processes of one rank, have each their own."""
        who = self.pid if self.rank is None else self.rank
        return _file_name(f"{self.host or 'host'}.{who}.{self.trace_id[:8]}")

    @property
    def folder(self) -> str:
        """The folder of its run: what Hive and its heirs read as a column `run`."""
        return "run=" + _file_name(self.run_id)


def identity_of(member: Member, run_id: str | None = None) -> Identity:
    """Return who wrote a trace; without a run it is one of its own, or that of `peakline run`."""
    return Identity(
        run_id=run_id or member.run_uuid or member.file_uuid,
        trace_id=member.file_uuid,
        job=member.job or None,
        attempt=member.attempt,
        rank=member.rank,
        local_rank=member.local_rank,
        world_size=member.world_size,
        host=member.host,
        pid=member.pid,
    )


def run_ids(traces: Sequence[Path]) -> dict[Path, str]:
    """Return the run of each trace that can be read, as found among all of them.

    It has the name of the run, or the file, of the process that began first.
    """
    from peakline.runs.find import runs_of

    found = {}
    for run in runs_of(traces):
        first = min(run.members, key=lambda one: (one.started, one.file_uuid))
        for member in run.members:
            found[member.path] = first.run_uuid or first.file_uuid
    return found


def _file_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]", "_", text)
