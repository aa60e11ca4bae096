"""The part of the checkpoint guard in Python.

safetensors puts its file in place with system calls of its own, which the preloaded guard
(preload/simulated/file_guard.cpp) cannot see: its writer is told the path to use instead. Without
the guard (`--allow-writes`) nothing happens.
"""

from __future__ import annotations

import importlib.util
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec


def _guard(package: Any) -> None:
    import ctypes
    import functools
    import os

    try:
        write_path = ctypes.CDLL(None).peakline_guard_write_path
    except AttributeError:
        return
    write_path.restype = ctypes.c_char_p
    real = package.serialize_file

    @functools.wraps(real)
    def serialize_file(tensors: Any, filename: Any, *args: Any, **kwargs: Any) -> Any:
        buffer = ctypes.create_string_buffer(4096)
        instead = os.fsdecode(write_path(os.fsencode(filename), buffer))
        return real(tensors, instead, *args, **kwargs)

    package.serialize_file = serialize_file


class _SafetensorsFinder:
    """Finds nothing itself: it only sees the import of safetensors pass by."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != "safetensors" or _SafetensorsFinder not in sys.meta_path:
            return None
        sys.meta_path.remove(_SafetensorsFinder)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        loader: Any = spec.loader
        execute = loader.exec_module

        def exec_module(module: Any) -> None:
            execute(module)
            if hasattr(module, "serialize_file"):
                _guard(module)

        loader.exec_module = exec_module
        return spec


def prepare() -> None:
    """Guard safetensors when it is imported."""
    sys.meta_path.insert(0, _SafetensorsFinder)
