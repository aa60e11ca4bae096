"""`peakline plan --sizes`: peaks predicted for a size that really runs only to compare."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from lab import PROGRAMS

# By model: sizes that are recorded, and one that is predicted. Batch and length differ.
SIZES = {
    "sdpa": ("2x256", "4x384", "16x1024"),
    "eager": ("2x256", "4x384", "16x1024"),
    "resnet": ("2x64", "4x96", "16x224"),
}
# Prompts and new tokens; the last one is predicted.
GENERATED = ("2x64x6", "4x96x6", "32x512x40+")
Trained = tuple[dict[str, dict[str, Any]], Path]


@pytest.fixture(scope="module")
def trained(lab: Any) -> Trained:
    """Return what torch measured for the sizes of all models, and the folder of the traces."""
    words = [str(PROGRAMS / "size_models.py")]
    for name, (first, second, third) in SIZES.items():
        words += [name, first, second, f"{third}+"]
    words += ["sdpa", "4x512", "llama", *GENERATED, "static", *GENERATED]
    run = lab.unrecorded(lab.folder / "sizes", sys.executable, *words)
    assert run.status == 0, run.stderr
    return run.said, run.folder


def trace(folder: Path, name: str, size: str, *, named: bool = True) -> str:
    batch, length = size.split("x")
    path = f"{folder}/{name}.{batch}.{length}.peak"
    return f"{path}:batch={batch},length={length}" if named else path


def predicted(lab: Any, *words: str) -> dict[str, Any]:
    result = lab.peakline("plan", "--sizes", *words, "--json")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize("name", SIZES)
def test_the_peak_of_a_size_that_was_not_recorded(trained: Trained, lab: Any, name: str) -> None:
    peaks, folder = trained
    first, second, third = SIZES[name]
    batch, length = third.split("x")
    # The inputs of these runs show their sizes.
    files = [trace(folder, name, size, named=False) for size in (first, second)]
    document = predicted(lab, *files, "--at", f"batch={batch},length={length}")
    for one, size in zip(document["recordings"], (first, second), strict=True):
        assert f"{one['batch']}x{one['length']}" == size
        assert one["model_bytes"] == one["peak_bytes"] == peaks[name][size]
    [peak] = document["peaks"]
    assert peak["requested_bytes"] == peaks[name][third]
    assert peak["low_bytes"] == peak["high_bytes"] == peak["requested_bytes"]
    assert sum(row["bytes"] for row in peak["rows"]) == peak["requested_bytes"]
    grows_with = {row["grows_with"] for row in peak["rows"]}
    assert ("batch x length^2" in grows_with) == (name != "sdpa")


def test_sizes_that_grow_alike_predict_nothing(trained: Trained, lab: Any) -> None:
    _, folder = trained
    files = [trace(folder, "sdpa", size) for size in ("2x256", "4x512")]
    [peak] = predicted(lab, *files, "--at", "batch=16,length=1024")["peaks"]
    assert peak["requested_bytes"] is None
    assert "cannot tell batch x length from length^2" in peak["refusal"]
    files.append(trace(folder, "sdpa", "4x384"))
    [peak] = predicted(lab, *files, "--at", "batch=16,length=1024")["peaks"]
    assert peak["refusal"] is None


def test_models_that_differ_predict_nothing(trained: Trained, lab: Any) -> None:
    _, folder = trained
    files = [trace(folder, "sdpa", "2x256"), trace(folder, "eager", "4x384")]
    document = predicted(lab, *files, "--at", "batch=16,length=1024")
    assert document["refusal"]
    assert document["peaks"] == []


def test_a_budget_has_a_largest_batch(trained: Trained, lab: Any) -> None:
    _, folder = trained
    files = [trace(folder, "sdpa", size) for size in ("2x256", "4x384")]
    at = ("--at", "batch=16,length=1024")
    [peak] = predicted(lab, *files, *at)["peaks"]
    needed = peak["block_bytes"]
    for budget, largest in ((needed, 16), (needed - 1, 15)):
        [peak] = predicted(lab, *files, *at, "--budget", str(budget))["peaks"]
        assert peak["largest_batch"] == largest
        assert (peak["in_parts"] is None) == (largest == 16)
    assert peak["in_parts"]["parts"] == 2
    assert peak["in_parts"]["most_block_bytes"] < needed


def test_the_longest_sample_of_a_file(trained: Trained, lab: Any, tmp_path: Path) -> None:
    peaks, folder = trained
    lengths = tmp_path / "lengths.jsonl"
    rows = [*[{"ids": [0] * 256}] * 9, {"ids": [0] * 1024}]
    lengths.write_text("\n".join(map(json.dumps, rows)))
    files = [trace(folder, "sdpa", size) for size in ("2x256", "4x384")]
    words = ("--at", "batch=16", "--lengths", f"{lengths}:ids")
    found = predicted(lab, *files, *words)["peaks"]
    assert [one["length"] for one in found] == [256, 256, 1024, 1024]
    assert found[-1]["requested_bytes"] == peaks["sdpa"]["16x1024"]
    result = lab.peakline("plan", "--sizes", *files, *words)
    assert "10 samples: 50 % at most 256, 90 % at most 256" in result.stdout
    assert "the longest is 1,024 (line 10)" in result.stdout


@pytest.mark.parametrize(("name", "cache"), [("llama", "DynamicLayer"), ("static", "StaticLayer")])
def test_generation_has_a_peak_of_its_prefill_and_one_of_decoding(
    trained: Trained, lab: Any, name: str, cache: str
) -> None:
    peaks, folder = trained
    files = [trace(folder, name, size) for size in ("2x64", "4x96")]
    at = "batch=32,length=512,new=40"
    document = predicted(lab, *files, "--at", at)
    prefill, decode = document["peaks"]
    real_prefill, real_decode = peaks[name]["32x512x40"]
    assert (prefill["part"], decode["part"]) == ("prefill", "decode")
    assert prefill["requested_bytes"] == real_prefill
    assert prefill["low_bytes"] == prefill["high_bytes"] == real_prefill
    assert real_decode <= decode["requested_bytes"] <= real_decode * 1.001
    # 3 layers, 2 heads of 32 values in keys and in values, 2 bytes each. While a layer joins its
    # new token, it holds its keys or values twice.
    cached = 3 * 2 * 32 * 2 * 2
    assert cached <= decode["token_bytes"] <= cached * 1.4
    assert decode["cache"] == cache
    needed = max(prefill["block_bytes"], decode["block_bytes"])
    document = predicted(lab, *files, "--at", at, "--budget", str(needed))
    assert [one["largest_batch"] for one in document["peaks"]] == [32, 32]


def test_a_training_generates_nothing(trained: Trained, lab: Any) -> None:
    _, folder = trained
    files = [trace(folder, "sdpa", size) for size in ("2x256", "4x384")]
    document = predicted(lab, *files, "--at", "batch=32,length=512,new=40")
    assert "no generate()" in document["refusal"]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--sizes", "a.peak"), "two recordings or more"),
        (("--sizes", "a.peak", "b.peak"), "give a size to predict"),
        (("--at", "batch=8", "a.peak"), "need --sizes"),
        (("--sizes", "a.peak", "b.peak", "--at", "rows=8"), "is no size"),
    ],
)
def test_what_lacks_is_named(lab: Any, words: tuple[str, ...], reason: str) -> None:
    result = lab.peakline("plan", *words)
    assert result.returncode == 2
    assert reason in result.stderr
