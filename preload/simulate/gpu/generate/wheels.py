"""Finds torch and the NVIDIA wheels beside it, without importing torch."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

_FIND_TORCH = (
    "import importlib.util as u; s = u.find_spec('torch');"
    "print(s.submodule_search_locations[0] if s else '')"
)


# Replacements for headers in packages that some versions of torch lack.
OWN_HEADERS = Path(__file__).resolve().parents[1] / "headers"


class BuildError(Exception):
    """A problem for the user to solve; the text describes it."""


@dataclass(frozen=True)
class Wheels:
    """The folders of headers and libraries of one installation."""

    torch: Path
    include_dirs: tuple[Path, ...]
    library_dirs: tuple[Path, ...]

    def real_library(self, pattern: str) -> Path | None:
        """The one library file that matches, or None if the wheels have none."""
        for directory in self.library_dirs:
            for path in sorted(directory.glob(pattern)):
                return path
        return None

    def all_libraries(self) -> list[Path]:
        """Every library of the NVIDIA wheels."""
        return [p for d in self.library_dirs for p in sorted(d.glob("*.so*")) if p.is_file()]

    def has_header(self, name: str) -> bool:
        """Whether any include directory holds this header."""
        return any((directory / name).is_file() for directory in self.include_dirs)


def find_wheels(python: str) -> Wheels:
    """Get torch's folder from the interpreter; everything else is found beside it."""
    found = subprocess.run([python, "-c", _FIND_TORCH], capture_output=True, text=True, check=False)
    if found.returncode != 0 or not found.stdout.strip():
        raise BuildError(f"{python} has no torch; name the interpreter that has it with --python")
    torch = Path(found.stdout.strip())
    site = torch.parent
    nvidia = site / "nvidia"
    include_dirs = tuple(sorted(d for d in nvidia.glob("*/include") if d.is_dir()))
    library_dirs = tuple(sorted(d for d in nvidia.glob("*/lib") if d.is_dir()))
    if not any((directory / "cuda.h").is_file() for directory in include_dirs):
        raise BuildError(
            f"there is no cuda.h under {nvidia}; is this a CPU-only torch? "
            "Install a CUDA wheel of torch: its NVIDIA wheels bring the headers"
        )
    if not any((directory / "crt" / "host_defines.h").is_file() for directory in include_dirs):
        include_dirs = (*include_dirs, OWN_HEADERS)
    return Wheels(torch, include_dirs, library_dirs)
