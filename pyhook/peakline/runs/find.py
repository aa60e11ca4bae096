"""Groups the traces in folders into runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from peakline._report import Trace, TraceError
from peakline.base.files import TRACE_ENDINGS
from peakline.runs.members import Member, member_of

_PACKED = ".zst"
_SHORT_ID = 8


@dataclass(frozen=True)
class Run:
    """The processes of one run, ranks first."""

    members: tuple[Member, ...]
    unreadable: tuple[str, ...] = ()  # problems of files beside them

    @property
    def id(self) -> str:
        """Its short id, as in names of folders."""
        first = self.members[0]
        return (first.run_uuid or first.file_uuid)[:_SHORT_ID]

    @property
    def name(self) -> str:
        """The script that most processes run."""
        scripts = [one.script for one in self.members]
        return max(scripts, key=scripts.count)

    @property
    def started(self) -> float:
        """Start in seconds since the epoch."""
        return min(one.started for one in self.members)

    @cached_property
    def ranks(self) -> dict[int, Member]:
        """By rank: the process of the last attempt, without its children."""
        ranks: dict[int, Member] = {}
        for one in sorted(self.members, key=lambda one: (-one.attempt, one.started)):
            if one.rank is not None:
                ranks.setdefault(one.rank, one)
        return dict(sorted(ranks.items()))

    @property
    def compared(self) -> tuple[Member, ...]:
        """The ranks; without ranks all processes."""
        return tuple(self.ranks.values()) or self.members

    @property
    def others(self) -> tuple[Member, ...]:
        """Children of ranks, earlier attempts, processes without a rank."""
        compared = {one.file_uuid for one in self.compared}
        return tuple(one for one in self.members if one.file_uuid not in compared)

    @property
    def world_size(self) -> int:
        """The number of ranks of the job."""
        sizes = [one.world_size or 0 for one in self.ranks.values()]
        return max([*sizes, len(self.ranks)])

    @property
    def missing(self) -> list[int]:
        """The ranks without a trace."""
        return [rank for rank in range(self.world_size) if rank not in self.ranks]


def traces_in(folder: Path) -> list[Path]:
    """Return the traces of a folder and of its subfolders."""
    found = (path for pattern in ("*", "*/*") for path in folder.glob(pattern))
    traces = sorted(path for path in found if path.name.endswith(TRACE_ENDINGS) and path.is_file())
    return without_packed_twins(traces)


def without_packed_twins(paths: Iterable[Path]) -> list[Path]:
    """Return these traces, without packed copies of other ones among them."""
    found = list(paths)
    unpacked = set(found)
    return [
        one
        for one in found
        if one.suffix != _PACKED or one.with_name(one.name.removesuffix(_PACKED)) not in unpacked
    ]


def runs_of(paths: Iterable[Path]) -> list[Run]:
    """Return the runs of these traces, the newest first; each lists the unreadable files."""
    found = [_read(path) for path in paths]
    members = [one for one in found if isinstance(one, Member)]
    unreadable = [one for one in found if isinstance(one, str)]
    runs = [Run(_sorted(one), tuple(unreadable)) for one in grouped(members)]
    return sorted(runs, key=lambda run: -run.started)


def _read(path: Path) -> Member | str:
    try:
        return member_of(path, Trace(str(path)).info())
    except (TraceError, OSError) as error:
        return str(error)


def _sorted(members: Sequence[Member]) -> tuple[Member, ...]:
    def order(one: Member) -> tuple[bool, int, int, float]:
        return (one.rank is None, one.rank or 0, -one.attempt, one.started)

    return tuple(sorted(members, key=order))


def grouped(members: Sequence[Member]) -> Iterator[list[Member]]:
    """Split processes into runs.

    One `peakline run` is one run. Machines of a job each have a `peakline run`, or none, and share
    the launcher's name of the job. A job may run several programs in turn, so a rank that is
    already there begins the next run. Without either, ranks with the same parent belong together.
    """
    runs: list[list[Member]] = []
    newest: dict[str, list[Member]] = {}  # by the key that its processes share
    for one in sorted(members, key=lambda one: one.started):
        family = f"{one.host} {one.parent_pid}" if one.rank is not None else one.file_uuid
        keys = [key for key in (one.run_uuid, one.job) if key] or [family]
        run = next((newest[key] for key in keys if _takes(newest.get(key), key, one)), None)
        if run is None:
            run = []
            runs.append(run)
        run.append(one)
        newest |= dict.fromkeys(keys, run)
    yield from runs


def _takes(run: Sequence[Member] | None, key: str, one: Member) -> bool:
    """Return whether a process belongs to a run that shares this key."""
    if run is None or key == one.run_uuid:
        return run is not None
    others = [other for other in run if (other.rank, other.attempt) == (one.rank, one.attempt)]
    # 0: the parent is not recorded
    family = {other.pid for other in run if other.host == one.host} - {0}
    is_child = one.parent_pid in family
    return one.rank is None or is_child or not others
