"""Names the operators in stacks: those called through torch.ops, as OpOverload names them.

An operator called from Python is the ``self`` of a frame of torch/_ops.py. The recorder knows it by
its address until it is named here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, ModuleType
from typing import Any

# Classes of torch._ops with a __call__ in stacks, and the attribute with their name.
_NAMES = {
    "OpOverload": "_name",
    "TorchBindOpOverload": "_name",
    "OpOverloadPacket": "_qualified_op_name",
}


class Operators:
    """The named operators."""

    def __init__(self, recorder: ModuleType, torch: ModuleType) -> None:
        """Begin with no operator."""
        self._recorder = recorder
        self._torch = torch
        self._named: set[int] = set()  # by the number of Recorder.watch
        self._codes: list[CodeType] = []

    def methods(self) -> list[Callable[..., Any]]:
        """Return the methods that have an operator as ``self``."""
        classes = (getattr(self._torch._ops, name, None) for name in _NAMES)
        return [
            kind.__dict__["__call__"]
            for kind in classes
            if kind is not None and "__call__" in kind.__dict__
        ]

    def watched(self, codes: list[CodeType]) -> None:
        """Store the code of the watched methods."""
        self._codes = codes

    def name_running(self) -> None:
        """Name the operators that run on this thread, from its frames."""
        frame: FrameType | None = sys._getframe() if self._codes else None
        while frame is not None:
            if frame.f_code in self._codes:
                self._name(frame.f_locals.get("self"))
            frame = frame.f_back

    def name_seen(self) -> None:
        """Name all operators that appeared in a stack."""
        for operator in self._all():
            if self._recorder.knows_instance(operator):
                self._name(operator)

    def _all(self) -> Iterator[Any]:
        """Yield the operators that torch.ops has created objects for: those that were used."""
        for namespace in list(self._torch.ops.__dict__.values()):
            if type(namespace).__name__ != "_OpNamespace":
                continue
            for packet in list(namespace.__dict__.values()):
                if type(packet).__name__ == "OpOverloadPacket":
                    yield packet
                    yield from (
                        overload
                        for overload in list(packet.__dict__.values())
                        if type(overload).__name__ in _NAMES
                    )

    def _name(self, operator: Any) -> None:
        kind = type(operator).__name__
        name = operator.__dict__.get(_NAMES[kind]) if kind in _NAMES else None
        number = self._recorder.watch(operator) if name is not None else 0
        if number and number not in self._named:
            self._recorder.name_instance(operator, kind, None, name)
            self._named.add(number)
