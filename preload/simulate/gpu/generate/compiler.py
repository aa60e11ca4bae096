"""Runs the compiler and the linker, two commands at a time."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from .wheels import BuildError

_JOBS = len(os.sched_getaffinity(0))
# Begins a line for each compiled source, by which the caller shows progress.
COMPILED = "compiled "
_WARNINGS = ("-Wall", "-Wextra", "-Wshadow", "-Werror")


@dataclass(frozen=True)
class Compiler:
    """The common part of all compile commands of one build."""

    include_dirs: tuple[Path, ...]

    def _includes(self) -> list[str]:
        return [flag for directory in self.include_dirs for flag in ("-I", str(directory))]

    def hand_written(self, source: Path, target: Path, flags: Sequence[str] = ()) -> list[str]:
        """The command for one of our sources: all warnings are errors."""
        common = ["-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", *_WARNINGS]
        return ["g++", *common, *flags, *self._includes(), "-c", str(source), "-o", str(target)]

    def generated(self, source: Path, target: Path) -> list[str]:
        """The command for generated C, which has unused parameters."""
        flags = ["-x", "c", "-O1", "-fPIC", "-w"]
        return ["g++", *flags, *self._includes(), "-c", str(source), "-o", str(target)]


def link_command(
    target: Path, soname: str, version_script: Path, objects: Sequence[Path], needs: Sequence[Path]
) -> list[str]:
    """The command that makes one shared library."""
    return [
        "g++",
        "-shared",
        f"-Wl,-soname,{soname}",
        f"-Wl,--version-script={version_script}",
        "-Wl,-rpath,$ORIGIN",
        "-o",
        str(target),
        *map(str, objects),
        *map(str, needs),
        "-ldl",
        "-lpthread",
        *os.environ.get("PEAKLINE_LINK_LAST", "").split(),  # native_build.py
    ]


def run_all(commands: Sequence[Sequence[str]]) -> None:
    """Run independent commands; the first failure is reported in full."""
    with ThreadPoolExecutor(_JOBS) as pool:
        for failure in pool.map(_run, commands):
            if failure is not None:
                raise BuildError(failure)


def _run(command: Sequence[str]) -> str | None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        if command[-1].endswith(".o") and "-std=c++20" in command:
            print(f"{COMPILED}{Path(command[-3]).name}", flush=True)
        return None
    return f"this command failed:\n{' '.join(command)}\n{done.stderr[:4000]}"


def version_script(names: Sequence[str], node: str) -> str:
    """Exports exactly these names; '' as node means unversioned."""
    shown = " ".join(f"{name};" for name in names)
    return f"{node} {{ global: {shown} local: *; }};\n"
