"""Modules and communication of models in DataParallel, DDP and FSDP, on several devices.

The oracles are the levels that forward hooks read, and the objects of the program.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import peakline
import pytest
from lab import PROGRAMS, Lab, Run

DEVICES = "h200x2"


@pytest.fixture(scope="module")
def parallel(lab: Lab) -> Run:
    run = lab.once("wrapped_models.py", "parallel", device=DEVICES)
    if len({place.split(":")[0] for place in run.said["gained"]}) < 2:
        pytest.skip("one device only")
    return run


@pytest.fixture(scope="module")
def rank(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The trace of the second of two ranks, and what it said."""
    folder = tmp_path_factory.mktemp("ranks")
    launch = [lab.python, "-m", "torch.distributed.run", "--standalone"]
    launch += ["--nproc-per-node", "2"]
    run = lab.recorded(
        folder,
        *("--", *launch, str(PROGRAMS / "wrapped_models.py")),
        options=["-q"],
        device=DEVICES,
        environment={"SAID": str(folder / "rank%r.json")},
    )
    assert run.status == 0, run.stderr[-4000:]
    (trace,) = [trace for trace in run.traces if trace.name.startswith("rank1.")]
    return trace, json.loads((folder / "rank1.json").read_text())


def bytes_by(lab: Lab, trace: Path, by: str, moment: str, *options: str) -> Counter[str]:
    rows = lab.table(trace, "--by", by, "--at", moment, *options)["rows"]
    return Counter({row["key"]: row["bytes"] for row in rows})


def gained_by_module(lab: Lab, trace: Path, kind: str, device: int) -> dict[str, int]:
    options = ("--device", str(device))
    ours = bytes_by(lab, trace, "module", f"{kind}.forward", *options)
    ours.subtract(bytes_by(lab, trace, "module", f"{kind}.before", *options))
    return dict(ours)


def gained_by_hooks(said: dict[str, Any], device: int) -> dict[str, int]:
    """What leaves kept; `down`'s result is dropped by its layer, the head's by the program."""
    mine = {key.split(":")[1]: n for key, n in said["gained"].items() if int(key[0]) == device}
    assert len(mine) == 7
    dropped = ("down", "head")
    return {name: n for name, n in mine.items() if not name.endswith(dropped)}


@pytest.mark.parametrize("device", [0, 1])
def test_replicas_have_the_names_of_their_model(lab: Lab, parallel: Run, device: int) -> None:
    ours = gained_by_module(lab, parallel.trace, "parallel", device)
    theirs = gained_by_hooks(parallel.said, device)
    assert {name: ours[name] for name in theirs} == theirs
    known = {*parallel.said["modules"], "Model", "outside of modules"}
    assert set(bytes_by(lab, parallel.trace, "module", "peak", "--device", str(device))) <= known


def test_activations_of_replicas_are_activations_and_their_copies_communication(
    lab: Lab, parallel: Run
) -> None:
    moment = "parallel.forward"
    found = bytes_by(
        lab, parallel.trace, "category", moment, "--device", "1", "--measure", "requested"
    )
    batch = 64 * 256 * 4  # half of it, on the second device
    assert found["communication"] == parallel.said["parameters"] + batch
    hidden = sum(gained_by_hooks(parallel.said, 1).values())
    # cuBLAS's: with some versions of torch the first layer allocates some of it.
    workspace = found.pop("workspace", 0)
    assert set(found) == {"communication", "activation"}
    # `x + ...` of both layers.
    assert 0 <= hidden + 2 * batch - found["activation"] <= workspace


def test_buckets_of_ddp_are_named(lab: Lab, rank: tuple[Path, dict[str, Any]]) -> None:
    trace, said = rank
    requested = ("--measure", "requested")
    for moment in ("ddp.forward", "ddp.backward"):
        found = bytes_by(lab, trace, "op", moment, *requested)["DDP gradient bucket"]
        # DDP of torch 2.11 keeps the first ones, too, after it has made them anew.
        assert found in (said["ddp"]["buckets"], 2 * said["ddp"]["buckets"])
        assert bytes_by(lab, trace, "category", moment, *requested)["communication"] == found
    ours = gained_by_module(lab, trace, "ddp", 1)
    theirs = gained_by_hooks(said["ddp"], 1)
    assert {name: ours[f"Model.{name}"] for name in theirs} == theirs


