"""Inference: steps, phases, and caches that steps leave to each other."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import peakline
import pytest
from lab import Lab, Run

STEPS = 5
KINDS = ("dynamic", "static")


@pytest.fixture(scope="module")
def run(lab: Lab) -> Run:
    pytest.importorskip("transformers")
    return lab.once("caches_keys.py")


def bytes_by(lab: Lab, run: Run, by: str, moment: str) -> dict[str, int]:
    table: dict[str, Any] = lab.table(
        run.trace, "--by", by, "--at", moment, "--measure", "requested"
    )
    return {row["key"]: row["bytes"] for row in table["rows"]}


@pytest.mark.parametrize("kind", KINDS)
def test_a_cache_has_its_category_at_every_step(lab: Lab, run: Run, kind: str) -> None:
    moments = [f"{kind}.{step}" for step in range(STEPS)]
    found = {moment: bytes_by(lab, run, "category", moment)["cache"] for moment in moments}
    # A static cache knows its length by a tensor in each layer.
    extra = found["static.0"] - run.said["static.0"] if kind == "static" else 0
    assert 0 <= extra <= 2 * 8
    assert found == {moment: run.said[moment] + extra for moment in moments}
    sizes = [run.said[moment] for moment in moments]
    assert (sizes[0] < sizes[-1]) == (kind == "dynamic")


def test_what_generate_returns_is_a_cache(lab: Lab, run: Run) -> None:
    assert bytes_by(lab, run, "category", "generate")["cache"] == run.said["generate"]


def test_a_cache_by_hand_is_known_where_it_is_joined_beside_attention(lab: Lab, run: Run) -> None:
    for step in range(1, STEPS):
        moment = f"grown.{step}"
        assert bytes_by(lab, run, "category", moment)["cache"] == run.said[moment]


def test_layers_hold_their_part_of_the_cache(lab: Lab, run: Run) -> None:
    found = bytes_by(lab, run, "module", f"dynamic.{STEPS - 1}")
    parts = [n for name, n in found.items() if name.endswith("self_attn")]
    assert parts == [run.said[f"dynamic.{STEPS - 1}"] // 2] * 2


def test_every_call_of_the_model_is_a_step(lab: Lab, run: Run) -> None:
    told = json.loads(lab.report("phases", run.trace, "--json"))
    assert told["step_source"] == "forward"
    assert len(told["steps"]) == 4 * STEPS
    forward = [phase for phase in told["phases"] if phase["name"] == "forward"]
    assert [phase["step"] for phase in forward] == list(range(4 * STEPS))


def test_operators_and_phases_of_inference_are_known(lab: Lab, run: Run) -> None:
    peak = bytes_by(lab, run, "op", "peak")
    assert all(name.startswith("aten::") for name in peak)
    assert set(bytes_by(lab, run, "phase", "peak")) <= {"initialisation", "forward", "other"}


def test_generate_has_a_prefill_and_a_decoding(lab: Lab) -> None:
    pytest.importorskip("transformers", minversion="5")
    generated = lab.once("generates_phases.py")
    told = json.loads(lab.report("phases", generated.trace, "--json"))
    fields = ("name", "begin_bytes", "peak_bytes", "allocated_bytes")
    found = [[region[field] for field in fields] for region in told["named"]]
    assert len(found) == 3 * 2
    assert found == generated.said["regions"]
    # Beside them every call of the model stays a step.
    assert told["step_source"] == "forward"
    decoding = lab.table(generated.trace, "--at", "decode@0")
    assert decoding["total_bytes"] == generated.said["regions"][1][2]


def part_of(row: Any) -> str:
    if row.category in ("parameter", "buffer"):
        return "weights"
    if row.category == "cache":
        return "cache"
    return "attention" if row.module.endswith(".self_attn") else "rest"


def test_gemma_holds_weights_attention_cache_and_the_rest(lab: Lab) -> None:
    pytest.importorskip("transformers", "4.57")
    run = lab.run("gemma_parts.py")
    said = run.said
    recording = peakline.open(run.trace)
    parts: Counter[str] = Counter()
    for row in recording.tensors():
        parts[part_of(row)] += row.bytes
    assert said["words"] == 1503
    assert sum(parts.values()) == said["peak"] == recording.peak_bytes()
    assert {name: parts[name] for name in ("weights", "cache", "attention")} == {
        name: said[name] for name in ("weights", "cache", "attention")
    }
    assert 0 < parts["rest"] < parts["attention"]
    # The same four in tables, whose shares of the peak sum to it.
    category = ("category=parameter", "category=buffer")
    weights = lab.table(run.trace, *(word for one in category for word in ("--where", one)))
    cache = lab.table(run.trace, "--where", "category=cache")
    assert weights["where_bytes"] == parts["weights"]
    assert cache["where_bytes"] == parts["cache"]
