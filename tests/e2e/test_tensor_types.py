"""Shape and dtype of tensors: those with names, and on the simulated GPU of every operator.

The oracles are the program's own tensors, and what a TorchDispatchMode sees operators make.
"""

from __future__ import annotations

import csv
import io
import json

import peakline
import pytest
from lab import ON_GPU
from peakline.text.document import Layout, plain_text

# With the companion of the simulated GPU, and as on a real one.
WAYS = [{}] if ON_GPU else [{"PEAKLINE_SIM_COMPANION": ""}, {}]
# Their sizes are asked of a subclass in Python, or are a view's: of a part, or repeated.
UNASKED = "buffer asking"
VIEWS = ("buffer half_of_a_block", "buffer wide")


@pytest.mark.parametrize("environment", WAYS, ids=lambda way: "as_real" if way else "simulated")
def test_named_tensors_are_what_torch_says(lab, environment):
    run = lab.once("tensor_types.py", environment=environment)
    expected = run.said["types"]
    rows = {row.name: row for row in peakline.open(run.trace).tensors(at="end")}
    found = {name: rows[name] for name in expected}
    shapes = {name: [list(row.shape or ()), row.dtype] for name, row in found.items()}
    if environment:
        assert shapes.pop(UNASKED) == [[], None]
        assert rows["buffer nested"].shape is None
        assert {one.shape for one in rows.values() if one.name not in expected} == {None}
    assert shapes == {name: expected[name][:2] for name in shapes}
    bytes_of = {name: row.requested_bytes for name, row in found.items() if name not in VIEWS}
    assert bytes_of == {name: expected[name][2] for name in bytes_of}
    assert {expected[name][1] for name in expected} >= {"float8_e4m3fn", "bool", "bfloat16"}


def test_the_program_does_not_notice(lab):
    plain = lab.once("tensor_types.py", recorded=False).said
    assert plain["noticed"]["asked"] == []
    for environment in WAYS:
        run = lab.once("tensor_types.py", environment=environment)
        assert run.said == plain
        assert run.notes == []


@pytest.mark.skipif(ON_GPU, reason="only the simulated GPU watches operators")
def test_operators_made_what_a_dispatch_mode_saw(lab):
    run = lab.once("operator_types.py")
    made = run.said["made"]
    rows = peakline.open(run.trace).tensors(at="end")
    found = {str(row.address): [list(row.shape), row.dtype] for row in rows if row.shape}
    found |= {str(row.address): [[], row.dtype] for row in rows if row.shape == ()}
    assert found == made
    assert len(made) > 200


@pytest.mark.skipif(ON_GPU, reason="only the simulated GPU watches operators")
def test_a_run_as_on_a_real_gpu_knows_no_operators(lab):
    run = lab.once("operator_types.py", environment={"PEAKLINE_SIM_COMPANION": ""})
    rows = peakline.open(run.trace).tensors(at="end")
    assert {(row.shape, row.dtype) for row in rows} == {(None, None)}


def test_every_form_says_the_same(lab):
    run = lab.once("tensor_types.py", environment=WAYS[0])
    recording = peakline.open(run.trace)
    events = list(recording.events())
    table = recording.events().to_arrow().to_pylist()
    written = json.loads(lab.peakline("events", "--json", str(run.trace)).stdout)["events"]
    files = {
        kind: lab.peakline("export", kind, "-o", "-", str(run.trace)).stdout
        for kind in ("csv", "ndjson")
    }
    rows = list(csv.DictReader(io.StringIO(files["csv"])))
    lines = [json.loads(line) for line in files["ndjson"].splitlines()]
    assert sum(one.dtype is not None for one in events) > 30
    for number, event in enumerate(events):
        shape = None if event.shape is None else list(event.shape)
        for other in (table, written, lines):
            one = other[number]
            assert (one["event"], one["shape"], one["dtype"]) == (event.event, shape, event.dtype)
        row = rows[number]
        assert (json.loads(row["shape"] or "null"), row["dtype"] or None) == (shape, event.dtype)


def test_tensors_are_shown_in_eighty_columns(lab):
    run = lab.once("tensor_types.py", environment=WAYS[0])
    text = lab.report("tensors", run.trace, "--at", "end", "--top", "0")
    [head] = [line for line in text.splitlines() if line.startswith(" ") and "Tensor" in line]
    assert head.split() == ["Mem", "What", "Tensor", "Module", "Made", "at", "Freed", "by"]
    assert "parameter table.weight           float16 [30, 16] " in text
    trace = peakline._report.Trace(str(run.trace))
    narrow = plain_text(trace.document("tensors", at="end", top=0), Layout(80))
    assert max(map(len, narrow.splitlines())) <= 80
    assert "float32 [1, 2, 1, 2, 1, 2, 1, 2]" in narrow
