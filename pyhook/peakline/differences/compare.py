"""Differences of two runs, row by row; they sum to the difference of the totals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from peakline.differences.compiled import reason
from peakline.differences.matching import match, match_stacks
from peakline.differences.side import Line, Row, Side

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Difference:
    """A row of both runs, or of one."""

    before: Row | None
    after: Row | None
    why: str = ""  # if one run has compiled code

    @property
    def at(self) -> Line:
        """The location in the newer run that has the row."""
        row = self.after or self.before
        assert row is not None
        return row.at

    @property
    def bytes_before(self) -> int:
        """Bytes held in the first run."""
        return self.before.bytes if self.before else 0

    @property
    def bytes_after(self) -> int:
        """Bytes held in the second run."""
        return self.after.bytes if self.after else 0

    @property
    def delta_bytes(self) -> int:
        """Increase in bytes from the first run to the second."""
        return self.bytes_after - self.bytes_before

    @property
    def has_moved(self) -> bool:
        """Whether the line has another location in the second run."""
        return bool(self.before and self.after and self.before.at.key != self.after.at.key)


@dataclass(frozen=True)
class Comparison:
    """Two runs and all their rows, the largest difference first."""

    before: Side
    after: Side
    rows: tuple[Difference, ...]

    @property
    def delta_bytes(self) -> int:
        """Increase of the total in bytes from the first run to the second."""
        return self.after.total_bytes - self.before.total_bytes

    @property
    def changed(self) -> list[Difference]:
        """The rows that hold more or less."""
        return [row for row in self.rows if row.delta_bytes != 0]


def compare(before: Side, after: Side) -> Comparison:
    """Compare two runs."""
    has_stacks = any(row.stack for side in (before, after) for row in side.rows)
    pairs = match_stacks(before, after) if has_stacks else match(before, after)
    rows = [Difference(old, new, reason(old, new, (before, after))) for old, new in pairs]
    rows.sort(key=lambda row: (-abs(row.delta_bytes), -row.bytes_after, row.at.key))
    return Comparison(before, after, tuple(rows))


def document_of(comparison: Comparison, **asked: Any) -> dict[str, Any]:
    """Return a comparison as JSON; see report/render/JSON.md."""
    return {
        "schema_version": SCHEMA_VERSION,
        **asked,
        "before": _side(comparison.before),
        "after": _side(comparison.after),
        "delta_bytes": comparison.delta_bytes,
        "rows": [_row(row) for row in comparison.rows],
    }


def _side(side: Side) -> dict[str, Any]:
    return {
        "file": side.name,
        "device": side.device,
        "total_bytes": side.total_bytes,
        "too_low": side.too_low or None,
    }


def _row(row: Difference) -> dict[str, Any]:
    return {
        "key": row.at.key,
        "key_before": row.before.at.key if row.before else None,
        "bytes_before": row.bytes_before,
        "bytes_after": row.bytes_after,
        "delta_bytes": row.delta_bytes,
        "count_before": row.before.count if row.before else 0,
        "count_after": row.after.count if row.after else 0,
        "location": _location(row.at),
        "why": row.why or None,
    }


def _location(at: Line) -> dict[str, Any] | None:
    if not at.is_line_of_file:
        return None
    return {"file": at.file, "line": at.line, "function": at.function}
