"""Which run and rank a trace is of: the only file of the fleet that knows how traces say it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

_NO_RUN = "0" * 32


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


def identity_of(facts: dict[str, Any]) -> Identity:
    """Return who wrote a trace; `facts` are `Trace.info()`, or the same fields of a report."""
    meta = facts["meta"]
    run = facts["run_uuid"]
    return Identity(
        # A program that was not started by `peakline run` is a run of its own.
        run_id=run if run != _NO_RUN else facts["file_uuid"],
        trace_id=facts["file_uuid"],
        job=meta.get("job") or None,
        attempt=_number(meta.get("attempt")),
        rank=_number(meta.get("rank")),
        local_rank=_number(meta.get("local_rank")),
        world_size=_number(meta.get("world_size")),
        host=meta.get("host", ""),
        pid=facts["pid"],
    )


def _file_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]", "_", text)


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None
