"""What the tracing API needs of torch. The only module of the package that imports it."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

from peakline.builds.native_build import TorchInstallation, ensure_torch_part


def prepare() -> None:
    """Load torch's CUDA libraries and build the part for this torch unless it is there.

    Raises:
        BuildError: the part cannot be built; recording then only observes.
    """
    from pathlib import Path

    import torch

    installation = TorchInstallation(
        sys.executable, Path(torch.__file__).parent, str(torch.__version__)
    )
    os.environ.setdefault("PEAKLINE_TORCH_PART", str(ensure_torch_part(installation)))


def preloaded() -> bool:
    """Whether this process runs with peakline's preloaded bootstrap."""
    return "libpeakline_preload.so" in os.environ.get("LD_PRELOAD", "")


def initialise_cuda() -> None:
    """Initialise CUDA now, which brings the preloaded recorder up. No GPU: nothing happens."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.init()  # type: ignore[no-untyped-call,unused-ignore]


def cuda_is_initialised() -> bool:
    """Whether this process uses a GPU by torch; imports nothing."""
    torch = sys.modules.get("torch")
    return torch is not None and bool(torch.cuda.is_initialized())


def device_count() -> int:
    """Return how many devices torch sees."""
    import torch

    return int(torch.cuda.device_count())


@dataclass(frozen=True)
class Held:
    """What torch's allocator holds at a moment, as ``peakline._recorder.adopt`` takes it.

    Blocks: (address, requested bytes, bytes, stream, device, freed). Segments: (address, bytes,
    stream, device, expandable).
    """

    blocks: list[tuple[int, int, int, int, int, bool]]
    segments: list[tuple[int, int, int, int, bool]]


def held_memory() -> Held:
    """Ask torch for every block and every segment that its CUDA allocator holds now."""
    import torch

    try:
        segments = torch.cuda.memory_snapshot()  # type: ignore[no-untyped-call,unused-ignore]
    except RuntimeError:  # cudaMallocAsync knows its totals only
        return _held_totals()
    held = Held([], [])
    for segment in segments:
        device, stream = segment["device"], segment["stream"]
        expandable = bool(segment.get("is_expandable", False))
        held.segments.append(
            (segment["address"], segment["total_size"], stream, device, expandable)
        )
        for block in segment["blocks"]:
            if block["state"] != "inactive":
                size = block["size"]
                requested = block.get("requested_size", size)
                deferred = block["state"] != "active_allocated"
                held.blocks.append((block["address"], requested, size, stream, device, deferred))
    return held


def _held_totals() -> Held:
    """One block for each device that stands for all of its blocks: address 0."""
    import torch

    held = Held([], [])
    for device in range(torch.cuda.device_count()):
        size = torch.cuda.memory_allocated(device)
        if size:
            held.blocks.append((0, size, size, 0, device, False))
    return held
