"""CUDA's headers are read from what stands beside torch, not from what a machine may have."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from peakline.native_build import find_torch, torch_part_flags

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "preload" / "simgpu"))

from generate.wheels import find_wheels  # noqa: E402

SOURCE = "#include <cuda_runtime.h>\n"


def compilers_headers(flags: list[str]) -> list[Path]:
    """The files of CUDA's compiler that a source with these flags reads."""
    command = ["g++", "-x", "c++", *flags, "-M", "-"]
    done = subprocess.run(command, input=SOURCE, capture_output=True, text=True, check=True)
    return [Path(word).resolve() for word in done.stdout.split() if "/crt/" in word]


def test_no_toolkit_is_needed() -> None:
    wheels = find_wheels(sys.executable)
    generator = [flag for folder in wheels.include_dirs for flag in ("-I", str(folder))]
    for flags in (generator, torch_part_flags(find_torch(sys.executable))):
        read = compilers_headers(flags)
        assert {path.name for path in read} >= {"host_config.h", "host_defines.h"}
        allowed = [folder.resolve() for folder in wheels.include_dirs]
        assert all(any(path.is_relative_to(folder) for folder in allowed) for path in read)
