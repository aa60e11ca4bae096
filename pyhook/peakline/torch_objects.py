"""Tells the recorder what the program's modules and optimizers are called and where they lie.

Loaded by pyhook/safe_point.cpp into the program, also where the package cannot be imported, and
called at safe points only: see Note [Safe points] there. It never changes the program: it reads
dictionaries without attribute look-up, holds weak references, imports nothing that the program has
not imported, and swallows its own failures. What it cannot see is not named, never guessed.
"""

from __future__ import annotations

import gc
import sys
import time
import weakref
from collections.abc import Callable, Iterator
from types import FrameType, ModuleType
from typing import Any

# Of SafePoint in pyhook/safe_point.h.
NEW_INSTANCE = 1
OPTIMIZER_STEP = 2
LAST_LOOK = 4
OUT_OF_MEMORY = 8
LOOK = 16

# Of TensorKind in trace_format.h.
PARAMETER = 1
BUFFER = 2
GRADIENT = 3
OPTIMIZER_STATE = 4

# Looking through all objects of the interpreter may take this part of the run time.
_SCAN_SHARE = 0.01

# Wrappers that only pass a call on: what they wrap keeps the names it has without them.
_WRAPPED_NAMES = frozenset(
    {"module", "_fsdp_wrapped_module", "_orig_mod", "_checkpoint_wrapped_module"}
)
_WRAPPER_CLASSES = frozenset(
    {
        "CheckpointWrapper",
        "DataParallel",
        "DistributedDataParallel",
        "FullyShardedDataParallel",
        "OffloadWrapper",
        "OptimizedModule",
    }
)


# Plain classes: dataclasses look their module up in sys.modules, where this one is not.
class _Named:
    """A module that has been named."""

    def __init__(self, reference: weakref.ref[Any], root: str, path: str, instance: int) -> None:
        self.reference = reference
        self.root = root
        self.path = path
        self.instance = instance


class _Parameter:
    """A parameter and the recorder's numbers for what belongs to it."""

    def __init__(self, parameter: Any, name: str, instance: int) -> None:
        self.reference = weakref.ref(parameter)
        self.name = name
        self.instance = instance
        self.storage = 0
        self.gradient = 0
        # A leaf that wraps no other tensor, as DTensor does: its gradient can be read at once.
        self.is_plain = bool(parameter.is_leaf) and not hasattr(parameter, "_local_tensor")
        self.state: dict[str, int] = {}  # by key of the optimizer


class _Optimizer:
    """What was last seen of an optimizer."""

    def __init__(self, reference: weakref.ref[Any]) -> None:
        self.reference = reference
        self.step_count = 0
        self.state_count = -1


