"""What a layer holds is at least what the layers below its path hold, whoever is called."""

from __future__ import annotations

import json
from typing import Any

import pytest
from lab import Lab

PROGRAM = "nested_containers.py"
MODEL = "Model"
# Of a path: at least the most, and at least the sum, of what is directly below it.
HIGHEST = ("peak_allocated", "peak_reserved", "peak_held_bytes", "duration_ms")
SUMMED = (
    "held_bytes",
    "allocated_bytes",
    "backward_bytes",
    "total_allocations",
    "total_deallocations",
)
PROGRAMS = {
    "containers, forward": (PROGRAM, ("forward",), {}),
    "containers, trained": (PROGRAM, ("train",), {}),
    "three layers": ("call_levels.py", ("stages",), {}),
    "checkpointing": ("module_deltas.py", (), {}),
    "two devices": ("wrapped_models.py", ("parallel",), {"device": "h200x2"}),
    "keys and values": ("caches_keys.py", (), {}),
}


def layers(lab: Lab, what: str, *options: str) -> dict[str, dict[str, Any]]:
    program, arguments, how = PROGRAMS[what]
    run = lab.once(program, *arguments, **how)
    told = json.loads(lab.report("layers", run.trace, "--json", "--top", "0", *options))
    assert told["complete"], told["problems"]
    return {row["layer_name"]: row for row in told["layers"]}


def directly_below(rows: dict[str, dict[str, Any]], path: str) -> list[dict[str, Any]]:
    return [row for name, row in rows.items() if name.rpartition(".")[0] == path]


@pytest.mark.parametrize("what", PROGRAMS)
def test_a_path_has_at_least_what_is_below_it(lab: Lab, what: str) -> None:
    rows = layers(lab, what)
    paths = [name for name in rows if "." in name]
    around = {name.rpartition(".")[0] for name in paths}
    assert around
    assert around <= set(rows)
    for path in around:
        below = directly_below(rows, path)
        for column in HIGHEST:
            most = max(row[column] for row in below)
            assert rows[path][column] >= most, (path, column)
        for column in SUMMED:
            total = sum(row[column] for row in below)
            assert rows[path][column] >= total, (path, column)


@pytest.mark.parametrize("what", ["three layers", "checkpointing", "containers, trained"])
def test_the_model_has_at_least_what_any_path_has(lab: Lab, what: str) -> None:
    rows = layers(lab, what)
    model = rows.pop(MODEL)
    assert len(rows) > 10
    for column in (*HIGHEST, *SUMMED):
        assert model[column] >= max(row[column] for row in rows.values()), column


def test_a_container_that_nobody_calls_peaks_with_its_contents(lab: Lab) -> None:
    rows = layers(lab, "containers, forward")
    wanted = lab.once(PROGRAM, "forward").said["seen"]
    containers = {"layers", "stages", "stages.0", "stages.1", "steps", "named"}
    assert len(wanted) > 20
    assert containers <= set(wanted)
    found = {path: rows[path]["peak_allocated"] for path in wanted}
    # A residual layer adds after its parts have run, so it peaks with or above them.
    assert {path: peak for path, peak in found.items() if peak < wanted[path]} == {}
    parts = [path for path in wanted if path.endswith((".up", ".act", ".down", "shared", "guest"))]
    for path in [*parts, "stages", "stages.0", "stages.1", "steps"]:
        assert found[path] == wanted[path], path
    for path in containers:
        assert rows[path]["call_count"] == 0, path


def test_the_table_says_how_much_of_the_reserved_memory_is_unused(lab: Lab) -> None:
    (row,) = [row for name, row in layers(lab, "containers, trained").items() if name == "steps"]
    trace = lab.once(PROGRAM, "train").trace
    lines = lab.report("layers", trace, "--top", "0").splitlines()
    (heading,) = [line for line in lines if line.split()[-1:] == ["Layer"]]
    (shown,) = [line for line in lines if line.split()[-1:] == ["steps"]]
    end = heading.index("Unused") + len("Unused")
    assert "Frag" not in heading
    assert shown[:end].endswith(f" {row['avg_fragmentation']:.1%}".replace("%", " %"))


def test_every_path_holds_its_tensors_and_its_part_of_the_graph(lab: Lab) -> None:
    rows = layers(lab, "containers, trained")
    told = lab.once(PROGRAM, "train").said["seen"]
    # Of a residual the layer around it lets go what its last part made.
    wanted = {path: held for path, held in told.items() if held and not path.endswith(".down")}
    wanted.pop(MODEL)
    assert {"layers", "stages", "stages.1", "steps", "named"} < set(wanted)
    assert {path: rows[path]["held_bytes"] for path in wanted} == wanted
