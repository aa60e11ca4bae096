"""Runs pytest with our plugin in a folder, and reads what it wrote about its tests."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path
from xml.etree import ElementTree

from lab import Lab

# Notes torch's own peak during the call of each test, which is what a test's phase is about.
ORACLE = """
import json
import os
import pytest
import torch

@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item):
    devices = range(torch.cuda.device_count() if torch.cuda.is_initialized() else 0)
    for device in devices:
        torch.cuda.reset_peak_memory_stats(device)
    try:
        return (yield)
    finally:
        peaks = [torch.cuda.max_memory_allocated(d) for d in range(torch.cuda.device_count())]
        with open(os.environ["ORACLE"], "a") as file:
            print(json.dumps([item.nodeid, peaks]), file=file)
"""


@dataclass(frozen=True)
class Case:
    """A test as the JUnit file has it."""

    outcome: str  # "passed", "failure", "error", "skipped"
    text: str
    properties: dict[str, str]


@dataclass(frozen=True)
class PytestRuns:
    """Runs pytest in one folder."""

    lab: Lab
    folder: Path

    def write(self, **files: str) -> None:
        """Write Python files: conftest="..." is conftest.py."""
        for name, text in files.items():
            (self.folder / f"{name}.py").write_text(text)

    def __call__(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run it."""
        return self._run(self.command(*words), environment)

    def fresh(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run it in a process of its own: what it has imported is the point."""
        return self._run(self.command(*words), {}, fresh=True)

    def on_a_gpu(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run it where there is a GPU and nothing records."""
        done = self.lab.unrecorded(
            self.folder, *self.command(*words), environment=self._environment(environment)
        )
        return subprocess.CompletedProcess(words, done.status, done.stdout, done.stderr)

    def program(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run Python with other words, to start pytest in another way."""
        return self._run([sys.executable, *words], {})

    def command(self, *words: str) -> list[str]:
        """Return what runs it."""
        return [sys.executable, "-m", "pytest", *plugin_words(), *words]

    def cases(self, name: str = "junit.xml") -> dict[str, Case]:
        """Return the tests of a JUnit file by name; a test with an error at its end has that."""
        cases = {}
        for case in ElementTree.parse(self.folder / name).getroot().iter("testcase"):
            properties = {
                one.get("name", ""): one.get("value", "") for one in case.iter("property")
            }
            outcome, text = "passed", ""
            for one in case:
                if one.tag in ("failure", "error", "skipped"):
                    outcome, text = one.tag, one.text or ""
            cases[case.get("name", "")] = Case(outcome, text, properties)
        return cases

    def oracle(self) -> dict[str, list[int]]:
        """Return torch's own peaks of each device by test."""
        lines = (self.folder / "oracle").read_text().splitlines()
        return {name.rpartition("::")[2]: peaks for name, peaks in map(json.loads, lines)}

    def _run(
        self, command: list[str], environment: dict[str, str], fresh: bool = False
    ) -> subprocess.CompletedProcess[str]:
        environment = self._environment(environment)
        done = self.lab.plain(self.folder, *command, environment=environment, fresh=fresh)
        return subprocess.CompletedProcess(command, done.status, done.stdout, done.stderr)

    def _environment(self, more: dict[str, str]) -> dict[str, str]:
        return {"ORACLE": str(self.folder / "oracle"), **more}


def plugin_words() -> list[str]:
    """Return what loads the plugin. An installed peakline brings it by its entry point."""
    found = [one for dist in distributions() for one in dist.entry_points]
    if any((one.group, one.name) == ("pytest11", "peakline") for one in found):
        return []
    return ["-p", "peakline.pytest_plugin"]


def outcomes(cases: dict[str, Case], names: Iterable[str]) -> dict[str, str]:
    """Return how the tests of these names went."""
    return {name: cases[name].outcome for name in names}


def summary_of(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Return the lines of our section at the end."""
    rest = done.stdout.rpartition(" GPU memory (peakline) =")[2].splitlines()[1:]
    end = next((i for i, line in enumerate(rest) if " in " in line and line.endswith("s")), None)
    ends = [i for i, line in enumerate(rest) if line.startswith("===")]
    return rest[: min([*ends, *([end] if end is not None else [])], default=len(rest))]