class _Objects:
    """The program's modules, parameters and optimizers, as far as they were seen."""

    def __init__(self, recorder: ModuleType, torch: ModuleType) -> None:
        self._recorder = recorder
        self._torch = torch
        self._module_class: type = torch.nn.Module
        self._optimizer_class: type = torch.optim.Optimizer
        self._address: Callable[[Any], int] = torch._C._data_address
        self._without_torch_function = torch._C.DisableTorchFunction
        self._modules: dict[int, _Named] = {}
        self._parameters: dict[int, _Parameter] = {}
        self._optimizers: dict[int, _Optimizer] = {}
        self._root_counts: dict[str, int] = {}
        self._next_scan = 0.0
        self._busy = False

    def safe_point(self, reasons: int) -> None:
        """Look at the program. Runs between two instructions of its main thread."""
        if self._busy:
            return
        self._busy = True
        try:
            with self._without_torch_function():
                self._look(reasons)
        except Exception:  # never the program's business
            pass
        finally:
            self._busy = False

    def _look(self, reasons: int) -> None:
        everything = bool(reasons & (LAST_LOOK | OUT_OF_MEMORY | LOOK))
        if reasons & NEW_INSTANCE or everything:
            self._scan(force=bool(reasons & LAST_LOOK))
        if reasons & OPTIMIZER_STEP:
            self._look_at_step()
        if everything:
            self._tell_modules()
            for known in list(self._optimizers.values()):
                optimizer = known.reference()
                if optimizer is not None:
                    self._tell_optimizer(optimizer)

    # ---- modules ------------------------------------------------------------------------------

    def _scan(self, *, force: bool = False) -> None:
        """Name all modules of the process, and remember its optimizers."""
        if time.monotonic() < self._next_scan and not force:
            return
        begin = time.thread_time()  # what others do meanwhile is no cost of ours
        module_types = _classes_below(self._module_class)
        optimizer_types = _classes_below(self._optimizer_class)
        modules = []
        # By type(), which asks no object: isinstance() would call __class__ of proxies.
        for thing in gc.get_objects():
            kind = type(thing)
            if kind in module_types:
                modules.append(thing)
            elif kind in optimizer_types:
                self._remember_optimizer(thing)
        self._name_modules(modules)
        self._tell_modules()
        self._next_scan = time.monotonic() + (time.thread_time() - begin) / _SCAN_SHARE

    def _name_modules(self, modules: list[Any]) -> None:
        children = {id(child) for module in modules for _, child in _children(module)}
        seen: set[int] = set()
        # Models that were named before keep their names; of the others the largest come first.
        for root in modules:
            if id(root) not in children:
                self._name_tree(root, seen)
        for module in modules:
            if id(module) not in seen:  # a cycle of modules has no root
                self._name_tree(module, seen)

    def _name_tree(self, root: Any, seen: set[int]) -> None:
        label = self._root_label(root)
        pending = [(root, "")]
        while pending:
            module, path = pending.pop()
            if id(module) in seen:
                continue
            seen.add(id(module))
            self._name_module(module, label, path)
            for name, child in reversed(_children(module)):
                is_wrapper = type(module).__name__ in _WRAPPER_CLASSES and name in _WRAPPED_NAMES
                pending.append((child, path if is_wrapper else f"{path}.{name}" if path else name))

    def _root_label(self, root: Any) -> str:
        inner = _unwrapped(root)
        for module in (root, inner):  # a model keeps its name when it is wrapped later
            known = self._modules.get(id(module))
            if known is not None and known.reference() is module and not known.path:
                return known.root
        name = type(inner).__name__
        if root.__dict__.get("_is_replica"):  # DataParallel makes them anew for every call
            return name
        self._root_counts[name] = count = self._root_counts.get(name, 0) + 1
        return name if count == 1 else f"{name}#{count}"

    def _name_module(self, module: Any, root: str, path: str) -> None:
        known = self._modules.get(id(module))
        if known is not None and known.reference() is module:
            if (known.root, known.path) == (root, path):
                return
        elif known is not None:
            self._module_died(id(module))
        name = type(module).__name__
        instance = self._recorder.name_instance(module, name, root, path or None)
        reference = weakref.ref(module, _death_watch(self._module_died, id(module)))
        self._modules[id(module)] = _Named(reference, root, path, instance)

    def _module_died(self, address: int) -> None:
        if self._modules.pop(address, None) is not None:
            self._recorder.instance_died(address)

    # ---- tensors ------------------------------------------------------------------------------

    def _tell_modules(self) -> None:
        """Tell parameters, buffers and gradients of every module that has a name."""
        parameters: list[int] = []
        buffers: list[int] = []
        gradients: list[int] = []
        for named in list(self._modules.values()):
            module = named.reference()
            if module is None:
                continue
            for name, parameter in _tensors(module, "_parameters"):
                known = self._know_parameter(parameter, _join(named.path, name), named.instance)
                self._add(parameters, parameter, known.storage)
                self._add_gradient(gradients, parameter, known)
            for name, buffer in _tensors(module, "_buffers"):
                tensor = self._recorder.define_tensor(
                    BUFFER, _join(named.path, name), None, named.instance
                )
                self._add(buffers, buffer, tensor)
        self._recorder.tell_tensors(BUFFER, buffers)
        self._recorder.tell_tensors(PARAMETER, parameters)
        self._recorder.tell_tensors(GRADIENT, gradients)

    def _know_parameter(self, parameter: Any, name: str, instance: int) -> _Parameter:
        known = self._parameters.get(id(parameter))
        is_same = known is not None and known.reference() is parameter
        # One that was met in an optimizer first gets the name of its module later.
        if known is not None and is_same and (known.instance or not instance):
            return known
        known = _Parameter(parameter, name, instance)
        known.storage = self._recorder.define_tensor(PARAMETER, name, None, instance)
        known.gradient = self._recorder.define_tensor(GRADIENT, name, None, instance)
        self._parameters[id(parameter)] = known
        return known

    def _add(self, told: list[int], tensor: Any, name: int) -> None:
        try:
            address = self._address(getattr(tensor, "_local_tensor", tensor))
        except Exception:  # a tensor without storage
            return
        told += (address, name)

    def _add_gradient(self, told: list[int], parameter: Any, known: _Parameter) -> None:
        if parameter.is_leaf:
            gradient = parameter.grad
            if gradient is not None:
                self._add(told, gradient, known.gradient)

    # ---- optimizers ---------------------------------------------------------------------------

    def _remember_optimizer(self, optimizer: Any) -> _Optimizer:
        known = self._optimizers.get(id(optimizer))
        if known is None or known.reference() is not optimizer:
            forget = _death_watch(self._forget_optimizer, id(optimizer))
            known = _Optimizer(weakref.ref(optimizer, forget))
            self._optimizers[id(optimizer)] = known
        return known

    def _forget_optimizer(self, address: int) -> None:
        self._optimizers.pop(address, None)

    def _look_at_step(self) -> None:
        optimizer = self._stepping_optimizer()
        if optimizer is None:
            return
        known = self._remember_optimizer(optimizer)
        known.step_count += 1
        # Storages of parameters and state hardly ever change after the first steps.
        is_rare = known.step_count & (known.step_count - 1) == 0
        parameters = list(_optimized(optimizer))
        if is_rare and any(not self._is_known(parameter) for _, parameter in parameters):
            self._scan(force=known.step_count == 1)
        if is_rare:
            self._tell_modules()
        if is_rare or len(optimizer.state) != known.state_count:
            self._tell_optimizer(optimizer)
            known.state_count = len(optimizer.state)
        else:
            self._tell_gradients(optimizer, parameters)

    def _stepping_optimizer(self) -> Any:
        """The optimizer whose step has just ended: its wrapper still runs on this thread."""
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

    def _is_known(self, parameter: Any) -> bool:
        known = self._parameters.get(id(parameter))
        return known is not None and known.reference() is parameter

    def _parameter_of(self, optimizer: Any, place: str, parameter: Any) -> _Parameter:
        if self._is_known(parameter):
            return self._parameters[id(parameter)]
        return self._know_parameter(parameter, f"{type(optimizer).__name__}.{place}", 0)

    def _tell_gradients(self, optimizer: Any, parameters: list[tuple[str, Any]]) -> None:
        """Runs at every step: about half a microsecond a parameter."""
        address = self._address
        known_parameters = self._parameters
        told: list[int] = []
        for place, parameter in parameters:
            known = known_parameters.get(id(parameter))
            if known is None or not known.is_plain or known.reference() is not parameter:
                self._add_gradient(told, parameter, self._parameter_of(optimizer, place, parameter))
                continue
            gradient = parameter.grad  # type: ignore[union-attr]  # narrowed by `is`
            if gradient is not None:
                try:
                    told += (address(gradient), known.gradient)
                except RuntimeError:  # a sparse gradient has no storage of its own
                    continue
        self._recorder.tell_tensors(GRADIENT, told)

    def _tell_optimizer(self, optimizer: Any) -> None:
        parameters = list(_optimized(optimizer))
        told: list[int] = []
        for place, parameter in parameters:
            known = self._parameter_of(optimizer, place, parameter)
            self._add(told, parameter, known.storage)
        self._recorder.tell_tensors(PARAMETER, told)
        self._tell_gradients(optimizer, parameters)
        self._tell_state(optimizer, parameters)

    def _tell_state(self, optimizer: Any, parameters: list[tuple[str, Any]]) -> None:
        class_name = type(optimizer).__name__
        tensor_class = self._torch.Tensor
        names = {id(parameter): place for place, parameter in parameters}
        told: list[int] = []
        for key, state in list(optimizer.state.items()):
            known = None
            if isinstance(key, tensor_class):
                known = self._parameter_of(optimizer, names.get(id(key), "state"), key)
            for detail, tensor in _tensors_in(state, tensor_class):
                self._add(told, tensor, self._state_tensor(known, f"{class_name}.{detail}"))
        for group in optimizer.param_groups:
            options = {name: value for name, value in group.items() if name != "params"}
            for detail, tensor in _tensors_in(options, tensor_class):
                self._add(told, tensor, self._state_tensor(None, f"{class_name}.{detail}"))
        self._recorder.tell_tensors(OPTIMIZER_STATE, told)

    def _state_tensor(self, known: _Parameter | None, detail: str) -> int:
        define = self._recorder.define_tensor
        if known is None:
            return int(define(OPTIMIZER_STATE, detail, detail, 0))
        if detail not in known.state:
            known.state[detail] = define(OPTIMIZER_STATE, known.name, detail, known.instance)
        return known.state[detail]


