"""Calls to torch for the tracing API. The only module of the package that imports torch."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

from peakline.builds.native_build import TorchInstallation, ensure_torch_part

TORCH_PART_NAME = "PEAKLINE_TORCH_PART"  # of the environment


def prepare() -> None:
    """Load torch's CUDA libraries and build the part for this torch if it is missing.

    Raises:
        BuildError: the part cannot be built; recording then only observes.
    """
    from pathlib import Path

    import torch

    installation = TorchInstallation(
        sys.executable, Path(torch.__file__).parent, str(torch.__version__)
    )
    if TORCH_PART_NAME not in os.environ:
        os.environ[TORCH_PART_NAME] = str(ensure_torch_part(installation))


def preloaded() -> bool:
    """Return whether this process runs with peakline's preloaded bootstrap."""
    return "libpeakline_preload.so" in os.environ.get("LD_PRELOAD", "")


def initialise_cuda() -> None:
    """Initialise CUDA now, which starts the preloaded recorder. Without a GPU it does nothing."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.init()  # type: ignore[no-untyped-call,unused-ignore]


def cuda_is_initialised() -> bool:
    """Return whether this process has initialised CUDA through torch; imports nothing."""
    torch = sys.modules.get("torch")
    return torch is not None and bool(torch.cuda.is_initialized())


def device_count() -> int:
    """Return the number of devices that torch sees."""
    import torch

    return int(torch.cuda.device_count())


def reserved_bytes() -> int:
    """Return the bytes of torch's segments on all devices now."""
    import torch

    return sum(torch.cuda.memory_reserved(one) for one in range(torch.cuda.device_count()))


@dataclass(frozen=True)
class Held:
    """Memory that torch's allocator holds now, in the form that ``peakline._recorder.adopt`` takes.

    Blocks: (address, requested bytes, bytes, stream, device, freed). Segments: (address, bytes,
    stream, device, expandable).
    """

    blocks: list[tuple[int, int, int, int, int, bool]]
    segments: list[tuple[int, int, int, int, bool]]


def held_memory() -> Held:
    """Return every block and every segment that torch's CUDA allocator holds now."""
    import torch

    try:
        segments = torch.cuda.memory_snapshot()  # type: ignore[no-untyped-call,unused-ignore]
    except RuntimeError:  # cudaMallocAsync knows only its totals
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
    """Return one block per device, at address 0, that stands for all of its blocks."""
    import torch

    held = Held([], [])
    for device in range(torch.cuda.device_count()):
        size = torch.cuda.memory_allocated(device)
        if size:
            held.blocks.append((0, size, size, 0, device, False))
    return held
