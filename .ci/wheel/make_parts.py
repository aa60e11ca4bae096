"""Compiles the parts for installed versions of torch, and puts them into a wheel's package.

python make_parts.py PACKAGE PYTHON...

Each PYTHON has a torch. PACKAGE/_native/built then has a folder for its build, as
pyhook/peakline/builds/shipped.py wants it. PEAKLINE_LINK_LAST has the words for the linker.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from peakline.builds.native_build import ensure_torch_part, find_torch, torch_build
from peakline.builds.shipped import BUILT_FOLDER, PACKAGE_FOLDER, SIMULATED_GPU, folder_name
from peakline.builds.simulated_build import (
    ensure_blank_weights,
    ensure_simulated_gpu,
    ensure_values_companion,
)


def add_parts(package: Path, python: str) -> Path:
    """Compile everything for the torch of an interpreter; return its folder in the package."""
    torch = find_torch(python)
    folder = package / BUILT_FOLDER.relative_to(PACKAGE_FOLDER)
    folder /= folder_name(torch.version, torch_build(torch))
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for ensure in (ensure_torch_part, ensure_values_companion, ensure_blank_weights):
        shutil.copy2(ensure(torch), folder)
    # A wheel has no links: libcuda.so becomes a second file.
    shutil.copytree(ensure_simulated_gpu(torch), folder / SIMULATED_GPU)
    return folder


def main() -> None:
    """Add the parts for each interpreter."""
    package, *pythons = sys.argv[1:]
    for python in pythons:
        print(f"wheel: {add_parts(Path(package), python).name}")


if __name__ == "__main__":
    main()
