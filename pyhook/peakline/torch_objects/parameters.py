"""Reports the storages of parameters, buffers and gradients of modules."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from .modules import Modules
from .reading import Storages, join, optimized, tensors

_FIRST_ROOM = 4096


class Parameter:
    """A parameter and the recorder's ids of its tensors."""

    def __init__(self, parameter: Any, name: str, root: str, instance: int) -> None:
        """Name it as a parameter of this module of this model."""
        self.address = id(parameter)
        self.name = name
        self.root = root
        self.instance = instance
        self.storage = 0
        self.gradient = 0
        # A leaf that wraps no other tensor, unlike DTensor: its gradient can be read directly.
        self.is_plain = bool(parameter.is_leaf) and not hasattr(parameter, "_local_tensor")
        self.state: dict[str, int] = {}  # by the optimizer's key


class Parameters:
    """The known parameters of modules and optimizers."""

    def __init__(self, recorder: ModuleType, storages: Storages) -> None:
        """Begin with no parameter."""
        self._recorder = recorder
        self._storages = storages
        self._parameters: dict[int, Parameter] = {}  # by the number of Recorder.watch
        self._room = _FIRST_ROOM  # with more parameters, dead ones are removed
        self.name_count = 0  # increased when a parameter gets its first or a better name
        self._of_gradient: dict[int, Parameter] = {}  # by the recorder's id
        self._shared: dict[tuple[int, ...], int] = {}  # ids of gradients that share a storage
        self._instances: dict[tuple[str, str], int] = {}  # of modules, by model and path
        # torch has imported it, through inspect.
        opcodes: dict[str, int] = getattr(sys.modules.get("opcode"), "opmap", {})
        self._set_attributes = bytes(opcodes.get(one, 0) for one in ("STORE_ATTR", "DELETE_ATTR"))

    def report_modules(self, modules: Modules) -> None:
        """Report parameters, buffers and gradients of every named module."""
        parameters: list[int] = []
        buffers: list[int] = []
        gradients: list[int] = []
        for named, module in modules.alive():
            self._instances[named.root, named.path] = named.instance
            for name, parameter in tensors(module, "_parameters"):
                known = self._know_parameter(
                    parameter, join(named.path, name), named.root, named.instance
                )
                self.add(parameters, parameter, known.storage)
                self._add_gradient(gradients, parameter, known)
            for name, buffer in tensors(module, "_buffers"):
                tensor = self._recorder.define_tensor(
                    self._recorder.BUFFER, join(named.path, name), None, named.instance
                )
                self.add(buffers, buffer, tensor)
        self._recorder.report_tensors(self._recorder.BUFFER, buffers)
        self._recorder.report_tensors(self._recorder.PARAMETER, parameters)
        self._recorder.report_tensors(self._recorder.GRADIENT, self._joined(gradients))

    def _know_parameter(self, parameter: Any, name: str, root: str, instance: int) -> Parameter:
        number = self._recorder.watch(parameter)
        known = self._parameters.get(number)
        # A parameter first seen in an optimizer gets the name of its module later.
        if known is not None and (known.instance or not instance):
            return known
        known = Parameter(parameter, name, root, instance)
        recorder = self._recorder
        known.storage = recorder.define_tensor(recorder.PARAMETER, name, None, instance)
        known.gradient = recorder.define_tensor(recorder.GRADIENT, name, None, instance)
        if number:
            self._parameters[number] = known
            self._forget_dead()
        self.name_count += 1
        self._of_gradient[known.gradient] = known
        return known

    def _forget_dead(self) -> None:
        if len(self._parameters) > self._room:
            watched = self._recorder.watched
            for number, known in list(self._parameters.items()):
                if watched(known.address, number) is None:
                    del self._parameters[number]
            self._room = max(_FIRST_ROOM, 2 * len(self._parameters))

    def _joined(self, triples: list[int]) -> list[int]:
        """Replace several gradients in one storage, as in FSDP, by one name for all of them."""
        if len(set(triples[::3])) == len(triples) // 3:
            return triples
        held: dict[int, dict[int, int]] = {}
        for address, gradient, type_id in zip(
            triples[::3], triples[1::3], triples[2::3], strict=True
        ):
            held.setdefault(address, {})[gradient] = type_id
        joined: list[int] = []
        for address, gradients in held.items():
            type_id = next(iter(gradients.values())) if len(gradients) == 1 else 0
            joined += (address, self._number_of_all(tuple(gradients)), type_id)
        return joined

    def _number_of_all(self, gradients: tuple[int, ...]) -> int:
        if len(gradients) == 1:
            return gradients[0]
        if gradients not in self._shared:
            parameters = [self._of_gradient[gradient] for gradient in gradients]
            paths = [known.name.split(".") for known in parameters]
            common = paths[0]
            while any(path[: len(common)] != common for path in paths):
                common = common[:-1]
            path = ".".join(common)
            name = join(path, f"* ({len(parameters)} parameters)")
            instance = self._instances.get((parameters[0].root, path), 0)
            kind = self._recorder.GRADIENT
            self._shared[gradients] = self._recorder.define_tensor(kind, name, None, instance)
        return self._shared[gradients]

    def add(self, triples: list[int], tensor: Any, name: int) -> None:
        """Add the storage of `tensor` under the recorder's id `name`."""
        self._storages.add(triples, tensor, name)

    def _add_gradient(self, triples: list[int], parameter: Any, known: Parameter) -> None:
        if parameter.is_leaf:
            gradient = self._recorder.gradient_of(parameter, self._set_attributes)
            if gradient is not None:
                self.add(triples, gradient, known.gradient)

    def is_known(self, parameter: Any) -> bool:
        """Return whether this object is known."""
        return self._recorder.watch(parameter) in self._parameters

    def of_optimizer(self, optimizer: Any, path: str, parameter: Any) -> Parameter:
        """Return a parameter of an optimizer, which may belong to no module."""
        known = self._parameters.get(self._recorder.watch(parameter))
        if known is not None:
            return known
        return self._know_parameter(parameter, f"{type(optimizer).__name__}.{path}", "", 0)

    def report_gradients(self, optimizer: Any) -> None:
        """Report the gradients of an optimizer by reading its parameters one by one."""
        triples: list[int] = []
        for path, parameter in optimized(optimizer):
            self._add_gradient(triples, parameter, self.of_optimizer(optimizer, path, parameter))
        self._recorder.report_tensors(self._recorder.GRADIENT, self._joined(triples))

    def follow_gradients(self, optimizer: Any) -> object:
        """Let the recorder follow an optimizer's gradients, or, if it cannot, the parameters."""
        followed: list[int] = []
        all_are_plain = True
        for path, parameter in optimized(optimizer):
            known = self.of_optimizer(optimizer, path, parameter)
            all_are_plain = all_are_plain and known.is_plain
            followed += (parameter._cdata, known.gradient)
        return self._recorder.follow_gradients(
            followed if all_are_plain else [], optimizer.param_groups
        )
