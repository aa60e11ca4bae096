"""Reads the program's objects through their dictionaries, without calling the objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

# Wrappers that only pass a call on: the wrapped module keeps the names it has without them.
WRAPPED_NAMES = frozenset(
    {"module", "_fsdp_wrapped_module", "_orig_mod", "_checkpoint_wrapped_module"}
)
WRAPPER_CLASSES = frozenset(
    {
        "CheckpointWrapper",
        "DataParallel",
        "DistributedDataParallel",
        "FullyShardedDataParallel",
        "OffloadWrapper",
        "OptimizedModule",
    }
)
# torch.export keeps the model below this name.
EXPORTED_NAME = "_export_root"


def join(path: str, name: str) -> str:
    """Extend a path as named_modules() does."""
    return f"{path}.{name}" if path else name


def classes_below(root: type) -> set[type]:
    """Return a class and all classes derived from it."""
    found: set[type] = set()
    pending = [root]
    while pending:
        kind = pending.pop()
        if kind not in found:
            found.add(kind)
            pending += type.__subclasses__(kind)
    return found


def children(module: Any) -> list[tuple[str, Any]]:
    """Return the direct children of a module."""
    modules = module.__dict__.get("_modules")
    return [(name, child) for name, child in (modules or {}).items() if child is not None]


def class_name(module: Any) -> str:
    """Return the name of a module's class; for a class made by fully_shard, the original's."""
    kind = type(module)
    is_sharded = kind.__name__.startswith("FSDP") and len(kind.__bases__) == 2
    return kind.__bases__[1].__name__ if is_sharded else kind.__name__


def tensors(module: Any, kind: str) -> list[tuple[str, Any]]:
    """Return the module's own ``_parameters`` or ``_buffers``."""
    return [
        (name, tensor)
        for name, tensor in (module.__dict__.get(kind) or {}).items()
        if tensor is not None
    ]


def is_wrapper(module: Any, name: str) -> bool:
    """Return whether the module only passes calls on to its child of this name."""
    is_known = type(module).__name__ in WRAPPER_CLASSES and name in WRAPPED_NAMES
    return is_known or name == EXPORTED_NAME


def unwrapped(module: Any) -> Any:
    """Return the model inside wrappers."""
    while inner := [child for name, child in children(module) if is_wrapper(module, name)]:
        module = inner[0]
    return module


def optimized(optimizer: Any) -> Iterator[tuple[str, Any]]:
    """Yield the parameters of an optimizer with their locations in it."""
    for group_number, group in enumerate(optimizer.param_groups):
        path = f"param_groups[{group_number}].params"
        for parameter in group["params"]:
            yield path, parameter


def tensors_in(value: Any, tensor_class: type, depth: int = 4) -> Iterator[tuple[str, Any]]:
    """Yield the tensors of an optimizer's state, each with its key."""
    if depth == 0:
        return
    items = value.items() if isinstance(value, dict) else [("", value)]
    for key, item in items:
        if isinstance(item, tensor_class):
            yield str(key), item
        elif isinstance(item, dict):
            for inner, tensor in tensors_in(item, tensor_class, depth - 1):
                yield join(str(key), inner), tensor
        elif isinstance(item, (list, tuple)):
            for element in item:
                for _, tensor in tensors_in(element, tensor_class, depth - 1):
                    yield str(key), tensor


class Storages:
    """Finds addresses and types of tensors."""

    def __init__(self, recorder: ModuleType, torch: ModuleType) -> None:
        """Take the functions of torch and the recorder."""
        self._address: Callable[[Any], int] = torch._C._data_address
        self._type_of = recorder.tensor_type
        self._tensor_class = torch.Tensor

    def add(self, triples: list[int], tensor: Any, name: int) -> None:
        """Add the storage of `tensor` under the recorder's id `name`."""
        tensor = getattr(tensor, "_local_tensor", tensor)
        storage = self.address_of(tensor)
        if storage is not None:
            triples += (storage, name, self._type_of(tensor, self._tensor_class))

    def address_of(self, tensor: Any) -> int | None:
        """Return the address of a tensor's storage; None: it has none."""
        try:
            return self._address(tensor)
        except Exception:
            return None
