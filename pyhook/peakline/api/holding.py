"""What keeps blocks of GPU memory alive: the search as the program asks for it."""

from __future__ import annotations

from dataclasses import dataclass

from peakline.api import tracing


@dataclass(frozen=True)
class Holder:
    """Something that keeps a block alive: ``train.losses[3]`` of kind ``global``."""

    kind: str
    path: str


@dataclass(frozen=True)
class HeldBlock:
    """A block and what was found to hold it, the shortest path first; none: it was not found."""

    address: int
    block_bytes: int
    requested_bytes: int
    device: int
    holders: tuple[Holder, ...]
    more_holders: int


@dataclass(frozen=True)
class Holders:
    """What a search found, the largest block first.

    ``is_complete``: every object of the program was searched. ``knows_tensors``: the part that is
    compiled against torch is there; without it nothing is found. ``knows_locals``: variables of
    running functions were seen. ``object_count``: how many objects were searched, of about
    ``known_object_count``. ``number``: of the search in the trace, 0 when there is none.
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
    """Look for what keeps the largest blocks alive, now; a trace that is open gets it, too.

    Args:
        blocks: how many of the largest blocks (parameters, gradients, buffers and states of
            optimizers only when there are no others), and of as many lines the oldest one.
        seconds: the search may take; what it has not searched then is not found.

    Raises:
        RecorderError: nothing is recorded here.
    """
    recorder = tracing.recorder_that_is_on("holders")
    recorder.safe_point(recorder.LOOK)  # which blocks are parameters and the like
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
                tuple(Holder(recorder.HOLDER_KINDS[kind], path) for kind, path in paths),
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
