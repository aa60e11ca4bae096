"""The Python part of `--blank-weights`: loads its library, and limits loops that redraw values.

Note [Blank tensors] in preload/simulate/companion/blank_tensors.cpp defines blank tensors.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from typing import Any

from _peakline_imports import when_imported

_least_bytes = sys.maxsize  # of a large tensor; read from the library


def prepare() -> None:
    """Load the library when torch is imported, if `peakline run` names it."""
    library = os.environ.get("PEAKLINE_BLANK_WEIGHTS")
    if library:
        when_imported("torch", functools.partial(_load, library))
        when_imported("torch.nn.init", _wrap_truncated)


def _load(library: str, _torch: Any) -> None:
    global _least_bytes
    loaded = ctypes.CDLL(library)
    loaded.peakline_least_blank_bytes.restype = ctypes.c_size_t
    _least_bytes = loaded.peakline_least_blank_bytes()


def _wrap_truncated(init: Any) -> None:
    """Let trunc_normal_ fill once: zeros may be out of range, and it redraws until none is."""
    real = init.trunc_normal_

    @functools.wraps(real)
    def trunc_normal_(
        tensor: Any,
        mean: float = 0.0,
        std: float = 1.0,
        a: float = -2.0,
        b: float = 2.0,
        generator: Any = None,
    ) -> Any:
        is_large = (
            tensor.device.type == "cpu"
            and tensor.is_floating_point()
            and tensor.nbytes >= _least_bytes
        )
        if not is_large:
            return real(tensor, mean, std, a, b, generator)
        with init.torch.no_grad():
            return tensor.uniform_(a, b, generator=generator)

    init.trunc_normal_ = trunc_normal_
