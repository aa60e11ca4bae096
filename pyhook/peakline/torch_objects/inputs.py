"""Reports the blocks that go into modules: those of the tensors among a call's arguments.

A safe point comes soon after a module first appears in a stack, usually while the module still
runs. Its arguments are locals of its frame then. So each module has the inputs of one call, and
no hook and no later cost.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import CodeType, FrameType, ModuleType
from typing import Any

from .modules import Modules
from .reading import Storages

_DEPTH = 4
_MOST_ITEMS = 64  # of one container
_PLAIN = (list, tuple)


class Inputs:
    """The modules with reported inputs."""

    def __init__(
        self, recorder: ModuleType, modules: Modules, storages: Storages, tensor_class: type
    ) -> None:
        """Begin with no module."""
        self._recorder = recorder
        self._modules = modules
        self._storages = storages
        self._tensor_class = tensor_class
        self._reported: set[int] = set()  # the recorder's ids
        self.codes: list[CodeType] = []  # of calls of modules

    def report_running(self) -> None:
        """Report the inputs of modules that run on this thread and were not reported before."""
        frame: FrameType | None = sys._getframe() if self.codes else None
        while frame is not None:
            if frame.f_code in self.codes:
                self._report(frame)
            frame = frame.f_back

    def _report(self, frame: FrameType) -> None:
        variables = frame.f_locals
        instance = self._modules.instance_of(variables.get("self"))
        if instance == 0 or instance in self._reported:
            return
        self._reported.add(instance)
        values = (variables.get("args"), variables.get("kwargs"))
        addresses = [self._storages.address_of(tensor) for tensor in self._tensors(values, _DEPTH)]
        self._recorder.report_inputs(instance, sorted({one for one in addresses if one}))

    def _tensors(self, value: Any, depth: int) -> Iterator[Any]:
        kind = type(value)
        # type() does not call the object; isinstance() would call __class__ of proxies.
        if issubclass(kind, self._tensor_class):
            yield value
        elif depth and kind in _PLAIN:
            for item in value[:_MOST_ITEMS]:
                yield from self._tensors(item, depth - 1)
        elif depth and kind is dict and len(value) <= _MOST_ITEMS:
            for item in value.values():
                yield from self._tensors(item, depth - 1)
