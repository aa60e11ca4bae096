"""Why a line of compiled code holds more or less than the same line of eager code.

torch.compile keeps other values for the backward pass, and a kernel uses many values at once. The
categories of a line at both moments, and whether compiled code allocates there at all, tell which.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from peakline.differences.side import Row, Side

_COMPILING = ("autotuning for ", "compilation for ")

NO_BUFFER = "compiled: no buffer of its own (fused away, or in a reused one)"
NOT_SAVED = "compiled: not saved for backward"
SAVED = "compiled: saved for backward instead of other values"
SAVED_LESS = "compiled: less is saved for backward"
COMPILING = "compiled: compiling itself"


def reason(before: Row | None, after: Row | None, sides: tuple[Side, Side]) -> str:
    """Return why a line differs between eager and compiled code; "" if it is unknown."""
    first, second = (side.kept for side in sides)
    if first.is_compiled == second.is_compiled:
        return ""
    compiled, eager = (after, before) if second.is_compiled else (before, after)
    side, of_compiled, of_eager = (
        (sides[1], second, first) if second.is_compiled else (sides[0], first, second)
    )
    row = compiled or eager
    if row is None or not row.at.is_line_of_file:
        is_own = row is not None and row.at.key.startswith(_COMPILING)
        return COMPILING if is_own else ""
    saved = of_compiled.saved.get(compiled.at.key, 0) if compiled else 0
    would_save = of_eager.saved.get(eager.at.key, 0) if eager else 0
    place = (row.at.file, row.at.line)
    if compiled is None and all((one.at.file, one.at.line) != place for one in side.lines):
        return NO_BUFFER
    # A reason must explain the change: both runs can peak at different moments.
    change = (compiled.bytes if compiled else 0) - (eager.bytes if eager else 0)
    if saved > would_save and change > 0:
        return SAVED
    if saved < would_save and change < 0:
        return SAVED_LESS if saved else NOT_SAVED
    return ""
