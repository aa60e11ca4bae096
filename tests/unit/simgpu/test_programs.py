"""Whole torch programs run on the simulated GPU, unmodified and without a word from it."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest
from conftest import PROGRAMS, SimulatedGpu

Runner = Callable[..., str]


@pytest.mark.parametrize(
    "name",
    [
        "mlp.py",
        "transformer.py",
        "resnet.py",
        "grad_scaler.py",
        "attention.py",
        "graphs.py",
        "out_of_memory.py",
        "pinned.py",
        "streams.py",
        "mem_pool.py",
        "maths.py",
        "recurrent.py",
        "profiled.py",
        "compiled.py",
    ],
)
def test_program_runs_to_its_end(run_program: Runner, name: str) -> None:
    run_program(name)


def test_gpt2_has_the_known_requested_peak(run_program: Runner) -> None:
    pytest.importorskip("transformers")
    allocated, requested = map(int, run_program("gpt2.py").split()[-2:])
    assert allocated >= requested > 13_000_000_000


def test_two_devices_have_their_own_memory(run_program: Runner) -> None:
    run_program("two_devices.py", device="h200x2")


@pytest.mark.parametrize("setting", ["expandable_segments:True", "backend:cudaMallocAsync"])
def test_training_runs_with_other_allocators(run_program: Runner, setting: str) -> None:
    run_program("mlp.py", PYTORCH_CUDA_ALLOC_CONF=setting, PYTORCH_ALLOC_CONF=setting)


@pytest.mark.parametrize("device", ["a10", "t4", "v100-16", "rtx4090", "h200:20GiB"])
def test_capacity_is_what_the_profile_says(run_program: Runner, device: str) -> None:
    run_program("out_of_memory.py", device=device)


def test_data_parallel_ranks_meet_and_finish(simgpu: SimulatedGpu) -> None:
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    done = simgpu.run([*command, str(PROGRAMS / "data_parallel.py")], device="h200x2")
    assert done.returncode == 0, done.stderr[-3000:]
    assert sorted(done.stdout.split("\n")) == ["", "ok rank 0", "ok rank 1"]


def test_unknown_device_names_the_known_ones(simgpu: SimulatedGpu) -> None:
    done = simgpu.run(
        [sys.executable, "-c", "import torch; print(torch.cuda.device_count())"], device="h300"
    )
    assert done.stdout == "0\n"
    assert "no device profile is called 'h300'; known are: h200, h100" in done.stderr
