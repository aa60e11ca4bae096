"""``MemTracer`` and ``install_hooks`` of tdynamics: a line around every module and optimizer step.

Only this facade hooks modules: a trace does not know modules that allocate nothing, and the caller
requests the hooks. It neither synchronises nor sets a trace function: torch's counters, which give
the levels, need neither.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any, TextIO

from peakline.base.output import json_text, write_lines

_MB = 1024 * 1024


class BaseTracer:
    """Receives the stages of a training; `trace` is called at each."""

    def trace(self, step: int, module: str, stage: str) -> None:
        """Do nothing."""

    def trace_exception(self, error: BaseException) -> None:
        """Do nothing."""


class MemTracer(BaseTracer):
    """Writes a line of JSON for each stage: step, module, stage, memory in MB.

    Args:
        logfile: a file, or its path; default ``mem_trace_rank_{rank}.log``.
        tracepy: also write a line for an exception that leaves a module.
        logtime: add ``time``, seconds since 1970.
    """

    def __init__(
        self,
        logfile: TextIO | str | Path | None = None,
        tracepy: bool = False,
        logtime: bool = False,
    ) -> None:
        """Open the file."""
        self.tracepy = tracepy
        self.logtime = logtime
        if logfile is None:
            logfile = f"mem_trace_rank_{_rank()}.log"
        if isinstance(logfile, (str, Path)):
            logfile = Path(logfile).open("w", encoding="utf-8")  # noqa: SIM115
        self._file = logfile

    def trace(self, step: int, module: str, stage: str) -> None:
        """Write a line."""
        line: dict[str, Any] = {
            "step": step,
            "module": module,
            "stage": stage,
            "mem": {name: value / _MB for name, value in _levels().items()},
        }
        if self.logtime:
            line["time"] = time.time()
        write_lines(json_text(line), to=self._file)

    def trace_exception(self, error: BaseException) -> None:
        """Write an exception that left a module."""
        if self.tracepy:
            write_lines(f"Exception: {type(error).__name__}, Value: {error}", to=self._file)


def install_hooks(m: Any = None, opt: Any = None, tracer: BaseTracer | None = None) -> list[Any]:
    """Call `tracer` around every module of `m` and every step of `opt`.

    Returns handles; ``remove()`` of each removes its hook. Without a tracer nothing happens.
    """
    if tracer is None:
        return []
    state = {"step": 0}
    handles: list[Any] = []

    def at(module: str, stage: str) -> Any:
        return lambda *_: tracer.trace(state["step"], module, stage)

    for path, module in m.named_modules() if m is not None else ():
        name = path or type(module).__name__
        before, after_it = _around_forward(tracer, name, state)
        handles.append(module.register_forward_pre_hook(before))
        handles.append(module.register_forward_hook(after_it, always_call=True))
        if not type(module).__name__.endswith("FusedScaleMaskSoftmax"):
            handles.append(module.register_full_backward_pre_hook(at(name, "pre backward")))
            handles.append(module.register_full_backward_hook(at(name, "post backward")))
    if opt is not None:
        handles.append(opt.register_step_pre_hook(at("optimizer", "pre step")))

        def after(*_: Any) -> None:
            tracer.trace(state["step"], "optimizer", "post step")
            state["step"] += 1

        handles.append(opt.register_step_post_hook(after))
    return handles


def _around_forward(tracer: BaseTracer, name: str, state: dict[str, int]) -> tuple[Any, Any]:
    """Return the hooks around a forward pass; the second also runs if it raises."""
    handled: list[BaseException | None] = []

    def before(*_: Any) -> None:
        handled.append(sys.exc_info()[1])  # the exception of an `except` around the call
        tracer.trace(state["step"], name, "pre forward")

    def after(*_: Any) -> None:
        error = sys.exc_info()[1]
        if error is None or error is handled[-1]:
            tracer.trace(state["step"], name, "post forward")
        else:
            tracer.trace_exception(error)
        handled.pop()

    return before, after


def _levels() -> dict[str, int]:
    import torch

    if not torch.cuda.is_available():
        return dict.fromkeys(("allocated", "cached", "max_allocated", "max_cached"), 0)
    return {
        "allocated": torch.cuda.memory_allocated(),
        "cached": torch.cuda.memory_reserved(),
        "max_allocated": torch.cuda.max_memory_allocated(),
        "max_cached": torch.cuda.max_memory_reserved(),
    }


def _rank() -> int:
    import torch

    distributed = torch.distributed
    is_up = distributed.is_available() and distributed.is_initialized()
    return distributed.get_rank() if is_up else 0
