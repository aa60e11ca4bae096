"""Pairs the traces of two runs that have several ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from peakline.base.engine import CommandError
from peakline.base.sizes import size_of
from peakline.commands.shared.folders import heaviest_of, is_folder, run_in
from peakline.differences.text import columns, signed

if TYPE_CHECKING:
    from peakline.runs.find import Run


@dataclass(frozen=True)
class Pair:
    """A rank of two runs. Path None and 0 bytes: the rank is missing in that run."""

    rank: int
    before: str | None
    after: str | None
    bytes_before: int
    bytes_after: int

    @property
    def delta_bytes(self) -> int:
        """How much higher the peak is in the second run."""
        return self.bytes_after - self.bytes_before


def paired(before: str, after: str) -> tuple[str, str] | list[Pair]:
    """Return the paired ranks of two folders, or one trace of each side.

    A side is a file or a folder. Unless both sides are runs with ranks, the heaviest process of a
    folder is compared.

    Raises:
        CommandError: a folder has no traces.
    """
    runs = [run_in(word) if is_folder(word) else None for word in (before, after)]
    if all(run is not None and run.ranks for run in runs):
        return _pairs(*(_peaks(run) for run in runs if run is not None))
    was, now = (
        word if run is None else heaviest_of(run, word)
        for word, run in zip((before, after), runs, strict=True)
    )
    return was, now


Peaks = dict[int, tuple[str, int]]


def _pairs(before: Peaks, after: Peaks) -> list[Pair]:
    pairs = []
    for rank in sorted({*before, *after}):
        was, bytes_before = before.get(rank, (None, 0))
        now, bytes_after = after.get(rank, (None, 0))
        pairs.append(Pair(rank, was, now, bytes_before, bytes_after))
    return pairs


def _peaks(run: Run) -> Peaks:
    from peakline.runs.outlines import read_peaks

    rank_of = {one.path: rank for rank, one in run.ranks.items()}
    return {rank_of[one.path]: (str(one.path), size) for one, size in read_peaks(run.compared)}


def chosen_pair(pairs: Sequence[Pair], rank: int | None) -> Pair:
    """Return the pair of a rank, or the pair whose peak changed most.

    Raises:
        CommandError: the rank is missing in a run, or no rank is in both.
    """
    whole = [pair for pair in pairs if pair.before is not None and pair.after is not None]
    if rank is not None:
        whole = [pair for pair in whole if pair.rank == rank]
        if not whole:
            raise CommandError(f"--rank {rank}: this rank is not in both runs")
    if not whole:
        raise CommandError("no rank is in both runs")
    return max(whole, key=lambda pair: (abs(pair.delta_bytes), pair.bytes_after))


def pairs_text(pairs: Sequence[Pair], top: int) -> list[str]:
    """Return the peaks of all ranks, the largest change first."""
    ordered = sorted(pairs, key=lambda pair: (-abs(pair.delta_bytes), pair.rank))
    shown = ordered[:top] if top else ordered
    cells = [
        (
            str(pair.rank),
            signed(pair.delta_bytes) if pair.before and pair.after else "-",
            size_of(pair.bytes_before) if pair.before else "-",
            size_of(pair.bytes_after) if pair.after else "-",
        )
        for pair in shown
    ]
    lines = columns([("Rank", "Change", "Before", "After"), *cells])
    hidden = len(ordered) - len(shown)
    return [*lines, *([f"{hidden} more: --top 0 shows all"] if hidden else [])]
