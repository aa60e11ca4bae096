"""A recording that begins after CUDA was initialised: what torch holds already is handed over.

The hooks are in place when this runs, and other threads may allocate and free meanwhile: see Note
[Blocks from before] in allocator/record/recorder_adoption.cpp.
"""

from __future__ import annotations

import sys
from types import ModuleType

from peakline import torch_support

_UNITS = ("B", "KB", "MB", "GB", "TB")


def adopt_held_memory(recorder: ModuleType) -> None:
    """Hand what torch's allocator holds to the recorder, and say how the program is recorded."""
    held = torch_support.Held([], [])
    try:
        held = torch_support.held_memory()
    finally:
        untraced = recorder.adopt(held.blocks, held.segments)
    if held.segments or held.blocks:
        print(
            "peakline: CUDA was already initialised: observing torch's allocator; "
            f"{_size_text(untraced)} that were already allocated are reported as untraced",
            file=sys.stderr,
        )


def _size_text(count: int) -> str:
    """Write bytes as the table does: four digits."""
    size = float(count)
    unit = 0
    while size >= 1024 and unit < len(_UNITS) - 1:
        size /= 1024
        unit += 1
    if unit == 0:
        return f"{count} B"
    digits = 3 if size < 10 else 2 if size < 100 else 1 if size < 1000 else 0
    return f"{size:.{digits}f} {_UNITS[unit]}"
