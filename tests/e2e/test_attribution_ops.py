"""The operator behind every block, against torch's profiler, which watches the same run."""

from __future__ import annotations

import json

import pytest
from lab import Lab, Run
from test_attribution_models import MODELS


@pytest.fixture(scope="module")
def profiled(lab: Lab) -> Run:
    pytest.importorskip("transformers")
    pytest.importorskip("torchvision")
    return lab.once("profiled_models.py")


def bytes_by(lab: Lab, run: Run, by: str) -> dict[str, int]:
    """Bytes of all allocations, by operator; the profiler knows no overloads."""
    # The profiler counts no memory of the host.
    of_gpu = ("--where", "device=device 0")
    stats = json.loads(lab.report("stats", run.trace, "--json", "--by", by, *of_gpu))
    sums: dict[str, int] = {}
    for row in stats["by_bytes"]:
        name = row["key"].split(".")[0] if row["key"].startswith("aten::") else row["key"]
        sums[name] = sums.get(name, 0) + row["bytes"]
    return sums


@pytest.mark.parametrize(("by", "seen"), [("raw-op", "innermost"), ("op", "asking")])
def test_operators_of_models_in_training_are_the_profilers(
    lab: Lab, profiled: Run, by: str, seen: str
) -> None:
    said = profiled.said
    # The profiler saw every allocation of the run; so it may disagree with us about none.
    assert sum(said[seen].values()) == said["total"]
    assert len(said[seen]) > 30
    assert bytes_by(lab, profiled, by) == said[seen]


@pytest.mark.parametrize("model", MODELS)
def test_of_1000_bytes_at_the_peak_999_have_an_operator(lab: Lab, model: str) -> None:
    table = lab.table(lab.once(*MODELS[model]).trace, "--by", "op")
    named = sum(row["bytes"] for row in table["rows"] if row["key"].startswith("aten::"))
    assert named >= 0.999 * table["total_bytes"]


@pytest.fixture(scope="module")
def named(lab: Lab) -> Run:
    return lab.once("named_operators.py")


def held_by_op(lab: Lab, run: Run) -> dict[str, int]:
    table = lab.table(run.trace, "--by", "op", "--at", "end", "--measure", "requested")
    return {row["key"]: row["bytes"] for row in table["rows"]}


def test_operators_of_the_user_have_the_names_of_torchs_profiler(lab: Lab, named: Run) -> None:
    sizes, profiled = named.said["sizes"], named.said["profiled"]
    found = held_by_op(lab, named)
    in_compiled = dict(zip(("copy", "scaled", "first"), named.said["of_compiled"], strict=True))
    names = {"mine::scaled", "mine::added", "other::twice", "other::first", "other::second"}
    # Since torch 2.15 the profiler does not see operators that Python dispatches: custom_op's.
    seen = {name: size for name, size in profiled.items() if not name.startswith("aten::")}
    assert {"other::twice", "other::first", "other::second"} <= seen.keys() <= names
    assert {name: sizes[name.removeprefix("other::")] for name in seen} == seen
    assert found["mine::scaled"] == sizes["mine::scaled"] + in_compiled["scaled"]
    assert found["other::first"] == sizes["first"] + in_compiled["first"]
    assert found["other::second"] == sizes["second"]
    assert found["mine::added"] == sizes["mine::added"]
    assert found["other::twice"] == sizes["twice"]


def test_a_users_triton_kernel_has_its_buffer_where_the_compiler_made_it(
    lab: Lab, named: Run
) -> None:
    found = held_by_op(lab, named)
    # Called from Python it allocates nothing: its memory is the `empty` of the line before it.
    assert found["aten::empty.memory_format"] == named.said["sizes"]["by_triton"]
    assert found["copy_kernel_0"] == named.said["of_compiled"][0]


def test_buffers_of_compiled_code_have_the_kernels_that_fill_them(lab: Lab, named: Run) -> None:
    rows = bytes_by(lab, named, "op")
    kernels = named.said["kernels"]
    assert len(kernels) > 2
    # The lines of the model are not known here: it consists of torch's own modules.
    generated = {name for name in rows if name.startswith("triton_")}
    assert generated and generated <= set(kernels)
    unnamed = [name for name in rows if name.startswith(("inductor buffer", "no operator"))]
    assert unnamed == []
