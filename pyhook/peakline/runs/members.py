"""A process of a run, as described by its trace."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_NO_RUN = "0" * 32


@dataclass(frozen=True)
class Group:
    """A torch.distributed process group of the process."""

    name: str  # "mesh_tp", "TENSOR_MODEL_PARALLEL_GROUP"; "" without a description
    ranks: tuple[int, ...]  # sorted


@dataclass(frozen=True)
class Member:
    """A process; unknown values are None or empty."""

    path: Path
    file_uuid: str
    run_uuid: str  # of `peakline run`; "" without one
    job: str  # the launcher's name of the job
    script: str
    host: str
    pid: int
    parent_pid: int
    rank: int | None
    local_rank: int | None
    world_size: int | None
    attempt: int
    started: float  # seconds since the epoch
    is_being_written: bool
    groups: tuple[Group, ...] = ()

    @property
    def label(self) -> str:
        """Its name in tables."""
        return f"process {self.pid}" if self.rank is None else f"rank {self.rank}"


def member_of(path: Path, info: dict[str, Any]) -> Member:
    """Return the process of a trace from `_report.Trace.info()`."""
    meta: dict[str, str] = info["meta"]
    run_uuid = str(info["run_uuid"])
    return Member(
        path=path,
        file_uuid=str(info["file_uuid"]),
        run_uuid="" if run_uuid == _NO_RUN else run_uuid,
        job=meta.get("job", ""),
        script=meta.get("script", ""),
        host=meta.get("host", ""),
        pid=int(info["pid"]),
        parent_pid=int(info["parent_pid"]),
        rank=_number(meta.get("rank")),
        local_rank=_number(meta.get("local_rank")),
        world_size=_number(meta.get("world_size")),
        attempt=_number(meta.get("attempt")) or 0,
        started=int(info["start_realtime_ns"]) * 1e-9,
        is_being_written=bool(info["is_being_written"]),
        groups=_groups(meta),
    )


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None


def _groups(meta: dict[str, str]) -> tuple[Group, ...]:
    groups = []
    number = 0
    while (text := meta.get(f"process_group.{number}")) is not None:
        described = json.loads(text)
        groups.append(Group(described["name"], read_ranks(described["ranks"])))
        number += 1
    return tuple(groups)


def read_ranks(text: str) -> tuple[int, ...]:
    """Return the ranks of a list such as "0-24/8" or "0,1,5".

    torch_objects/process_groups.py writes such lists.
    """
    if "-" not in text:
        return tuple(int(word) for word in text.split(",") if word)
    span, _, step = text.partition("/")
    first, _, last = span.partition("-")
    return tuple(range(int(first), int(last) + 1, int(step or 1)))
