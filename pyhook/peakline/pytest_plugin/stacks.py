"""Arguments of ``filter_fn`` of limit_gpu_leaks; named and built as in pytest-memray."""

from __future__ import annotations

from typing import NamedTuple


class StackFrame(NamedTuple):
    """A frame of a stack that allocated."""

    function: str
    filename: str
    lineno: int


class Stack(NamedTuple):
    """The stack of an allocation, the innermost frame first."""

    frames: tuple[StackFrame, ...]
