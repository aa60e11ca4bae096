"""`peakline advise --try`: applies changes to the program that need no edit of it.

PEAKLINE_TRY names them, separated by ';'. Each change that took effect writes its name into the
file PEAKLINE_TRY_NOTES: a change without effect must not look like one that does not help. These
runs are not the user's own, so the program is changed on purpose.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from _peakline_flops import Flops
from _peakline_imports import after_each_step, when_imported

_noted: set[str] = set()


def _note(change: str) -> None:
    if change not in _noted:
        _noted.add(change)
        with Path(os.environ["PEAKLINE_TRY_NOTES"]).open("a", encoding="utf-8") as notes:
            notes.write(f"{change}\n")


def _with_defaults(change: str, **options: bool) -> None:
    """Give optimizers these options unless the program sets them."""

    def wrap(module: Any) -> None:
        real = module.Optimizer.__init__

        @functools.wraps(real)
        def init(self: Any, params: Any, defaults: dict[str, Any]) -> None:
            if all(name in defaults for name in options) and any(
                defaults[name] is not wanted for name, wanted in options.items()
            ):
                defaults |= options
                _note(change)
            real(self, params, defaults)

        module.Optimizer.__init__ = init

    when_imported("torch.optim.optimizer", wrap)


def _set_to_none(change: str) -> None:
    def wrap(owner: Any) -> None:
        real = owner.zero_grad

        @functools.wraps(real)
        def zero_grad(self: Any, set_to_none: bool = True) -> None:
            if not set_to_none:
                _note(change)
            real(self, True)

        owner.zero_grad = zero_grad

    when_imported("torch.optim.optimizer", lambda module: wrap(module.Optimizer))
    when_imported("torch.nn.modules.module", lambda module: wrap(module.Module))


def _zero_grad_early(change: str) -> None:
    def zero_grad(optimizer: Any) -> None:
        optimizer.zero_grad(set_to_none=True)
        _note(change)

    after_each_step(zero_grad)


def _on_models(prepare: Callable[[Any], None]) -> None:
    """Call ``prepare(module)`` before the first forward pass of each outermost module."""
    seen: set[int] = set()

    def before_forward(module: Any, _inputs: Any) -> None:
        if id(module) not in seen:
            seen.update(map(id, module.modules()))
            prepare(module)

    when_imported(
        "torch.nn.modules.module",
        lambda module: module.register_module_forward_pre_hook(before_forward),
    )


def _checkpoint(change: str, paths: str) -> None:
    """Checkpoint the modules of paths such as h.0,h.1 or h.*, where * is a number."""
    flops = Flops.wanted()

    def wrap(module: Any, name: str) -> None:
        import torch
        from torch.utils.checkpoint import checkpoint

        real = module.forward
        counted = flops.counted(real, name) if flops else real

        @functools.wraps(real)
        def forward(*args: Any, **kwargs: Any) -> Any:
            if torch.is_grad_enabled():
                return checkpoint(counted, *args, use_reentrant=False, **_without_cache(kwargs))
            return real(*args, **kwargs)

        module.forward = forward
        _note(change)

    def prepare(model: Any) -> None:
        # Paths begin with the class of the model where a program has several models.
        own = [path.removeprefix(f"{type(model).__name__}.") for path in paths.split(",")]
        words = [re.escape(path).replace(r"\*", r"\d+") for path in own]
        pattern = re.compile(rf"(?:.*\.)?({'|'.join(words)})")
        named = [(pattern.fullmatch(name), one) for name, one in model.named_modules()]
        layers = [(match[1], one) for match, one in named if match]
        # A transformers model has its own switch for all of its layers.
        for one in model.modules() if layers and "*" in paths else ():
            if getattr(one, "supports_gradient_checkpointing", False):
                one.gradient_checkpointing_enable({"use_reentrant": False})
                _note(change)
                return
        if layers and flops:
            flops.begin()
        for name, layer in layers:
            wrap(layer, name)

    _on_models(prepare)


def _without_cache(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a layer without a cache of keys: it would be filled twice."""
    changed = dict.fromkeys({"past_key_value", "past_key_values"} & arguments.keys())
    if arguments.get("use_cache"):
        changed["use_cache"] = False
    return {**arguments, **changed}


