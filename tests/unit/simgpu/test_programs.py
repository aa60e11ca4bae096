"""Whole torch programs run on the simulated GPU, unmodified and without a word from it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from fault_cases import PRELUDE
from simulated_gpu import BUILD_SCRIPT, PROGRAMS, SimulatedGpu

Runner = Callable[..., str]


@pytest.mark.parametrize(
    "names",
    [
        ("mlp.py", "transformer.py", "resnet.py", "grad_scaler.py", "recurrent.py"),
        ("mem_pool.py", "attention.py", "maths.py", "streams.py", "pinned.py", "values.py"),
        ("graphs.py",),
        ("profiled.py", "compiled.py"),
    ],
    ids=" ".join,
)
def test_programs_run_to_their_end(run_programs: Runner, names: tuple[str, ...]) -> None:
    run_programs(*names)


def test_gpt2_has_the_known_requested_peak(run_programs: Runner) -> None:
    pytest.importorskip("transformers")
    allocated, requested = map(int, run_programs("gpt2.py").split()[-2:])
    assert allocated >= requested > 13_000_000_000


@pytest.mark.parametrize("device", ["l4", "gb10"])
def test_devices_run_the_code_of_an_older_one(run_programs: Runner, device: str) -> None:
    run_programs("sorts.py", device=device)


def test_two_devices_have_their_own_memory(run_programs: Runner) -> None:
    run_programs("two_devices.py", device="h200x2")


def test_devices_leave_the_place_beside_the_libraries_free(run_programs: Runner) -> None:
    run_programs("places.py", device="h200x8")


@pytest.mark.parametrize("setting", ["expandable_segments:True", "backend:cudaMallocAsync"])
def test_training_runs_with_other_allocators(run_programs: Runner, setting: str) -> None:
    run_programs("mlp.py", PYTORCH_CUDA_ALLOC_CONF=setting, PYTORCH_ALLOC_CONF=setting)


@pytest.mark.parametrize("device", ["t4", "rtx4090", "h200:20GiB"])
def test_capacity_is_what_the_profile_says(run_programs: Runner, device: str) -> None:
    run_programs("out_of_memory.py", device=device)


def start_ranks(simgpu: SimulatedGpu, *program: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc-per-node", "2"]
    done = simgpu.run([*command, str(PROGRAMS / program[0]), *program[1:]], device="h200x2")
    assert done.returncode == 0, done.stderr[-3000:]
    return done


def run_ranks(simgpu: SimulatedGpu, *program: str) -> list[str]:
    """What the ranks said; they share one output, so their lines may run into each other."""
    done = start_ranks(simgpu, *program)
    assert "peakline simgpu" not in done.stderr, done.stderr[-3000:]
    # Some versions of torch let gloo say how many ranks it connected.
    stdout = re.sub(r"\[Gloo\] Rank \d+ is connected to .*? is : \d+", "", done.stdout)
    said = re.findall(r"ok rank \d", stdout)
    assert re.sub(r"ok rank \d|\s", "", stdout) == ""
    return sorted(said)


@pytest.mark.parametrize("name", ["ddp.py", "fsdp2.py", "objects.py"])
def test_ranks_meet_and_finish(simgpu: SimulatedGpu, name: str) -> None:
    assert run_ranks(simgpu, name) == ["ok rank 0", "ok rank 1"]


def test_a_barrier_holds_a_rank_until_the_others_come(simgpu: SimulatedGpu, tmp_path: Path) -> None:
    assert run_ranks(simgpu, "barrier.py", str(tmp_path / "sign")) == ["ok rank 0", "ok rank 1"]


def test_a_rank_that_ends_does_not_hold_up_the_others(simgpu: SimulatedGpu) -> None:
    done = start_ranks(simgpu, "gone.py")
    assert sorted(done.stdout.split()) == ["0", "1", "ok", "ok", "rank", "rank"]
    assert done.stderr.count("a rank is gone: collectives of this communicator deliver zeros") == 1


def devices(simgpu: SimulatedGpu, selection: str) -> subprocess.CompletedProcess[str]:
    code = """
import torch
for index in range(torch.cuda.device_count()):
    print(torch.cuda.get_device_name(index), torch.cuda.mem_get_info(index)[1] >> 30)
"""
    return simgpu.run([sys.executable, "-c", code], device=selection)


@pytest.mark.parametrize(
    ("selection", "count", "name", "gibibytes"),
    [
        ("h200x2:24GiB", 2, "NVIDIA H200", 24),
        ("h100:80GiB", 1, "NVIDIA H100 80GB HBM3", 80),
        ("h100:3g.40gb", 1, "NVIDIA H100 80GB HBM3 MIG 3g.40gb", 39),
    ],
)
def test_a_selection_gives_name_count_and_capacity(
    simgpu: SimulatedGpu, selection: str, count: int, name: str, gibibytes: int
) -> None:
    assert devices(simgpu, selection).stdout == f"{name} {gibibytes}\n" * count


def test_events_are_late_until_somebody_waits(simgpu: SimulatedGpu) -> None:
    code = """
s, e = stream(), event()
for wait in (None, rt.cudaEventSynchronize, rt.cudaStreamSynchronize, rt.cudaDeviceSynchronize):
    assert rt.cudaEventRecord(e, s) == 0
    if wait:
        wait(*({"cudaEventSynchronize": [e], "cudaStreamSynchronize": [s]}.get(wait.__name__, [])))
    print(*(rt.cudaEventQuery(e) for _ in range(3)))
"""
    command = [sys.executable, "-c", PRELUDE + code]
    late = simgpu.run(command, PEAKLINE_SIM_LATE_EVENTS="2")
    assert late.stdout.split("\n") == ["600 600 0", "0 0 0", "0 0 0", "0 0 0", ""], late.stderr
    assert simgpu.run(command).stdout == "0 0 0\n" * 4


def test_unknown_device_names_the_known_ones(simgpu: SimulatedGpu) -> None:
    done = devices(simgpu, "h300")
    assert done.stdout == ""
    assert "no device profile is called 'h300'; known are: h200, h100" in done.stderr
    code = "import ctypes; ctypes.CDLL('libcuda.so.1').cuInit(0)"
    done = simgpu.run([sys.executable, "-c", code], device="h100:3g.41gb")
    assert "write a size such as 80GiB, or a slice: h100:1g.10gb, h100:1g.20gb, " in done.stderr


def test_every_symbol_that_torch_imports_is_served(simgpu: SimulatedGpu, tmp_path: Path) -> None:
    pytest.importorskip("pycparser")
    audit = tmp_path / "audit.json"
    command = [sys.executable, str(BUILD_SCRIPT), "--python", sys.executable]
    command += ["--out", str(simgpu.folder), "--audit-json", str(audit)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert audit.exists()


def test_the_build_says_what_to_install(tmp_path: Path) -> None:
    code = f"""
import runpy, sys
sys.modules["pycparser"] = None
sys.argv = ["build.py", "--python", sys.executable, "--out", {str(tmp_path / "out")!r}]
runpy.run_path({str(BUILD_SCRIPT)!r}, run_name="__main__")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    expected = "simgpu: building the simulated GPU needs pycparser: pip install pycparser\n"
    assert done.stderr == expected
