"""Recording in a program that did not ask for it: the part of `peakline attach` inside it."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from peakline.api import torch_support, tracing
from peakline.api.log import logger


def answer(request: Mapping[str, object]) -> dict[str, object]:
    """Begin or end the recording that is asked for; return the answer, a problem or the facts."""
    with _messages() as messages:
        facts = _end() if request["action"] == "end" else _begin(request)
    return {**facts, "messages": messages}


def _begin(request: Mapping[str, object]) -> dict[str, object]:
    torch = sys.modules["torch"]  # in_program.py has looked
    if not hasattr(torch, "cuda"):  # it is being imported
        return {"problem": "it has not imported torch"}
    if torch.cuda._is_in_bad_fork():
        return {"problem": "it was forked after CUDA was initialised, and cannot use CUDA"}
    if request["only_with_cuda"] and not torch_support.cuda_is_initialised():
        return {"idle": "it has not used CUDA"}
    if path := tracing.trace_path():
        return {"problem": f"it is recorded already, to {path}"}
    with _torch_part(str(request["torch_part"])):
        tracing.begin_trace(Path(str(request["output"])), overwrite=bool(request["overwrite"]))
    return {"trace": tracing.trace_path()}


@contextmanager
def _torch_part(path: str) -> Iterator[None]:
    """Name the part for this torch to the recorder; children of the program do not inherit it."""
    name = torch_support.TORCH_PART_NAME
    if tracing.status().is_on or not path or name in os.environ:
        yield
        return
    os.environ[name] = path
    try:
        yield
    finally:
        os.environ.pop(name, None)


def _end() -> dict[str, object]:
    path = tracing.trace_path()
    if not path:
        return {"problem": "it is not recorded"}
    tracing.end_trace()
    return {"trace": path}


@contextmanager
def _messages() -> Iterator[list[str]]:
    """Collect the messages of the logger: the program's own output stays as it was."""
    messages: list[str] = []

    def keep(record: logging.LogRecord) -> bool:
        messages.append(record.getMessage())
        return False

    log = logger()
    log.addFilter(keep)
    try:
        yield messages
    finally:
        log.removeFilter(keep)
