"""What the program's objects tell: parameters, buffers, gradients, optimizer state, modules.

The oracle is the program itself: the sizes of its tensors' blocks, by kind, and what
memory_allocated() gained while each module ran.
"""

from __future__ import annotations

from collections import Counter

import pytest

KINDS = ("parameter", "buffer", "gradient")


def bytes_by_kind(table):
    sums = Counter()
    for row in table["rows"]:
        word = row["key"].split()[0]
        if " of " in row["key"] and word not in KINDS:
            word = "state"
        sums[word] += row["bytes"]
    return {kind: sums[kind] for kind in (*KINDS, "state")}


def test_objects_hold_exactly_what_the_report_says(lab):
    pytest.importorskip("transformers")
    run = lab.run("told_objects.py", "transformers")
    assert bytes_by_kind(lab.table(run.trace, "--by", "tensor", "--at", "end")) == run.said
    assert min(run.said.values()) > 0


def test_models_with_all_optimizers_hold_exactly_what_the_report_says(lab):
    pytest.importorskip("transformers")
    run = lab.once("objects_matrix.py")
    expected = run.said
    assert len(expected) == 40
    tables = {place: lab.table(run.trace, "--by", "tensor", "--at", place) for place in expected}
    assert {place: bytes_by_kind(table) for place, table in tables.items()} == expected
    assert sum(sizes["state"] > 0 for sizes in expected.values()) == 36  # all but plain SGD


def test_every_tensor_has_the_name_of_its_parameter(lab):
    run = lab.once("module_deltas.py")
    rows = lab.table(run.trace, "--by", "tensor", "--at", "end")["rows"]
    found = {row["key"] for row in rows}
    for name in run.said["parameters"]:
        assert f"parameter {name}" in found
        assert f"gradient of {name}" in found
        assert f"AdamW.exp_avg of {name}" in found


@pytest.mark.parametrize("number", [3, 5, 6, 7, 9, 10])
def test_gradients_of_every_step_have_names(lab, number):
    run = lab.once("steps_gradients.py")
    rows = lab.table(run.trace, "--by", "tensor", "--at", f"after {number}")["rows"]
    found = {row["key"]: row["bytes"] for row in rows if row["key"].startswith("gradient")}
    expected = run.said[f"after {number}"]
    if number < 8:  # until then only the optimizer has told of it
        expected.pop("gradient of late.weight", None)
        expected["gradient of SGD.param_groups[0].params"] = 7680
    assert found == expected


def held_by_module(lab, run, moment, *options):
    rows = lab.table(run.trace, "--by", "module", "--at", moment, *options)["rows"]
    return Counter({row["key"]: row["bytes"] for row in rows})


def below(sums, name):
    return sum(n for key, n in sums.items() if key == name or key.startswith(name + "."))


def test_modules_hold_what_they_gained_while_they_ran(lab):
    run = lab.once("module_deltas.py")
    ours = held_by_module(lab, run, "forward-done")
    ours.subtract(held_by_module(lab, run, "before"))
    theirs = run.said["gained"]
    # What a module frees of its children counts against it in a difference of levels, and against
    # nobody here, so a module is compared with all that is below it. A child whose results its
    # parent drops (`down`, and all that is checkpointed) has kept nothing in the end.
    dropped = [name for name in theirs if name.endswith(".down") or name.startswith("last.")]
    compared = [name for name in theirs if name not in dropped]
    assert len(compared) == 11
    assert {n: below(ours, n) for n in compared} == {n: below(theirs, n) for n in compared}
    assert all(ours[name] == 0 for name in dropped)


def test_module_paths_fold(lab):
    run = lab.once("module_deltas.py")
    whole = held_by_module(lab, run, "peak")
    folded = held_by_module(lab, run, "peak", "--fold")
    up = [f"layers.{n}.up" for n in range(3)]
    assert folded["layers.*.up"] == sum(whole[name] for name in up) > 0
    cut = held_by_module(lab, run, "peak", "--depth", "1")
    assert cut["layers"] == below(whole, "layers")
    assert sum(whole.values()) == sum(folded.values()) == sum(cut.values())


def test_backward_and_recomputation_belong_to_the_module_of_their_forward(lab):
    run = lab.once("module_deltas.py")
    # Where the backward pass is highest the checkpointed layer is computed again.
    peak = held_by_module(lab, run, "backward")
    assert set(peak) <= {*run.said["gained"], "Model", "outside of modules"}
    assert peak["outside of modules"] / sum(peak.values()) < 0.01


def test_gradients_of_inputs_belong_to_the_module_of_their_forward(lab):
    run = lab.once("backward_owners.py")
    options = ("--by", "module", "--at", "end", "--measure", "requested")
    rows = lab.table(run.trace, *options)["rows"]
    found = {row["key"]: row["bytes"] for row in rows if row["key"] != "outside of modules"}
    assert found == run.said["owners"]


def test_several_models_have_their_names_whenever_they_were_built(lab):
    # Older torch takes workspaces of 32 MiB, which would belong to the first model to multiply.
    small = {"CUBLAS_WORKSPACE_CONFIG": ":16:8", "CUBLASLT_WORKSPACE_SIZE": "128"}
    run = lab.once("several_models.py", environment=small)
    moment = ("--at", "done", "--measure", "requested")
    rows = lab.table(run.trace, "--by", "tensor", *moment)["rows"]
    found = {row["key"]: row["bytes"] for row in rows if row["key"].startswith("parameter ")}
    assert found == run.said["parameters"]
    modules = held_by_module(lab, run, "done")
    assert set(modules) <= {*run.said["modules"], "outside of modules", "untraced"}
    # Parts of a compiled model do not run as modules: what it makes belongs to the whole.
    gradients = sum(n for name, n in found.items() if name.startswith("parameter Third."))
    assert 2 * gradients <= below(modules, "Third") < 2.1 * gradients + 1_000_000
