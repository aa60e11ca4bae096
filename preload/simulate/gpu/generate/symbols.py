"""Reads the dynamic symbols of shared libraries and objects with nm."""

from __future__ import annotations

import subprocess
from pathlib import Path


def _nm(arguments: list[str], path: Path) -> list[list[str]]:
    out = subprocess.run(["nm", *arguments, str(path)], capture_output=True, text=True, check=True)
    return [line.split() for line in out.stdout.splitlines() if line.strip()]


def exported(path: Path) -> dict[str, str]:
    """Exported functions and their version node ('' without one)."""
    found: dict[str, str] = {}
    for fields in _nm(["-D", "--defined-only"], path):
        if len(fields) == 3 and fields[1] in "TWi":
            name, _, node = fields[2].partition("@")
            found[name] = node.lstrip("@")
    return found


def undefined(path: Path) -> list[str]:
    """Imported names, without their versions."""
    return sorted({f[-1].partition("@")[0] for f in _nm(["-D", "--undefined-only"], path)})


def defined_in_object(path: Path) -> set[str]:
    """Global functions that an object file defines."""
    return {f[2] for f in _nm(["--defined-only", "--extern-only"], path) if f[1] == "T"}
