"""Names modules: their paths in named_modules(), and their model."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

from .reading import children, class_name, is_wrapper, unwrapped


# Plain classes: dataclasses look their module up in sys.modules, where this one is not.
class Named:
    """A named module."""

    def __init__(self, address: int, root: str, path: str, instance: int) -> None:
        """Store the values reported to the recorder."""
        self.address = address
        self.root = root
        self.path = path
        self.instance = instance


class Modules:
    """The named modules."""

    def __init__(self, recorder: ModuleType) -> None:
        """Begin with no module."""
        self._recorder = recorder
        self._modules: dict[int, Named] = {}  # by the number of Recorder.watch
        self._root_counts: dict[str, int] = {}

    def alive(self) -> Iterator[tuple[Named, Any]]:
        """Yield every live named module with its name."""
        for number, named in list(self._modules.items()):
            module = self._recorder.watched(named.address, number)
            if module is None:
                del self._modules[number]
            else:
                yield named, module

    def instance_of(self, module: Any) -> int:
        """Return the recorder's id of a module; 0: it has no name."""
        known = self._known(module)
        return 0 if known is None else known.instance

    def _known(self, module: Any) -> Named | None:
        return self._modules.get(self._recorder.watch(module))

    def name_all(self, modules: list[Any]) -> None:
        """Name all of these modules, which are all modules of the process."""
        inner = {id(child) for module in modules for _, child in children(module)}
        seen: set[int] = set()
        # Already named models keep their names; of the others, root modules come first.
        for root in modules:
            if id(root) not in inner:
                self._name_tree(root, seen)
        for module in modules:
            if id(module) not in seen:  # a cycle of modules has no root
                self._name_tree(module, seen)

    def _name_tree(self, root: Any, seen: set[int]) -> None:
        self._name_below(root, self._root_label(root), "", seen)

    def _name_below(self, root: Any, label: str, root_path: str, seen: set[int]) -> None:
        pending = [(root, root_path)]
        while pending:
            module, path = pending.pop()
            if id(module) in seen:
                continue
            seen.add(id(module))
            self._name_module(module, label, path)
            for name, child in reversed(children(module)):
                is_passed = is_wrapper(module, name)
                pending.append((child, path if is_passed else f"{path}.{name}" if path else name))

    def name_unknown(self, root: Any) -> None:
        """Name this module as a model, unless it is already known."""
        if self._known(root) is None:
            self._name_tree(root, set())

    def name_replicas(self, replicas: list[Any], original: Any) -> None:
        """Give DataParallel's replicas of a model for one call the name of the model."""
        known = self._known(original)
        seen: set[int] = set()
        for replica in replicas:
            if known is not None:
                self._name_below(replica, known.root, known.path, seen)

    def _root_label(self, root: Any) -> str:
        inner = unwrapped(root)
        for module in (root, inner):  # a model keeps its name when it is wrapped later
            known = self._known(module)
            if known is not None and not known.path:
                return known.root
        name = class_name(inner)
        if root.__dict__.get("_is_replica"):  # DataParallel makes new replicas for every call
            return name
        self._root_counts[name] = count = self._root_counts.get(name, 0) + 1
        return name if count == 1 else f"{name}#{count}"

    def _name_module(self, module: Any, root: str, path: str) -> None:
        number = self._recorder.watch(module)
        known = self._modules.get(number)
        is_the_same = known is not None and (known.root, known.path) == (root, path)
        # without a watch of its death, a later object would inherit the name
        if not number or is_the_same:
            return
        name = type(module).__name__
        instance = self._recorder.name_instance(module, name, root, path or None)
        self._modules[number] = Named(id(module), root, path, instance)
