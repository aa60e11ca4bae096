"""Layers, operators and stages against what hooks and a dispatch mode of the program read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from lab import Lab

PROGRAM = "call_levels.py"


def report(lab: Lab, command: str, what: str) -> dict[str, Any]:
    run = lab.once(PROGRAM, what)
    told = json.loads(lab.report(command, run.trace, "--json"))
    assert told["complete"], told["problems"]
    return told


def seen(lab: Lab, what: str) -> list[list[Any]]:
    return lab.once(PROGRAM, what).said["seen"]


def calls_that_allocate(lab: Lab) -> list[list[Any]]:
    """Return the stages of the calls within which torch made a block."""
    kept = []
    open_calls: list[tuple[int, list[Any]]] = []
    for stage in seen(lab, "stages"):
        if stage[2].startswith("pre"):
            open_calls.append((len(kept), stage))
            kept.append(stage)
        else:
            index, before = open_calls.pop()
            kept.append(stage)
            if before[-1] == stage[-1]:
                del kept[index:]
    return kept


def test_stages_are_the_levels_of_hooks(lab: Lab) -> None:
    told = [
        [row["step"], row["module"], row["stage"], *row["mem"].values()]
        for row in report(lab, "stages", "stages")["stages"]
        # The counters were read around the pass as a whole.
        if "backward" not in row["stage"] or row["module"] == "Model"
    ]
    wanted = [stage[:-1] for stage in calls_that_allocate(lab)]
    assert len(wanted) >= 3 * 20
    assert told == wanted


def test_a_series_of_operators_is_that_of_a_dispatch_mode(lab: Lab) -> None:
    ops = report(lab, "ops", "ops")["ops"]
    told = [[op["op"], op["allocated_bytes"], op["active_bytes"]] for op in ops if op["step"] == 1]
    assert len(told) >= 50
    # The last result of the step is dropped before anything else is allocated: as if within.
    assert told[:-1] == seen(lab, "ops")[:-1]


def test_operators_below_a_dispatch_mode_are_what_it_saw(lab: Lab) -> None:
    ops = report(lab, "ops", "ops")["ops"]
    told = [[op["op"], op["allocated_bytes"], op["active_bytes"]] for op in ops if op["step"] == 2]
    assert told[:-1] == seen(lab, "ops")[:-1]


def as_modes_name(name: str) -> str:
    """Return "mm.default" of "aten::mm"; what is not torch's own keeps its name."""
    space, _, function = name.partition("::")
    if space != "aten":
        return name
    return function if "." in function else f"{function}.default"


def test_one_call_below_dispatch_modes_is_one_row(lab: Lab) -> None:
    run = lab.once("dispatch_modes.py")
    told = json.loads(lab.report("ops", run.trace, "--json", "--top", "0"))
    wanted = [[as_modes_name(name), *rest] for name, *rest in run.said["seen"]]
    assert sum(count > 1 for _, count, _ in wanted) >= 4
    found = [[op["op"], op["alloc_count"], op["allocated_bytes"]] for op in told["ops"]]
    assert found[-len(wanted) :] == wanted


def test_operators_have_names_and_markers_stand_between_them(lab: Lab) -> None:
    told = report(lab, "ops", "ops")
    names = [op["name"] for op in told["ops"]]
    assert len(set(names)) == len(names)
    assert "layers.1.up.forward.addmm.default_2" in names
    assert any(name.startswith("layers.1.up.backward.mm.default_") for name in names)
    markers = {(mark["name"], mark["step"]): mark["op_index"] for mark in told["markers"]}
    for step in range(3):
        begin, border = markers["fw_start", step], markers["fw_bw_boundary", step]
        assert begin < border <= markers["bw_start", step] < markers["bw_end", step]
        inside = {op["phase"] for op in told["ops"][begin:border]}
        assert inside == {"forward"}, (step, inside)


def test_the_peak_while_a_layer_runs_is_torchs(lab: Lab) -> None:
    told = {row["layer_name"]: row for row in report(lab, "layers", "layers")["layers"]}
    wanted: dict[str, int] = {}
    for name, peak in seen(lab, "layers"):
        wanted[name] = max(wanted.get(name, 0), peak)
    assert len(wanted) == 14
    assert {name: told[name]["peak_allocated"] for name in wanted} == wanted


def test_layers_hold_what_their_tensors_are(lab: Lab) -> None:
    told = {row["layer_name"]: row for row in report(lab, "layers", "stages")["layers"]}
    up = told["layers.1.up"]
    width, hidden = 256, 2560
    weights = 4 * hidden * (width + 1)
    # Parameters and two states of the optimizer; gradients until zero_grad.
    assert up["held_bytes"] == 3 * weights
    assert up["peak_held_bytes"] >= 4 * weights
    assert up["call_count"] == 3
    assert up["total_allocations"] - up["total_deallocations"] == 6
    assert told["Model"]["peak_allocated"] <= report(lab, "layers", "stages")["peak_bytes"]
    assert 0 < up["avg_fragmentation"] < 1
    assert up["duration_ms"] > 0


def test_a_trace_that_begins_late_knows_the_segments_before_it(lab: Lab) -> None:
    run = lab.run(PROGRAM, "late", recorded=False)
    told = json.loads(lab.report("stages", Path(run.said["trace"]), "--json", "--top", "0"))
    wanted = {(stage[1], stage[2]): stage[3:5] for stage in run.said["seen"]}
    found = {
        (row["module"], row["stage"]): [row["mem"]["allocated"], row["mem"]["cached"]]
        for row in told["stages"]
    }
    assert len(found) >= 20
    assert {key: wanted[key] for key in found} == found


@pytest.mark.parametrize("command", ["layers", "ops", "stages", "tensors"])
def test_text_ends_with_the_next_command(lab: Lab, command: str) -> None:
    result = lab.peakline(command, str(lab.once(PROGRAM, "stages").trace), "--top", "2")
    assert result.returncode == 0, result.stderr
    assert "Max mem: " in result.stdout or "Live at peak: " in result.stdout
    assert result.stderr.startswith("Next: peakline ")


def test_tensors_of_the_peak_are_its_blocks(lab: Lab) -> None:
    # A warm process has a frame below the script's own.
    run = lab.once("frees_blocks.py", options=("--frees",), fresh=True)
    told = json.loads(lab.report("tensors", run.trace, "--json", "--measure", "requested"))
    sizes = run.said["sizes"]
    assert sum(row["bytes"] for row in told["tensors"]) == told["total_bytes"] == told["peak_bytes"]
    rows = {row["requested_bytes"]: row for row in told["tensors"]}
    kept, deleted = rows[sizes["kept"]], rows[sizes["deleted"]]
    assert kept["create_stack"][0]["function"] == "make_blocks"
    assert [place["function"] for place in kept["create_stack"]] == [
        "make_blocks",
        "main",
        "<module>",
    ]
    assert (kept["release_stack"], kept["freed_seconds"]) == (None, None)
    assert kept["lifetime"] == "held to the end"
    assert [place["function"] for place in deleted["release_stack"]] == [
        "deletes",
        "main",
        "<module>",
    ]
    assert deleted["freed_seconds"] > deleted["allocated_seconds"]
    large = json.loads(lab.report("tensors", run.trace, "--json", "--min", "6M"))
    assert all(row["bytes"] >= 6 << 20 for row in large["tensors"])
    assert large["hidden_count"] + large["row_count"] == told["row_count"]
    assert large["hidden_bytes"] == large["total_bytes"] - sum(
        row["bytes"] for row in large["tensors"]
    )
