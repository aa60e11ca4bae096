"""Runs a worker of a bench with peakline, under a tool that looks at the process."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bench_events import FOLDER, WORKER_ENVIRONMENT


def said_under(
    tool: Sequence[str], folder: Path, stacks: str, worker: Sequence[str], simulated: str = "h200"
) -> list[dict]:
    """What the worker (a file of this folder, and its arguments) wrote: JSON objects, a line each.

    The trace goes into ``folder``. Ends this process when the worker fails or writes none.
    """
    run = [sys.executable, "-m", "peakline", "run", "-q", "--simulate", simulated]
    run += ["--stacks", stacks, "-o", str(folder / "recorded.peak")]
    done = subprocess.run(
        [*tool, *run, str(FOLDER / worker[0]), *worker[1:]],
        env={**os.environ, **WORKER_ENVIRONMENT, "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
    )
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or not told:
        sys.exit(f"{worker[0]} failed:\n{done.stderr[-2000:]}")
    return told