def _no_grad_in_eval(change: str) -> None:
    def prepare(model: Any) -> None:
        import torch

        real = model.forward

        @functools.wraps(real)
        def forward(*args: Any, **kwargs: Any) -> Any:
            if model.training or not torch.is_grad_enabled():
                return real(*args, **kwargs)
            _note(change)
            with torch.no_grad():
                return real(*args, **kwargs)

        model.forward = forward

    _on_models(prepare)


def _compile(change: str, budget: str) -> None:
    """Compile each outermost module when it is first called.

    Args:
        change: the name of the change.
        budget: the part of the activations to keep for the backward pass, from 0 to 1; '': all
            that torch chooses to keep.
    """
    if budget:
        when_imported(
            "torch._functorch.config",
            lambda config: setattr(config, "activation_memory_budget", float(budget)),
        )
    seen: set[int] = set()

    def compile_once(model: Any) -> None:
        if id(model) in seen:
            return
        seen.update(map(id, model.modules()))
        # A model that the program compiles has no change but the budget.
        is_compiled = any(
            hasattr(one, "_orig_mod") or one._compiled_call_impl is not None
            for one in model.modules()
        )
        if not is_compiled:
            model.compile()
        if budget or not is_compiled:
            _note(change)

    def wrap(module: Any) -> None:
        owner = module.Module
        real = owner.__call__

        # A hook would run after the call has chosen what to run. Within a call torch sees its own
        # method, so that it compiles what it compiles without us.
        @functools.wraps(real)
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            owner.__call__ = real
            try:
                compile_once(self)
                return real(self, *args, **kwargs)
            finally:
                owner.__call__ = call

        owner.__call__ = call

    when_imported("torch.nn.modules.module", wrap)


def _sdpa_without_math(change: str) -> None:
    def wrap(module: Any) -> None:
        real = module.scaled_dot_product_attention

        @functools.wraps(real)
        def attention(*args: Any, **kwargs: Any) -> Any:
            import torch

            torch.backends.cuda.enable_math_sdp(False)
            _note(change)
            return real(*args, **kwargs)

        module.scaled_dot_product_attention = attention

    when_imported("torch.nn.functional", wrap)


def _no_autocast_cache(change: str) -> None:
    def wrap(module: Any) -> None:
        real = module.autocast.__init__

        @functools.wraps(real)
        def init(self: Any, *args: Any, **kwargs: Any) -> None:
            real(self, *args, **kwargs)
            if self._cache_enabled:
                self._cache_enabled = False
                _note(change)

        module.autocast.__init__ = init

    when_imported("torch.amp.autocast_mode", wrap)


_CHANGES: dict[str, Callable[[str], None]] = {
    "fused": functools.partial(_with_defaults, fused=True, foreach=False),
    "no-foreach": functools.partial(_with_defaults, foreach=False),
    "set-to-none": _set_to_none,
    "zero-grad-early": _zero_grad_early,
    "no-grad-in-eval": _no_grad_in_eval,
    "sdpa-without-math": _sdpa_without_math,
    "no-autocast-cache": _no_autocast_cache,
    "expandable-segments": _note,  # the environment enables it
}
_WITH_VALUE: dict[str, Callable[[str, str], None]] = {
    "checkpoint": _checkpoint,
    "compile": _compile,
}


def prepare() -> None:
    """Apply the changes when torch is imported."""
    for change in os.environ["PEAKLINE_TRY"].split(";"):
        name, _, value = change.partition("=")
        if name in _WITH_VALUE:
            _WITH_VALUE[name](change, value)
        else:
            _CHANGES[name](change)
