"""Finds the libraries that a wheel has for a build of torch, compiled ahead (.ci/wheel).

They are in `_native/built/`: a folder per build of torch, with the parts for it and the simulated
GPU. The recorder looks there, too (find_part() of preload/life/torch_library.cpp). They belong to
this version of peakline, so they are used before what the cache has.
"""

from __future__ import annotations

import re
from pathlib import Path

PACKAGE_FOLDER = Path(__file__).resolve().parents[1]
NATIVE_FOLDER = PACKAGE_FOLDER / "_native"
BUILT_FOLDER = NATIVE_FOLDER / "built"

TORCH_PART = "libpeakline_torch.so"
VALUES_COMPANION = "libpeakline_values.so"
BLANK_WEIGHTS = "libpeakline_blank.so"
SIMULATED_GPU = "simulated"
# In the folder of a simulated GPU: its libraries, in the order for LD_PRELOAD.
PRELOAD_LIST = "preload.txt"


def folder_name(version: str, build: str) -> str:
    """Return the name of the folder for a build of torch."""
    return f"{version}-{build}"


def shipped(name: str, version: str, build: str) -> Path | None:
    """Return the library or folder of this name for a build of torch, None if there is none."""
    path = BUILT_FOLDER / folder_name(version, build) / name
    return path if path.exists() else None


def similar_simulated_gpu(site_packages: Path) -> Path | None:
    """Return a simulated GPU whose libraries are called as the real ones beside another torch.

    They are for versions of torch with the same major version of CUDA. Returns that of the newest
    torch, or None.
    """
    real = {path.name for path in site_packages.glob("nvidia/*/lib/lib*.so.*")}
    stems = {_stem(name) for name in real}
    for folder in sorted(BUILT_FOLDER.glob(f"*/{SIMULATED_GPU}"), key=_version, reverse=True):
        names = (folder / PRELOAD_LIST).read_text().split()
        replacing = {name for name in names if _stem(name) in stems}
        if replacing and replacing <= real:
            return folder
    return None


def _stem(library: str) -> str:
    return library.split(".so", 1)[0]


def _version(simulated: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", simulated.parent.name.split("+")[0])]
