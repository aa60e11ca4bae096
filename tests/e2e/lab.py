"""Runs programs and reads what peakline recorded: the one harness of the end-to-end tests.

Programs live in tests/programs. With PEAKLINE_TEST_DEVICE=gpu they run on the real GPU, else on a
simulated one; only this file knows how a program gets it. Statuses are those of Python's
subprocess: negative where a signal ended the program.
"""

from __future__ import annotations

import functools
import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "tests" / "programs"
EXAMPLES = ROOT / "examples"
ON_GPU = os.environ.get("PEAKLINE_TEST_DEVICE") == "gpu"
FORKING = Path(__file__).with_name("forking.py")
LIMIT_SECONDS = 300
_TOGETHER = 8  # programs of one run

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
        """Run a program of tests/programs (or a path) under `peakline run`, in a new folder.

        `options` go to `peakline run`. With recorded=False peakline only brings the device.
        """
        folder = self.folder / f"run{next(self._numbers)}"
        is_file = Path(program).suffix != ""
        words = [str(PROGRAMS / program) if is_file else str(program), *arguments]
        if not recorded and ON_GPU:
            return self.plain(folder, self.python, *words, environment=environment)
        into = ["-o", str(folder / "run.peak")] if recorded else ["--no-record"]
        options = ["-q", *into, *options]
        return self.recorded(
            folder, *words, options=options, device=device, environment=environment
        )

    def once(self, program: str, *arguments: str, **how: Any) -> Run:
        """Like `run`, but the same program with the same options runs only once a session.

        All views of its trace must say the same figures.
        """
        key = (program, arguments, json.dumps(how, sort_keys=True))
        if key not in self._kept:
            self._keep(key, self.run(program, *arguments, **how))
        return self._kept[key]

    def once_of(self, program: str, case: str, cases: Sequence[str]) -> Run:
        """Like `once`, for a program that takes one of these cases: they are recorded together."""
        keys = {(program, (one,), "{}"): one for one in cases}
        if not keys.keys() <= self._kept.keys():
            runs = self.recorded_together([(program, one) for one in cases])
            for key, run in zip(keys, runs, strict=True):
                self._keep(key, run)
        return self._kept[program, (case,), "{}"]

    def _keep(self, key: object, run: Run) -> None:
        from figures import check_figures  # figures.py needs this file

        self._kept[key] = run
        for trace in run.traces[:1]:
            check_figures(trace)

    def recorded_together(self, programs: Sequence[Sequence[str | Path]]) -> list[Run]:
        """Record programs, each with its arguments, in children of processes that have torch.

        A second for each in place of five. What peakline says at their end is not known.
        """
        runs: list[Run] = []
        for begin in range(0, len(programs), _TOGETHER):
            runs += self._recorded_in_children(programs[begin : begin + _TOGETHER])
        return runs

    def _recorded_in_children(self, programs: Sequence[Sequence[str | Path]]) -> list[Run]:
        from peakline._report import Trace

        folder = self.folder / f"run{next(self._numbers)}"
        words = [
            json.dumps([str(PROGRAMS / name), *map(str, arguments)])
            for name, *arguments in programs
        ]
        done = self.recorded(folder, str(FORKING), *words)
        assert done.status == 0, f"status {done.status}\n{done.stdout}\n{done.stderr}"
        traces = {Trace(str(one)).info()["pid"]: one for one in done.traces}
        runs = []
        for number, line in enumerate(done.stdout.splitlines()):
            pid, status = map(int, line.split())
            own = folder / str(number)
            own.mkdir()
            if pid in traces:
                traces[pid].rename(own / "run.peak")
            said = [(folder / f"{number}.{ending}").read_text() for ending in ("out", "err")]
            runs.append(Run(status, said[0], said[1], own))
        return runs

    def plain(self, folder: Path, *words: str, environment: Mapping[str, str] | None = None) -> Run:
        """Run a command as it is, in a folder of its own."""
        folder.mkdir(exist_ok=True, parents=True)
        result = self._finish(folder, words, environment)
        return Run(result.returncode, result.stdout, result.stderr, folder)

    def recorded(
        self,
        folder: Path,
        *words: str,
        options: Sequence[str] = ("-q", "-o", "run.peak"),
        device: str = "h200",
        environment: Mapping[str, str] | None = None,
    ) -> Run:
        """Run a command under `peakline run`."""
        command = self.recording_command(*words, options=options, device=device)
        return self.plain(folder, *command, environment=environment)

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
        unwanted = ("PYTORCH_", "PEAKLINE_TEST", "LD_PRELOAD", "PEAKLINE_OUTPUT")
        kept = {k: v for k, v in os.environ.items() if not k.startswith(unwanted)}
        return {**kept, "PYTHONPATH": str(ROOT / "pyhook"), **(more or {})}

    def _finish(
        self, folder: Path, words: Sequence[str], environment: Mapping[str, str] | None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words,
            cwd=folder,
            env=self.environment(environment),
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )


@functools.cache
def _devices_here() -> int:
    listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False)
    return len(listed.stdout.splitlines())


def together(jobs: Mapping[str, Callable[[], Any]]) -> dict[str, Any]:
    """Run the jobs, two at a time since `import torch` alone takes seconds; results by name."""
    with ThreadPoolExecutor(max_workers=2) as pool:
        running = {name: pool.submit(job) for name, job in jobs.items()}
        return {name: one.result() for name, one in running.items()}
