"""Runs programs under peakline and reads what it recorded, for the end-to-end tests.

Programs live in tests/programs. With PEAKLINE_TEST_DEVICE=gpu they run on the real GPU, else on a
simulated one.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "tests" / "programs"
ON_GPU = os.environ.get("PEAKLINE_TEST_DEVICE") == "gpu"
LIMIT_SECONDS = 300


@dataclass(frozen=True)
class Run:
    """One finished program. `status` is an exit code as the shell sees it."""

    status: int
    stdout: str
    stderr: str
    trace: Path

    @property
    def said(self) -> Any:
        """The JSON document on the last line of standard output."""
        assert self.status == 0, f"status {self.status}\n{self.stdout}\n{self.stderr}"
        return json.loads(self.stdout.strip().splitlines()[-1])

    @property
    def notes(self) -> list[str]:
        """What peakline told the user, without what it always says."""
        lines = [line for line in self.stderr.splitlines() if line.startswith("peakline: ")]
        usual = ("simulated GPU", "peakline: recording to ", "peakline: wrote ")
        return [line for line in lines if not any(words in line for words in usual)]


@dataclass
class Lab:
    """Runs programs with one interpreter; every run has a trace file of its own."""

    python: str
    folder: Path
    _kept: dict[object, Run] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def run(
        self,
        program: str | Path,
        *arguments: str,
        options: Sequence[str] = (),
        device: str = "h200",
        environment: Mapping[str, str] | None = None,
        recorded: bool = True,
    ) -> Run:
        """Run a program of tests/programs (or a path) under `peakline run`.

        `options` go to `peakline run`. With recorded=False peakline only brings the device.
        """
        folder = self.folder / f"run{next(self._numbers)}"
        folder.mkdir()
        trace = folder / "run.peak"
        peakline = [sys.executable, "-m", "peakline", "run", "-q", "--python", self.python]
        if not ON_GPU:
            peakline += ["--simulate", device]
        peakline += ["-o", str(trace)] if recorded else ["--no-record"]
        plain = not recorded and ON_GPU
        command = [self.python] if plain else [*peakline, *options]
        is_file = Path(program).suffix != ""
        words = [str(PROGRAMS / program) if is_file else str(program), *arguments]
        result = subprocess.run(
            [*command, *words],
            cwd=folder,
            env=self.environment(environment),
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )
        # A signal ends a shell's command with 128 and its number.
        status = result.returncode if result.returncode >= 0 else 128 - result.returncode
        return Run(status, result.stdout, result.stderr, trace)

    def once(self, program: str, *arguments: str, **how: Any) -> Run:
        """Like `run`, but the same program with the same options runs only once a session."""
        key = (program, arguments, json.dumps(how, sort_keys=True))
        if key not in self._kept:
            self._kept[key] = self.run(program, *arguments, **how)
        return self._kept[key]

    def table(self, trace: Path, *options: str) -> dict[str, Any]:
        """Return `peakline table --json` of a trace."""
        return json.loads(self.report("table", trace, "--json", *options))

    def report(self, command: str, trace: Path, *options: str) -> str:
        """Return what a reading command prints; it must succeed."""
        result = self.peakline(command, str(trace), *options)
        assert result.returncode == 0, result.stderr
        return result.stdout

    def peakline(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run any peakline command."""
        return subprocess.run(
            [sys.executable, "-m", "peakline", *words],
            cwd=self.folder,
            env=self.environment(None),
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )

    def environment(self, more: Mapping[str, str] | None) -> dict[str, str]:
        """Return the environment of a run: ours, without what would change the program."""
        unwanted = ("PYTORCH_", "PEAKLINE_TEST", "LD_PRELOAD", "PEAKLINE_OUTPUT")
        kept = {k: v for k, v in os.environ.items() if not k.startswith(unwanted)}
        return {**kept, "PYTHONPATH": str(ROOT / "pyhook"), **(more or {})}
