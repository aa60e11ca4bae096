"""Starts programs in the ways people do, for the tests of ways in, life cycle, crash and bad input.

Each function returns a Finished; `together` runs several at once, since `import torch` alone takes
seconds. Only these functions know how a program gets its simulated GPU.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "tests" / "programs"
EXAMPLES = ROOT / "examples"
ON_GPU = os.environ.get("PEAKLINE_TEST_DEVICE") == "gpu"
LIMIT_SECONDS = 240

SIZE = r"\d[\d.]* [KMGT]?B"
# The literal form of the table, line by line: header lines, then rows.
TABLE_LINES = (
    re.compile(rf"Max mem: {SIZE}"),
    re.compile(rf"Total mem allocated: {SIZE}"),
    re.compile(r"Mem, Cumulative Mem, Median, Count, Location"),
)
TABLE_ROW = re.compile(rf"(?P<mem>{SIZE})  {SIZE}  {SIZE}  \d+  (?P<location>\S.*?)(?:  via .*)?")

# What `peakline run` says of its own: the device, what is compiled once, where the trace is.
_USUAL = re.compile("simulated GPU|^peakline: (compiling|building|recording to|wrote)")


@dataclass(frozen=True)
class Finished:
    """A program that has ended. `status` is negative when a signal ended it."""

    status: int
    stdout: str
    stderr: str
    folder: Path

    @property
    def said(self) -> Any:
        """The JSON document on the last line of standard output."""
        lines = self.documents
        assert lines, f"status {self.status}\n{self.stdout}\n{self.stderr}"
        return lines[-1]

    @property
    def documents(self) -> list[Any]:
        """Every JSON document that the program and its children printed, one a line."""
        return [json.loads(line) for line in self.stdout.splitlines() if line.startswith("{")]

    @property
    def notes(self) -> list[str]:
        """What peakline told the user, without what it always says."""
        lines = [line for line in self.stderr.splitlines() if line.startswith("peakline: ")]
        return [line for line in lines if not _USUAL.search(line)]

    @property
    def traces(self) -> list[Path]:
        """Every trace file in the folder of the run."""
        return sorted(self.folder.rglob("*.peak"))


def plain(lab: Any, folder: Path, *words: str, environment: Mapping[str, str] | None = None):
    """Run a command as it is."""
    folder.mkdir(exist_ok=True, parents=True)
    result = subprocess.run(
        words,
        cwd=folder,
        env=lab.environment(environment),
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    return Finished(result.returncode, result.stdout, result.stderr, folder)


def recording_command(
    lab: Any, *words: str, options: Sequence[str] = ("-q",), device: str = "h200"
) -> list[str]:
    """Return the words of `peakline run` for a program."""
    simulate = [] if ON_GPU else ["--simulate", device]
    python = ["--python", lab.python]
    return [sys.executable, "-m", "peakline", "run", *simulate, *python, *options, *words]


def recorded(
    lab: Any,
    folder: Path,
    *words: str,
    options: Sequence[str] = ("-q", "-o", "run.peak"),
    device: str = "h200",
    environment: Mapping[str, str] | None = None,
) -> Finished:
    """Run a program under `peakline run`, in a folder of its own."""
    command = recording_command(lab, *words, options=options, device=device)
    return plain(lab, folder, *command, environment=environment)


def unrecorded(
    lab: Any, folder: Path, *words: str, environment: Mapping[str, str] | None = None
) -> Finished:
    """Run a command with a GPU but without peakline; programs may still call its API."""
    if ON_GPU:
        return plain(lab, folder, *words, environment=environment)
    options = ["--no-record", "-q"]
    return recorded(lab, folder, "--", *words, options=options, environment=environment)


def preloaded(
    lab: Any, folder: Path, *words: str, environment: Mapping[str, str] | None = None
) -> Finished:
    """Run a command as people do who set LD_PRELOAD by hand."""
    script = 'export LD_PRELOAD="$0${LD_PRELOAD:+:$LD_PRELOAD}"; exec "$@"'
    return unrecorded(
        lab, folder, "sh", "-c", script, preload_library(lab), *words, environment=environment
    )


def preload_library(lab: Any) -> str:
    """Return what `peakline preload` prints."""
    result = lab.peakline("preload", "--python", lab.python)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def together(jobs: Mapping[str, Callable[[], Any]]) -> dict[str, Any]:
    """Run the jobs, two at a time, and return their results by name."""
    with ThreadPoolExecutor(max_workers=2) as pool:
        running = {name: pool.submit(job) for name, job in jobs.items()}
        return {name: one.result() for name, one in running.items()}


def check_whole_trace(lab: Any, trace: Path, peak_bytes: int) -> dict[str, Any]:
    """Assert that a trace is complete, says torch's peak and has rows that sum to it."""
    table = lab.table(trace)
    assert (table["complete"], table["problems"]) == (True, [])
    assert table["peak_bytes"] == peak_bytes
    assert table["rows"][-1]["cumulative_bytes"] == sum(row["bytes"] for row in table["rows"])
    assert sum(row["bytes"] for row in table["rows"]) == peak_bytes
    assert table["records_dropped"] == 0
    return table


def table_rows(text: str) -> list[tuple[str, str]]:
    """Check the literal form of a printed table; return (size, location) of its rows."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if TABLE_LINES[0].fullmatch(line))
    for pattern, line in zip(TABLE_LINES, lines[start:], strict=False):
        assert pattern.fullmatch(line), line
    rows = []
    for line in lines[start + len(TABLE_LINES) :]:
        if not line or line == "...":
            break
        match = TABLE_ROW.fullmatch(line)
        assert match, f"not a row of the table: {line!r}"
        rows.append((match["mem"], match["location"]))
    return rows