def _qualified_name(frame: FrameType) -> str:
    code = frame.f_code
    # Python 3.10 has no qualified names in code objects.
    return getattr(
        code, "co_qualname", "profile_hook_step" if "optimizer" in code.co_filename else ""
    )


def _death_watch(tell: Callable[[int], None], address: int) -> Callable[[Any], None]:
    return lambda _: tell(address)


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _classes_below(root: type) -> set[type]:
    found: set[type] = set()
    pending = [root]
    while pending:
        kind = pending.pop()
        if kind not in found:
            found.add(kind)
            pending += type.__subclasses__(kind)
    return found


def _children(module: Any) -> list[tuple[str, Any]]:
    modules = module.__dict__.get("_modules")
    return [(name, child) for name, child in (modules or {}).items() if child is not None]


def _tensors(module: Any, kind: str) -> list[tuple[str, Any]]:
    return [
        (name, tensor)
        for name, tensor in (module.__dict__.get(kind) or {}).items()
        if tensor is not None
    ]


def _unwrapped(module: Any) -> Any:
    """The model inside of wrappers."""
    while type(module).__name__ in _WRAPPER_CLASSES:
        inner = [child for name, child in _children(module) if name in _WRAPPED_NAMES]
        if not inner:
            break
        module = inner[0]
    return module


