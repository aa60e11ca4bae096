"""Follows the optimizers: parameters, gradients and state, at the end of a step."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any

from .parameters import Parameter, Parameters
from .reading import optimized, tensors_in


class Optimizer:
    """The last known state of an optimizer."""

    def __init__(self, address: int) -> None:
        """Begin before its first step."""
        self.address = address
        self.step_count = 0
        self.state_count = -1
        self.gradients: object = None  # a handle of the recorder, which follows them
        self.name_count = -1  # name_count of Parameters at that time


class Optimizers:
    """The known optimizers."""

    def __init__(
        self,
        recorder: ModuleType,
        torch: ModuleType,
        parameters: Parameters,
        look: Callable[[bool], None],
        report_modules: Callable[[], None],
    ) -> None:
        """Begin with none; `look` scans all objects, and may not skip the scan if given True."""
        self._recorder = recorder
        self._parameters = parameters
        self._optimizer_class: type = torch.optim.Optimizer
        self._tensor_class: type = torch.Tensor
        self._look = look
        self._report_modules = report_modules
        self._optimizers: dict[int, Optimizer] = {}  # by the number of Recorder.watch

    def report_all(self) -> None:
        """Report parameters, gradients and state of every optimizer."""
        for number, known in list(self._optimizers.items()):
            optimizer = self._recorder.watched(known.address, number)
            if optimizer is None:
                del self._optimizers[number]
            else:
                self._report_optimizer(optimizer)

    def remember(self, optimizer: Any) -> Optimizer:
        """Follow this optimizer from now on."""
        number = self._recorder.watch(optimizer)
        known = self._optimizers.get(number)
        if known is None:
            known = Optimizer(id(optimizer))
            if number:
                self._optimizers[number] = known
        return known

    def look_at_step(self) -> None:
        """Inspect the optimizer that has just made a step on this thread."""
        optimizer = self._stepping_optimizer()
        if optimizer is None:
            return
        known = self.remember(optimizer)
        known.step_count += 1
        # Storages of parameters and state hardly ever change after the first steps.
        is_rare = known.step_count & (known.step_count - 1) == 0
        if is_rare:
            self._look_for_new(optimizer, known.step_count == 1)
        if is_rare or len(optimizer.state) != known.state_count:
            self._report_optimizer(optimizer)
            known.state_count = len(optimizer.state)
        else:
            self._report_gradients(optimizer, known)

    def _look_for_new(self, optimizer: Any, is_first: bool) -> None:
        is_known = self._parameters.is_known
        if not all(is_known(parameter) for _, parameter in optimized(optimizer)):
            self._look(is_first)
        self._report_modules()

    def _report_gradients(self, optimizer: Any, known: Optimizer) -> None:
        """Report the gradients. Runs at every step, so unchanged data are not read again."""
        is_reported = None
        if known.name_count == self._parameters.name_count:
            is_reported = self._recorder.report_gradients(known.gradients, optimizer.param_groups)
        if is_reported is None:
            self._report_modules()  # new parameters get their names there
            known.gradients = self._parameters.follow_gradients(optimizer)
            known.name_count = self._parameters.name_count
            is_reported = self._recorder.report_gradients(known.gradients, optimizer.param_groups)
        if not is_reported:
            self._parameters.report_gradients(optimizer)

    def _stepping_optimizer(self) -> Any:
        """Return the optimizer that has just made a step; its wrapper still runs on this thread."""
        frame: FrameType | None = sys._getframe()
        for _ in range(12):
            if frame is None:
                break
            if frame.f_code.co_name == "wrapper" and "profile_hook_step" in _qualified_name(frame):
                found = frame.f_locals.get("self")
                if isinstance(found, self._optimizer_class):
                    return found
            frame = frame.f_back
        return None

    def _report_optimizer(self, optimizer: Any) -> None:
        parameters = list(optimized(optimizer))
        triples: list[int] = []
        for path, parameter in parameters:
            known = self._parameters.of_optimizer(optimizer, path, parameter)
            self._parameters.add(triples, parameter, known.storage)
        self._recorder.report_tensors(self._recorder.PARAMETER, triples)
        self._parameters.report_gradients(optimizer)
        self._report_state(optimizer, parameters)

    def _report_state(self, optimizer: Any, parameters: list[tuple[str, Any]]) -> None:
        class_name = type(optimizer).__name__
        tensor_class = self._tensor_class
        names = {id(parameter): path for path, parameter in parameters}
        triples: list[int] = []
        for key, state in list(optimizer.state.items()):
            known = None
            if isinstance(key, tensor_class):
                known = self._parameters.of_optimizer(optimizer, names.get(id(key), "state"), key)
            for detail, tensor in tensors_in(state, tensor_class):
                self._parameters.add(
                    triples, tensor, self._state_tensor(known, f"{class_name}.{detail}")
                )
        for group in optimizer.param_groups:
            options = {name: value for name, value in group.items() if name != "params"}
            for detail, tensor in tensors_in(options, tensor_class):
                self._parameters.add(
                    triples, tensor, self._state_tensor(None, f"{class_name}.{detail}")
                )
        self._recorder.report_tensors(self._recorder.OPTIMIZER_STATE, triples)

    def _state_tensor(self, known: Parameter | None, detail: str) -> int:
        define, kind = self._recorder.define_tensor, self._recorder.OPTIMIZER_STATE
        if known is None:
            return int(define(kind, detail, detail, 0))
        if detail not in known.state:
            known.state[detail] = define(kind, known.name, detail, known.instance)
        return known.state[detail]


def _qualified_name(frame: FrameType) -> str:
    code = frame.f_code
    # Python 3.10 has no qualified names in code objects.
    return getattr(
        code, "co_qualname", "profile_hook_step" if "optimizer" in code.co_filename else ""
    )
