"""CUDA's headers are read from what stands beside torch, not from what a machine may have."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from peakline.builds.native_build import find_torch, torch_part_flags

ROOT = Path(__file__).resolve().parents[3]
SIMGPU = ROOT / "preload" / "simulate" / "gpu"
sys.path.insert(0, str(SIMGPU))

from generate.wheels import find_wheels  # noqa: E402

# Parts of CUDA's headers that are in packages of their own: not every torch brings them.
APART = ("crt", "nv")


def files_read(source: str, flags: list[str]) -> list[Path]:
    """Compile a source with these flags; return the headers that it reads of the parts in APART."""
    command = ["g++", "-std=c++20", "-x", "c++", *flags, "-fsyntax-only"]
    command += ["-MD", "-MF", "/dev/stdout", "-"]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=True)
    paths = [Path(word) for word in done.stdout.split()]
    return [path for path in paths if path.parent.name in APART]


def included() -> str:
    """All headers of CUDA that the simulated GPU's sources include."""
    sources = [file.read_text() for file in SIMGPU.rglob("*.cpp")]
    names = {name for text in sources for name in re.findall(r"#include <(cu\w+\.h)>", text)}
    assert {"cublas_v2.h", "cudnn.h", "cuda_runtime_api.h"} <= names
    return "".join(f"#include <{name}>\n" for name in sorted(names))


def include(folders: list[Path]) -> list[str]:
    return [flag for folder in folders for flag in ("-I", str(folder))]


def test_no_toolkit_is_needed() -> None:
    wheels = find_wheels(sys.executable)
    for flags in (include(wheels.include_dirs), torch_part_flags(find_torch(sys.executable))):
        read = files_read("#include <cuda_runtime.h>\n", flags)
        assert {path.name for path in read} >= {"host_config.h", "host_defines.h"}
        allowed = [folder.resolve() for folder in wheels.include_dirs]
        assert all(any(p.resolve().is_relative_to(folder) for folder in allowed) for p in read)


def test_a_torch_that_brings_the_least_is_enough(tmp_path: Path) -> None:
    folders = []
    for number, folder in enumerate(find_wheels(sys.executable).include_dirs):
        if folder.is_relative_to(SIMGPU):
            folders.append(folder)
            continue
        folders.append(tmp_path / str(number))
        folders[-1].mkdir()
        for file in folder.iterdir():
            if file.name not in APART:
                (folders[-1] / file.name).symlink_to(file)
    read = files_read(included(), include(folders))
    assert {path.parent.name for path in read} == set(APART)
    assert all(path.is_relative_to(SIMGPU / "headers") for path in read)
