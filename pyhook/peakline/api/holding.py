"""Searches for the objects that keep blocks of GPU memory alive, when the program calls it."""

from __future__ import annotations

from dataclasses import dataclass

from peakline.api import tracing
from peakline.api.notebook_names import Named, is_notebook, names_for_notebook


@dataclass(frozen=True)
class Holder:
    """An object that keeps a block alive, for example ``train.losses[3]`` of kind ``global``."""

    kind: str
    path: str


@dataclass(frozen=True)
class HeldBlock:
    """A block and its holders, the shortest path first; empty if the search found none."""

    address: int
    block_bytes: int
    requested_bytes: int
    device: int
    holders: tuple[Holder, ...]
    more_holders: int


@dataclass(frozen=True)
class Holders:
    """The result of a search, the largest block first.

    ``is_complete``: every object of the program was searched. ``knows_tensors``: the part that is
    compiled against torch is loaded; without it nothing is found. ``knows_locals``: variables of
    running functions were searched. ``object_count``: number of searched objects, out of about
    ``known_object_count``. ``number``: number of the search in the trace, 0 if no trace is open.
    """

    blocks: tuple[HeldBlock, ...]
    is_complete: bool
    knows_tensors: bool
    knows_locals: bool
    object_count: int
    known_object_count: int
    seconds: float
    number: int


def holders(*, blocks: int = 20, seconds: float = 2.0) -> Holders:
    """Search now for the objects that keep the largest blocks alive.

    An open trace records the result. In a notebook paths are those of its variables: ``x``,
    ``Out[5]``, ``loss of train (...), in the traceback of the last exception``.

    Args:
        blocks: number of largest blocks to explain (parameters, gradients, buffers and optimizer
            states only if there are no others), and of lines whose oldest block is explained.
        seconds: time limit of the search; objects beyond it are not searched.

    Raises:
        RecorderError: nothing is recorded in this process.
    """
    recorder = tracing.recorder_that_is_on("holders")
    recorder.safe_point(recorder.LOOK)  # learns which blocks are parameters and the like
    rows, number, object_count, known_count, duration_us, flags = recorder.hold(
        seconds, blocks, recorder.HOLD_ASKED, 0
    )
    return Holders(
        blocks=tuple(
            HeldBlock(
                address,
                block_bytes,
                requested_bytes,
                device,
                _named([(recorder.HOLDER_KINDS[kind], path) for kind, path in paths]),
                more,
            )
            for address, block_bytes, requested_bytes, device, paths, more in rows
        ),
        is_complete=not flags & recorder.SEARCH_TIME_IS_UP,
        knows_tensors=not flags & recorder.SEARCH_TENSORS_UNKNOWN,
        knows_locals=not flags & recorder.SEARCH_FRAMES_UNKNOWN,
        object_count=object_count,
        known_object_count=known_count or object_count,
        seconds=duration_us / 1e6,
        number=number,
    )


def _named(holders: list[Named]) -> tuple[Holder, ...]:
    named = names_for_notebook(holders) if is_notebook() else holders
    return tuple(Holder(kind, path) for kind, path in named)
