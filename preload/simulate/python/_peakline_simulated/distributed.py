"""Changes torch.distributed in a simulated program once it is imported, and only then.

In every simulated run, object collectives carry their objects over the host: the device does not
compute the sizes that they exchange. A rank alone (`peakline run --world 64 --rank 3`) also
gets a rendezvous without the other ranks; see Note [A rank alone] in one_rank.py.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from types import ModuleType

import _peakline_words

_TARGET = "torch.distributed.distributed_c10d"


class _Loader(importlib.abc.Loader):
    """Runs the module's own loader, then `change`."""

    def __init__(self, inner: importlib.abc.Loader, change: Callable[[ModuleType], None]) -> None:
        self._inner = inner
        self._change = change

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._inner.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._inner.exec_module(module)
        try:
            self._change(module)
        except Exception as error:  # noqa: BLE001 - the program comes first
            _peakline_words.say(f"torch.distributed is not as expected: {error!r}")


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != _TARGET:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, _change)
        return spec


def _change(module: ModuleType) -> None:
    if os.environ.get("PEAKLINE_SIM_RANK_ALONE") == "1":
        from _peakline_simulated import one_rank

        one_rank.change(module)
    from _peakline_simulated import objects

    objects.change(module)


def prepare() -> None:
    """Called before the program starts."""
    sys.meta_path.insert(0, _Finder())
