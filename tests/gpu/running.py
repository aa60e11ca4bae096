"""Runs the commands of a part within its time, and says what became of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Done:
    """A finished command; `status` is None where the time of the part ran out."""

    status: int | None
    stdout: str
    stderr: str
    seconds: float

    @property
    def last_words(self) -> str:
        """The end of what it said, for a page."""
        lines = (self.stderr or self.stdout).strip().splitlines()
        return "out of time" if self.status is None else " | ".join(lines[-3:])


@dataclass
class Session:
    """What a part runs with: its folder for results, its device, its time."""

    results: Path
    simulate: str  # the device to simulate; "": the real one
    deadline: float  # of time.monotonic()
    jobs: int = 1  # files of tests at the same time

    def remaining(self) -> float:
        """Seconds that are left."""
        return max(0.0, self.deadline - time.monotonic())

    def device(self) -> list[str]:
        """Options of `peakline run` that bring the device."""
        return ["--simulate", self.simulate] if self.simulate else []

    def peakline(self, *words: str) -> Done:
        """Run a command of peakline."""
        return self.run("-m", "peakline", *words)

    def recorded(self, trace: Path, options: list[str], *program: str) -> Done:
        """Run a program under `peakline run`."""
        words = ["run", "-q", "--force", "-o", str(trace), *self.device(), *options]
        return self.peakline(*words, *program)

    def run(self, *words: str, environment: dict[str, str] | None = None) -> Done:
        """Run this Python with these arguments, in the folder for results."""
        device = {} if self.simulate else {"PEAKLINE_TEST_DEVICE": "gpu"}
        begin = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, *words],
            cwd=self.results,
            env={**os.environ, **device, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # its children are ended with it
        )
        try:
            stdout, stderr = process.communicate(timeout=self.remaining())
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            stdout, stderr = process.communicate()
            return Done(None, stdout, stderr, time.monotonic() - begin)
        return Done(process.returncode, stdout, stderr, time.monotonic() - begin)


@dataclass
class Outcome:
    """What a part found. `passed` is None where nothing could be said."""

    passed: bool | None
    page: list[str]
    facts: dict[str, Any] = field(default_factory=dict)


def run_test_files(session: Session, files: list[Path]) -> Outcome:
    """Run each file of tests in a pytest of its own, some at the same time."""
    reports = session.results / "reports"
    reports.mkdir(exist_ok=True)

    def run(file: Path) -> dict[str, Any]:
        if session.remaining() < 10:
            return {"not run": "out of time"}
        report = reports / f"{file.stem}.xml"
        report.unlink(missing_ok=True)
        options = ["-q", "-p", "no:cacheprovider", "--junitxml", str(report)]
        done = session.run("-m", "pytest", *options, str(file))
        return {"seconds": round(done.seconds, 1), **read_report(report, done)}

    with ThreadPoolExecutor(max_workers=session.jobs) as pool:
        found = dict(zip((file.name for file in files), pool.map(run, files), strict=True))
    page, passed = [], True
    for name, result in found.items():
        failed = result.get("failed", {})
        missing = result.get("not run", "")
        passed = passed and not failed and not missing
        counts = f"{result.get('passed', 0):4} passed {result.get('skipped', 0):3} skipped"
        page.append(f"{name:38}{counts} {len(failed):3} failed  {missing}")
        page += [f"    {test}: {why}" for test, why in failed.items()]
    return Outcome(passed, page, {"files": found})


def read_report(report: Path, done: Done) -> dict[str, Any]:
    """What a file's tests came to, from pytest's own report."""
    if not report.exists():
        return {"not run": done.last_words[:300]}
    result: dict[str, Any] = {"passed": 0, "skipped": 0, "failed": {}}
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        trouble = [child for kind in ("failure", "error") for child in case.findall(kind)]
        if trouble:
            message = " ".join((trouble[0].get("message") or "").split())
            result["failed"][case.get("name")] = message[:300]
        else:
            result["skipped" if case.find("skipped") is not None else "passed"] += 1
    return result
