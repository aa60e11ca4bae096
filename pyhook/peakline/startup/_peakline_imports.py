"""Runs a function when the program imports a module; the startup folder builds on it."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

_waiting: dict[str, list[Callable[[Any], None]]] = {}


class _Finder:
    """Finds no module itself: it only watches for the awaited ones."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        functions = _waiting.pop(name, None)
        if functions is None:
            return None
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        loader: Any = spec.loader
        execute = loader.exec_module

        def exec_module(module: Any) -> None:
            execute(module)
            for function in functions:
                function(module)

        loader.exec_module = exec_module
        return spec


def when_imported(name: str, function: Callable[[Any], None]) -> None:
    """Call ``function(module)`` when ``name`` is imported; at once if it already is."""
    if name in sys.modules:
        function(sys.modules[name])
        return
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)
    _waiting.setdefault(name, []).append(function)


def after_each_step(action: Callable[[Any], object]) -> None:
    """Call ``action(optimizer)`` after each step of every optimizer, once torch is imported."""
    import functools

    def wrap(module: Any) -> None:
        real = module.Optimizer.profile_hook_step

        @functools.wraps(real)
        def profile_hook_step(function: Any) -> Any:
            hooked = real(function)

            @functools.wraps(hooked)
            def step(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
                result = hooked(optimizer, *args, **kwargs)
                action(optimizer)
                return result

            return step

        module.Optimizer.profile_hook_step = staticmethod(profile_hook_step)

    when_imported("torch.optim.optimizer", wrap)