@pytest.mark.parametrize("kind", ["fsdp2", "fsdp1"])
def test_what_fsdp_gathers_and_reduces_is_named(
    lab: Lab, rank: tuple[Path, dict[str, Any]], kind: str
) -> None:
    trace, said = rank
    # The root's own part stays gathered from the forward to the backward pass.
    gathered = bytes_by(lab, trace, "op", f"{kind}.forward")["FSDP all-gather"]
    assert gathered == said[kind]["head"]
    kept = bytes_by(lab, trace, "op", f"{kind}.backward")
    assert kept["FSDP reduce-scatter"] == said[kind]["gradients"]
    assert kept["FSDP all-gather"] == 0
    categories = bytes_by(lab, trace, "category", f"{kind}.forward")
    assert categories["communication"] == gathered
    assert (
        bytes_by(lab, trace, "category", f"{kind}.backward")["gradient"]
        == (said[kind]["gradients"])
    )


@pytest.mark.parametrize("kind", ["fsdp2", "fsdp1"])
def test_a_block_that_holds_several_gradients_is_named_by_all_of_them(
    lab: Lab, rank: tuple[Path, dict[str, Any]], kind: str
) -> None:
    trace, said = rank
    model = {"fsdp2": "Model#2", "fsdp1": "Model#3"}[kind]
    wanted = Counter()
    for names, size in said[kind]["gradients_of"]:
        paths = [name.replace("_fsdp_wrapped_module.", "").split(".") for name in names]
        parts = os.path.commonprefix(paths)
        if len(paths) > 1:
            parts = [*parts, f"* ({len(paths)} parameters)"]
        wanted[".".join([f"gradient of {model}", *parts])] += size
    assert len(wanted) == 3
    found = bytes_by(lab, trace, "tensor", f"{kind}.backward", "--measure", "requested")
    assert {name: size for name, size in found.items() if name.startswith("gradient")} == wanted


@pytest.mark.parametrize(("kind", "model"), [("ddp", "Model"), ("fsdp2", "Model#2")])
def test_parameters_have_the_type_of_the_part_that_the_rank_holds(
    rank: tuple[Path, dict[str, Any]], kind: str, model: str
) -> None:
    trace, said = rank
    rows = {row.name: row for row in peakline.open(trace).tensors(at=f"{kind}.backward")}
    found = {}
    for name in said[kind]["types"]:
        row = rows[f"parameter {model}.{name.removeprefix('module.')}"]
        found[name] = [list(row.shape or ()), f"torch.{row.dtype}"]
    assert found == said[kind]["types"]
    assert len(found) == 10


@pytest.mark.parametrize("kind", ["ddp", "fsdp2", "fsdp1"])
def test_modules_in_wrappers_keep_their_paths(
    lab: Lab, rank: tuple[Path, dict[str, Any]], kind: str
) -> None:
    trace, said = rank
    # Each kind trains a model of its own: paths begin with its name.
    model = {"ddp": "Model", "fsdp2": "Model#2", "fsdp1": "Model#3"}[kind]
    known = {f"{model}.{name}" for name in said[kind]["modules"]}
    for moment in (f"{kind}.forward", f"{kind}.backward"):
        found = set(bytes_by(lab, trace, "module", moment))
        if "workspace" in bytes_by(lab, trace, "category", moment):
            # cuBLAS keeps what the first model made it allocate, with some versions of torch.
            known |= {f"Model.{name}" for name in said["ddp"]["modules"]}
        assert found <= {*known, model, "outside of modules"}
        assert f"{model}.layers.0.up" in found
