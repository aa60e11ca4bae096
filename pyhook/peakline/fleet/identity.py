"""Finds the run and rank of a trace: the only file of the fleet that knows how."""

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
    """The run of a trace, and its process."""

    run_id: str
    member: Member

    @property
    def name(self) -> str:
        """Its name in answers."""
        member = self.member
        return f"{member.label} on {member.host}" if member.rank is None else member.label

    @property
    def file_stem(self) -> str:
        """The stem of its file names, unique for restarts and for several processes of a rank."""
        member = self.member
        who = member.pid if member.rank is None else member.rank
        return _file_name(f"{member.host or 'host'}.{who}.{member.file_uuid[:8]}")

    @property
    def folder(self) -> str:
        """The folder of its run, which Hive-style readers turn into a column `run`."""
        return "run=" + _file_name(self.run_id)


def identity_of(member: Member, run_id: str | None = None) -> Identity:
    """Return a trace's identity; its run is `run_id`, that of `peakline run`, or its own."""
    return Identity(run_id or member.run_uuid or member.file_uuid, member)


def run_ids(traces: Sequence[Path]) -> dict[Path, str]:
    """Return the run of each readable trace, grouped among all of them.

    A run has the name of its run id, or the file, of the process that began first.
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
