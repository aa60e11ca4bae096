"""Counts the FLOPs of a step, and of the recomputation of each checkpointed layer.

For `peakline plan --try`: PEAKLINE_TRY_FLOPS names the file for the result, lines such as
"h.0=123"; "=456" has the FLOPs of the step without recomputations. torch's own formulas count.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from _peakline_imports import after_each_step


class Flops:
    """The FLOPs up to the end of the first step."""

    def __init__(self, path: str) -> None:
        """Count nothing yet."""
        self._path = Path(path)
        self._mode: Any = None
        self._is_over = False
        self._of_layers: dict[str, int] = {}
        self._calls: dict[str, int] = {}
        after_each_step(self._end)

    @staticmethod
    def wanted() -> Flops | None:
        """Return the counter if the environment names a file."""
        path = os.environ.get("PEAKLINE_TRY_FLOPS", "")
        return Flops(path) if path else None

    def begin(self) -> None:
        """Count from here on, unless a step was counted."""
        if self._mode is None and not self._is_over:
            self._mode = _counter()
            self._mode.__enter__()

    def counted(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        """Return the layer's function; every second call of it is a recomputation."""

        @functools.wraps(function)
        def count(*args: Any, **kwargs: Any) -> Any:
            if self._mode is None:
                return function(*args, **kwargs)
            before = self._mode.total
            self._calls[name] = call = self._calls.get(name, 0) + 1
            try:
                return function(*args, **kwargs)
            finally:  # an exception ends a recomputation early
                if call == 2:
                    self._of_layers[name] = self._mode.total - before

        return count

    def _end(self, _optimizer: Any) -> None:
        if self._mode is None:
            return
        self._mode.__exit__(None, None, None)
        whole = self._mode.total - sum(self._of_layers.values())
        self._mode, self._is_over = None, True
        with self._path.open("w", encoding="utf-8") as file:
            file.writelines(
                f"{name}={count}\n" for name, count in {"": whole, **self._of_layers}.items()
            )


def _counter() -> Any:
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils.flop_counter import flop_registry

    class Counter(TorchDispatchMode):  # type: ignore[no-untyped-call]
        total = 0

        def __torch_dispatch__(
            self, function: Any, _types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            kwargs = kwargs or {}
            result = function(*args, **kwargs)
            formula = flop_registry.get(function._overloadpacket)
            if formula is not None:
                self.total += int(formula(*args, **kwargs, out_val=result))
            return result

    return Counter()  # type: ignore[no-untyped-call]
