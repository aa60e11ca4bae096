"""The figures that views share, over programs that train, run out of memory and use two devices.

Lab.once holds those of every other program against each other, see figures.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from figures import CHECKS, Views, held, same, views_of
from lab import ON_GPU, Lab
from peakline._report import Trace

pytestmark = pytest.mark.skipif(ON_GPU, reason="some of the programs need a simulated device")


def trace_of(lab: Lab, name: str) -> Path:
    """Return the trace of a program, which runs once."""
    programs = {
        "trains": lambda: lab.once("train_model.py", "transformer"),
        "out of memory": lambda: lab.once("runs_out_of_memory.py"),
        "several devices": lambda: lab.once("two_devices.py", device="h200x2"),
    }
    return programs[name]().traces[0]


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("name", ["trains", "out of memory", "several devices"])
def test_views_share_their_figures(lab: Lab, name: str, check: Callable[[Views], None]) -> None:
    views = views_of(trace_of(lab, name))
    assert views
    for one in views:
        check(one)


def test_a_refused_request(lab: Lab) -> None:
    [one] = views_of(trace_of(lab, "out of memory"))
    oom = one.of("oom")["ooms"][0]
    said = one.of("table")["out_of_memory"]
    assert said["seconds"] == oom["seconds"]
    assert said["requested_bytes"] == oom["device_request_bytes"]
    assert said["free_bytes"] == oom["free_bytes"]
    for key, rows in (("category", oom["categories"]), ("line", oom["rows"])):
        table = one.of("table", at="oom", by=key)
        same({"oom": held(rows), "table": held(table["rows"])})
        same({"oom": oom["live_bytes"], "table": table["total_bytes"]})


def test_ranks_count_a_line_on_all_devices(lab: Lab) -> None:
    path = trace_of(lab, "several devices")
    trace = Trace(str(path))
    ranks = json.loads(lab.peakline("ranks", "--json", str(path)).stdout)
    of_all = json.loads(trace.report("table", json=True, top=0, device="all"))
    assert len(of_all["devices"]) > 1
    assert {row["key"].split("/")[-1]: row["max_bytes"] for row in ranks["rows"]} == {
        row["key"].split("/")[-1]: row["bytes"] for row in of_all["rows"]
    }
    # Its peak is that of the device that a table shows.
    shown = json.loads(trace.report("table", json=True))
    assert ranks["processes"][0]["peak_bytes"] == shown["peak_bytes"]
    assert ranks["processes"][0]["device"] == shown["device"]
