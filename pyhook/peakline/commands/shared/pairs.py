"""Two runs, each of several ranks: which trace is compared with which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from peakline.commands.shared import common
from peakline.commands.shared.folders import heaviest_in, is_folder, run_in
from peakline.differences.text import signed
from peakline.sizes import size_of

if TYPE_CHECKING:
    from peakline.runs.find import Run


@dataclass(frozen=True)
class Pair:
    """A rank in both runs. Paths are None and bytes 0 where it is in one only."""

    rank: int
    before: str | None
    after: str | None
    bytes_before: int
    bytes_after: int

    @property
    def delta_bytes(self) -> int:
        """How much higher its peak is after."""
        return self.bytes_after - self.bytes_before


def have_ranks(words: Sequence[str]) -> bool:
    """Whether all of these are folders of runs that have ranks."""
    return all(is_folder(word) for word in words) and all(run_in(word).ranks for word in words)


def paired(before: str, after: str) -> list[Pair]:
    """Return the ranks of two folders beside each other.

    Raises:
        CommandError: a folder has no traces.
    """
    sides = [_peaks(run_in(word)) for word in (before, after)]
    pairs = []
    for rank in sorted({*sides[0], *sides[1]}):
        (was, bytes_before), (now, bytes_after) = (side.get(rank, (None, 0)) for side in sides)
        pairs.append(Pair(rank, was, now, bytes_before, bytes_after))
    return pairs


def _peaks(run: Run) -> dict[int, tuple[str | None, int]]:
    from peakline.runs.outlines import read_outlines

    paths = [one.path for one in run.ranks.values()]
    return {
        rank: (str(path), int(outline["chosen"]["peak_bytes"]))
        for rank, path, outline in zip(run.ranks, paths, read_outlines(paths), strict=True)
        if not isinstance(outline, Exception)
    }


def chosen_pair(pairs: Sequence[Pair], rank: int | None) -> Pair:
    """Return the pair of a rank, or the one whose peak changed most.

    Raises:
        CommandError: the rank is not in both runs, or none is.
    """
    whole = [pair for pair in pairs if pair.before is not None and pair.after is not None]
    if rank is not None:
        whole = [pair for pair in whole if pair.rank == rank]
        if not whole:
            raise common.CommandError(f"--rank {rank}: this rank is not in both runs")
    if not whole:
        raise common.CommandError("no rank is in both runs")
    return max(whole, key=lambda pair: (abs(pair.delta_bytes), pair.bytes_after))


def pairs_text(pairs: Sequence[Pair], top: int) -> str:
    """Return the peaks of all ranks, those that changed most first."""
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
    rows = [("Rank", "Change", "Before", "After"), *cells]
    widths = [max(len(row[at]) for row in rows) for at in range(4)]
    lines = [
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    ]
    hidden = len(ordered) - len(shown)
    return "\n".join([*lines, *([f"{hidden} more: --top 0 shows all"] if hidden else [])]) + "\n"


def trace_or_heaviest(word: str) -> str:
    """Return a file as it was given, and the heaviest process of a folder."""
    return heaviest_in(word) if is_folder(word) else word