def _optimized(optimizer: Any) -> Iterator[tuple[str, Any]]:
    """The parameters of an optimizer with their places in it."""
    for group_number, group in enumerate(optimizer.param_groups):
        place = f"param_groups[{group_number}].params"
        for parameter in group["params"]:
            yield place, parameter


def _tensors_in(value: Any, tensor_class: type, depth: int = 4) -> Iterator[tuple[str, Any]]:
    """The tensors of an optimizer's state, each with its key."""
    if depth == 0:
        return
    items = value.items() if isinstance(value, dict) else [("", value)]
    for key, item in items:
        if isinstance(item, tensor_class):
            yield str(key), item
        elif isinstance(item, dict):
            for inner, tensor in _tensors_in(item, tensor_class, depth - 1):
                yield _join(str(key), inner), tensor
        elif isinstance(item, (list, tuple)):
            for element in item:
                for _, tensor in _tensors_in(element, tensor_class, depth - 1):
                    yield str(key), tensor


def _reads_self(recorder: ModuleType) -> bool:
    """Whether the recorder reads the first local variable of a frame rightly here."""

    class Probe:
        def ask(self) -> int:
            return int(recorder.own_instance())

    probe = Probe()
    recorder.watch_methods(Probe.ask.__code__, None)
    try:
        return probe.ask() == id(probe)
    finally:
        recorder.watch_methods(None, None)


def _is_readable(method: Callable[..., Any]) -> bool:
    """Whether its first local variable is ``self`` all the time."""
    code = method.__code__
    return code.co_varnames[:1] == ("self",) and "self" not in code.co_cellvars


def connect(recorder: ModuleType) -> Callable[[int], None] | None:
    """Begin to watch torch's modules; return what safe points call. torch is imported already."""
    torch = sys.modules["torch"]
    if not all(hasattr(torch, name) for name in ("nn", "optim")):
        return None
    module_class = torch.nn.Module
    methods = [
        method
        for method in (
            getattr(module_class, "_wrapped_call_impl", None),
            getattr(module_class, "_apply", None),
        )
        if method is not None and _is_readable(method)
    ]
    objects = _Objects(recorder, torch)
    if methods and _reads_self(recorder):
        codes = [method.__code__ for method in methods] + [None]
        objects.codes = codes  # type: ignore[attr-defined]  # kept alive: the recorder knows addresses
        recorder.watch_methods(codes[0], codes[1])
    return objects.safe_point
