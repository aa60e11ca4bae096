"""Hands the memory that torch holds to a recording that begins after CUDA was initialised.

The hooks are already in place, and other threads may allocate and free meanwhile: see Note [Blocks
from before] in allocator/record/recorder_adoption.cpp.
"""

from __future__ import annotations

from types import ModuleType

from peakline.api import torch_support
from peakline.api.log import logger
from peakline.base.sizes import size_of


def adopt_held_memory(recorder: ModuleType) -> None:
    """Hand the memory of torch's allocator to the recorder, and log how the program is recorded."""
    held = torch_support.Held([], [])
    try:
        held = torch_support.held_memory()
    finally:
        untraced = recorder.adopt(held.blocks, held.segments)
    if held.segments or held.blocks:
        logger().info(
            "CUDA was already initialised: observing torch's allocator; %s that were already"
            " allocated are reported as untraced",
            size_of(untraced),
        )
