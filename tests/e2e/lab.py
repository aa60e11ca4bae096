"""Runs programs and reads what peakline recorded: the one harness of the end-to-end tests.

Programs live in tests/programs. With PEAKLINE_TEST_DEVICE=gpu they run on the real GPU, else on a
simulated one; only this file knows how a program gets it. Statuses are those of Python's
subprocess: negative where a signal ended the program.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from warm_popen import WarmPopen, run_to_its_end

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "tests" / "programs"
EXAMPLES = ROOT / "examples"
ON_GPU = os.environ.get("PEAKLINE_TEST_DEVICE") == "gpu"
LIMIT_SECONDS = 300

# What `peakline run` says of its own: the device, what is compiled once, where the trace is.
_USUAL = re.compile("simulated GPU|^peakline: (compiling|waiting for process|recording to|wrote)")


@dataclass(frozen=True)
class Run:
    """A program that has ended."""

    status: int
    stdout: str
    stderr: str
    folder: Path

    @property
    def trace(self) -> Path:
        """The trace of a run that wrote one file of the usual name."""
        return self.folder / "run.peak"

    @property
    def traces(self) -> list[Path]:
        """Every trace file in the folder of the run."""
        return sorted(self.folder.rglob("*.peak"))

    @property
    def said(self) -> Any:
        """The JSON document that the program printed last; it must have succeeded."""
        assert self.status == 0, f"status {self.status}\n{self.stdout}\n{self.stderr}"
        return self.last_said

    @property
    def last_said(self) -> Any:
        """The same, however the program ended."""
        documents = self.documents
        assert documents, f"status {self.status}\n{self.stdout}\n{self.stderr}"
        return documents[-1]

    @property
    def documents(self) -> list[Any]:
        """Every JSON document that the program and its children printed, one per line."""
        lines = self.stdout.splitlines()
        return [json.loads(line) for line in lines if line[:1] + line[-1:] in ("{}", "[]")]

    @property
    def notes(self) -> list[str]:
        """What peakline reported to the user, without what it always says."""
        lines = [line for line in self.stderr.splitlines() if line.startswith("peakline: ")]
        return [line for line in lines if not _USUAL.search(line)]


@dataclass
class Lab:
    """Runs programs with one interpreter."""

    python: str
    folder: Path
    _kept: dict[str, Run] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def run(
        self,
        program: str | Path,
        *arguments: str,
        options: Sequence[str] = (),
        device: str = "h200",
        environment: Mapping[str, str] | None = None,
        recorded: bool = True,
        fresh: bool = False,
    ) -> Run:
        """Run a program of tests/programs (or a path) under `peakline run`, in a new folder.

        `options` go to `peakline run`. With recorded=False peakline only brings the device. With
        fresh=True no process is the child of a warm one (warm_popen.py).
        """
        folder = self.folder / f"run{next(self._numbers)}"
        is_file = Path(program).suffix != ""
        words = [str(PROGRAMS / program) if is_file else str(program), *arguments]
        if not recorded and ON_GPU:
            return self.plain(folder, self.python, *words, environment=environment)
        into = ["-o", str(folder / "run.peak")] if recorded else ["--no-record"]
        options = ["-q", *into, *options]
        return self.recorded(
            folder,
            *words,
            options=options,
            device=device,
            environment=environment,
            fresh=fresh,
        )

    def once(self, program: str, *arguments: str, **how: Any) -> Run:
        """Like `run`, but the same program with the same options runs only once a session.

        All views of its trace must say the same figures.
        """
        key = json.dumps([self.python, program, arguments, how], sort_keys=True)
        if key not in self._kept:
            self._kept[key] = self._run_or_found(key, lambda: self.run(program, *arguments, **how))
        return self._kept[key]

    def _run_or_found(self, key: str, run: Callable[[], Run]) -> Run:
        """Return a copy of the run of another worker of pytest-xdist, or the first run."""
        from figures import check_figures  # figures.py needs this file

        digest = hashlib.sha256(key.encode()).hexdigest()[:16]
        note = folder_of_session(self.folder.parent) / "once" / digest
        note.parent.mkdir(exist_ok=True)
        with note.with_suffix(".lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if note.exists():
                status, stdout, stderr, folder = json.loads(note.read_text())
                own = self.folder / f"run{next(self._numbers)}"
                shutil.copytree(folder, own, symlinks=True)
                return Run(status, stdout, stderr, own)
            made = run()
            for trace in made.traces[:1]:
                check_figures(trace)
            kept = shutil.copytree(made.folder, note.with_suffix(".run"), symlinks=True)
            note.write_text(json.dumps([made.status, made.stdout, made.stderr, str(kept)]))
            return made

    def plain(
        self,
        folder: Path,
        *words: str,
        environment: Mapping[str, str] | None = None,
        fresh: bool = False,
    ) -> Run:
        """Run a command as it is, in a folder of its own."""
        folder.mkdir(exist_ok=True, parents=True)
        result = self._finish(folder, words, environment, fresh)
        return Run(result.returncode, result.stdout, result.stderr, folder)

    def recorded(
        self,
        folder: Path,
        *words: str,
        options: Sequence[str] = ("-q", "-o", "run.peak"),
        device: str = "h200",
        environment: Mapping[str, str] | None = None,
        fresh: bool = False,
    ) -> Run:
        """Run a command under `peakline run`."""
        command = self.recording_command(*words, options=options, device=device)
        return self.plain(folder, *command, environment=environment, fresh=fresh)

    def unrecorded(
        self, folder: Path, *words: str, environment: Mapping[str, str] | None = None
    ) -> Run:
        """Run a command with a GPU but without peakline; programs may still call its API."""
        if ON_GPU:
            return self.plain(folder, *words, environment=environment)
        options = ["--no-record", "-q"]
        return self.recorded(folder, "--", *words, options=options, environment=environment)

    def preloaded(
        self, folder: Path, *words: str, environment: Mapping[str, str] | None = None
    ) -> Run:
        """Run a command as people do who set LD_PRELOAD by hand."""
        script = 'export LD_PRELOAD="$0${LD_PRELOAD:+:$LD_PRELOAD}"; exec "$@"'
        command = ("sh", "-c", script, self.preload_library(), *words)
        return self.unrecorded(folder, *command, environment=environment)

    def recording_command(
        self, *words: str, options: Sequence[str] = ("-q",), device: str = "h200"
    ) -> list[str]:
        """Return the words of `peakline run` for a program.

        Skips the test where the real machine has fewer devices than are asked for.
        """
        count = re.search(r"x(\d+)$", device)
        if ON_GPU and count and int(count[1]) > _devices_here():
            pytest.skip(f"needs {count[1]} devices")
        simulate = [] if ON_GPU else ["--simulate", device]
        python = ["--python", self.python]
        return [sys.executable, "-m", "peakline", "run", *simulate, *python, *options, *words]

    def preload_library(self) -> str:
        """Return what `peakline preload` prints."""
        result = self.peakline("preload", "--python", self.python)
        assert result.returncode == 0, result.stderr
        return result.stdout.strip()

    def table(self, trace: Path, *options: str) -> dict[str, Any]:
        """Return `peakline table --json` of a trace."""
        return json.loads(self.report("table", trace, "--json", *options))

    def report(self, command: str, trace: Path, *options: str) -> str:
        """Return what a reading command prints; it must succeed."""
        result = self.peakline(command, str(trace), *options)
        assert result.returncode == 0, result.stderr
        return result.stdout

    def noted(self, trace: Path) -> dict[str, str]:
        """Return what the recorder noted of the process."""
        from peakline._report import Trace

        return Trace(str(trace)).info()["meta"]

    def peakline(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run any peakline command."""
        return self._finish(self.folder, [sys.executable, "-m", "peakline", *words], None)

    def environment(self, more: Mapping[str, str] | None) -> dict[str, str]:
        """Return the environment of a run: ours, without what would change the program."""
        unwanted = ("PYTORCH_", "PEAKLINE_TEST", "LD_PRELOAD", "PEAKLINE_OUTPUT", "PYTEST_")
        kept = {k: v for k, v in os.environ.items() if not k.startswith(unwanted)}
        return {**kept, "PYTHONPATH": str(ROOT / "pyhook"), **(more or {})}

    def _finish(
        self,
        folder: Path,
        words: Sequence[str],
        environment: Mapping[str, str] | None,
        fresh: bool = False,
    ) -> subprocess.CompletedProcess[str]:
        start = subprocess.Popen if fresh else WarmPopen
        how = {"cwd": folder, "env": self.environment(environment), "seconds": LIMIT_SECONDS}
        return run_to_its_end(start, words, **how)


def folder_of_session(base: Path) -> Path:
    """Return a folder that the workers of pytest-xdist share; `base`: the one of this worker."""
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@functools.cache
def _devices_here() -> int:
    listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False)
    return len(listed.stdout.splitlines())


def together(jobs: Mapping[str, Callable[[], Any]]) -> dict[str, Any]:
    """Run the jobs, two at a time since `import torch` alone takes seconds; results by name."""
    with ThreadPoolExecutor(max_workers=2) as pool:
        running = {name: pool.submit(job) for name, job in jobs.items()}
        return {name: one.result() for name, one in running.items()}
