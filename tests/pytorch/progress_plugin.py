"""A pytest plugin for run_cuda_tests.py: one JSON line when a test starts and when it ends.

test_cuda_expandable_segments.py runs the tests of test_cuda.py with another setting, which it makes
only as a script: the same is done here.
"""

from __future__ import annotations

import json
import os
from typing import Any


def _say(**what: Any) -> None:
    with open(os.environ["PROGRESS_FILE"], "a") as file:  # noqa: PTH123
        file.write(json.dumps(what) + "\n")


def _use_expandable_segments(modules: set[Any]) -> None:
    import torch

    torch.cuda.memory._set_allocator_settings("expandable_segments:True")
    for module in modules:
        for name in ("TestCuda", "TestBlockStateAbsorption"):
            if hasattr(module, name):
                getattr(module, name).expandable_segments = lambda _: True


def pytest_collection_modifyitems(items: list[Any]) -> None:
    modules = {item.module for item in items if hasattr(item, "module")}
    if any(module.__name__ == "test_cuda_expandable_segments" for module in modules):
        _use_expandable_segments(modules)
    _say(collected=[item.nodeid for item in items])


def pytest_runtest_logstart(nodeid: str) -> None:
    _say(started=nodeid)


_failed: set[str] = set()


def pytest_runtest_logreport(report: Any) -> None:
    # A failed test keeps its tensors until its traceback is gone: what the end of it then says of
    # memory is no news.
    if report.when == "teardown" and report.nodeid in _failed:
        return
    if report.outcome == "failed":
        _failed.add(report.nodeid)
    if report.when == "call" or report.outcome != "passed":
        _say(ended=report.nodeid, outcome=report.outcome, text=str(report.longrepr)[-1500:])
