"""A pytest plugin for run_cuda_tests.py: one JSON line when a test starts and when it ends."""

from __future__ import annotations

import json
import os
from typing import Any


def _say(**what: Any) -> None:
    with open(os.environ["PROGRESS_FILE"], "a") as file:  # noqa: PTH123
        file.write(json.dumps(what) + "\n")


def pytest_collection_modifyitems(items: list[Any]) -> None:
    _say(collected=[item.nodeid for item in items])


def pytest_runtest_logstart(nodeid: str) -> None:
    _say(started=nodeid)


def pytest_runtest_logreport(report: Any) -> None:
    if report.when == "call" or report.outcome != "passed":
        _say(ended=report.nodeid, outcome=report.outcome, text=str(report.longrepr)[-1500:])
