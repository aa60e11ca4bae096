"""Builds what a simulated run needs: the simulated GPU, and its parts that are torch's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from peakline.native_build import (
    BuildError,
    TorchInstallation,
    cache_folder,
    compile_library,
    digest_of,
    ensure_built,
    say,
    source_flags,
    source_root,
    torch_part_path,
)


def simulated_devices() -> list[str]:
    """Return the names of the device profiles of the simulated GPU."""
    profiles = json.loads((source_root() / "preload" / "simgpu" / "profiles.json").read_text())
    return list(profiles["profiles"])


def ensure_simulated_gpu(torch: TorchInstallation) -> Path:
    """Build the simulated GPU for this torch's CUDA unless it is there; return its folder."""
    folder = simulated_gpu_folder(torch)
    if not has_simulated_gpu(torch):
        say(f"compiling the simulated GPU for torch {torch.version} (once, about 2 minutes)")
    _run_simulated_gpu_build(torch, "--no-audit")
    return folder


def has_simulated_gpu(torch: TorchInstallation) -> bool:
    """Whether the simulated GPU for this torch is built."""
    return (simulated_gpu_folder(torch) / "preload.txt").exists()


def simulated_gpu_folder(torch: TorchInstallation) -> Path:
    """Where the simulated GPU for this torch stands, or will stand.

    One folder for each version of its sources: two checkouts never rebuild each other's.
    """
    folder = source_root() / "preload" / "simgpu"
    patterns = ("**/*.cpp", "**/*.h", "generate/*.py", "build.py", "*.json")
    digest = digest_of(sorted(file for pattern in patterns for file in folder.glob(pattern)), "")
    return cache_folder() / f"simgpu-torch-{torch.version}-{digest[:12]}"


def audit_simulated_gpu(torch: TorchInstallation) -> str:
    """Return how every CUDA symbol this torch imports is served by the simulated GPU.

    Raises:
        BuildError: a symbol is served by nothing; the text names it.
    """
    return _run_simulated_gpu_build(torch)


def ensure_values_companion(torch: TorchInstallation) -> Path:
    """Build what keeps small values true on the simulated GPU, unless it is there."""
    target = torch_part_path(torch).with_name("libpeakline_values.so")
    folder = source_root() / "preload" / "simulated"
    sources = sorted(folder.iterdir())
    sources.append(source_root() / "preload" / "peakline_api.h")
    sources.append(source_root() / "preload" / "simgpu" / "model" / "base" / "fork_safe_mutex.h")
    what = f"the values of the simulated GPU for torch {torch.version} (once, about 30 s)"
    return ensure_built(target, sources, torch, what, _compile_companion)


def ensure_blank_weights(torch: TorchInstallation) -> Path:
    """Return the library of `--blank-weights`, compiled for ``torch`` if needed.

    Raises:
        BuildError: it does not compile.
    """
    target = torch_part_path(torch).with_name("libpeakline_blank.so")
    source = source_root() / "preload" / "simulated" / "blank_tensors.cpp"
    what = f"blank weights for torch {torch.version} (once, about 20 s)"
    return ensure_built(target, [source], torch, what, _compile_blank_weights)


def _run_simulated_gpu_build(torch: TorchInstallation, *options: str) -> str:
    command = [
        sys.executable,
        str(source_root() / "preload" / "simgpu" / "build.py"),
        "--python",
        torch.python,
        "--out",
        str(simulated_gpu_folder(torch)),
        *options,
    ]
    environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    result = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if result.returncode != 0:
        raise BuildError(
            f"the simulated GPU cannot be built for torch {torch.version}:\n"
            f"{(result.stderr or result.stdout).strip()[-2000:]}"
        )
    return result.stdout


def _compile_companion(torch: TorchInstallation, scratch: Path) -> Path:
    folder = source_root() / "preload" / "simulated"
    names = (
        "blocks",
        "companion",
        "guessed_reads",
        "operator_info",
        "operator_results",
        "small_operators",
    )
    sources = [folder / f"{name}.cpp" for name in names]
    built = scratch / "libpeakline_values.so"
    # NDEBUG as torch's own build: its headers check otherwise what only a debug build has set.
    flags = [*source_flags(torch), "-DNDEBUG", f"-I{folder}"]
    compile_library(torch, sources, flags, built, ["-lc10", "-lc10_cuda", "-ltorch_cpu", "-ldl"])
    return built


def _compile_blank_weights(torch: TorchInstallation, scratch: Path) -> Path:
    source = source_root() / "preload" / "simulated" / "blank_tensors.cpp"
    built = scratch / "libpeakline_blank.so"
    flags = [*source_flags(torch), "-DNDEBUG"]
    compile_library(torch, [source], flags, built, ["-lc10", "-ltorch_cpu"])
    return built
