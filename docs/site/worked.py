"""The worked example of each command: its words, and how many lines of the output a page shows.

`record()` runs docs/site/train.py on a simulated GPU; all examples read its recordings, in the
order of this table. The reference shows their output; tests/e2e/test_reference.py runs them, too.
"""

from __future__ import annotations

import importlib.util
import io
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from manual import ROOT
from peakline.commands import main

PROGRAM = Path(__file__).with_name("train.py")


@dataclass(frozen=True)
class Worked:
    """Words behind `peakline`; `lines` of the output are shown; `needs` are modules of Python."""

    words: str
    lines: int = 14
    needs: tuple[str, ...] = ()
    status: int = 0

    @property
    def can_run(self) -> bool:
        """Whether this Python has the modules."""
        return all(map(importlib.util.find_spec, self.needs))


# The first is the example of `run`.
RECORDINGS = (
    "run --simulate h200 --hold end --frees -o train.peak train.py",
    "run -q --simulate h200 -o mended.peak train.py --mended",
    "run -q --simulate h200 --world 2 --ranks 0,1 -o job/ train.py",
)
# Programs that would run for seconds, or that depend on the machine: their command lines are
# parsed, not run.
PARSED: Mapping[str, str] = {
    "fit": "fit train.py --device a100-40,h100:1GiB --steps 2",
    "attach": "attach 4242",
    "detach": "detach 4242",
    "bisect": "bisect HEAD~20 HEAD --steps 2 -- train.py",
    "doctor": "doctor",
    "preload": "preload",
    "completion": "completion bash",
    "mcp": "mcp",
}
WORKED: Mapping[str, Worked] = {
    "table": Worked("table --by category train.peak"),
    "html": Worked("html --force train.peak -o train.html"),
    "tree": Worked("tree --top 4 train.peak"),
    "summary": Worked("summary train.peak", 20),
    "phases": Worked("phases --top 1 train.peak"),
    "oom": Worked("oom train.peak"),
    "fragmentation": Worked("fragmentation train.peak"),
    "map": Worked("map --top 3 train.peak"),
    "ledger": Worked("ledger train.peak"),
    "leaks": Worked("leaks train.peak"),
    "holders": Worked("holders --top 2 train.peak"),
    "live": Worked("live --once train.peak"),
    "report": Worked("report train.peak", 8),
    "advise": Worked("advise train.peak"),
    "plan": Worked("plan --budget 60MiB train.peak"),
    "whatif": Worked("whatif --smallest-device train.peak"),
    "diff": Worked("diff train.peak mended.peak"),
    "ranks": Worked("ranks job/"),
    "check": Worked("check --max-peak 100MB train.peak", status=1),
    "export": Worked("export speedscope --force train.peak -o train.speedscope.json"),
    "import": Worked("import --force snapshot.pickle -o snapshot.peak"),
    "fleet": Worked("fleet tables/ waste", needs=("duckdb", "pyarrow")),
    "tensors": Worked("tensors --top 4 train.peak"),
    "layers": Worked("layers --top 5 train.peak"),
    "stages": Worked("stages --top 1 train.peak"),
    "ops": Worked("ops --top 5 train.peak"),
    "stats": Worked("stats train.peak"),
    "events": Worked("events --during 'optimizer@3' train.peak"),
    "timeline": Worked("timeline train.peak", 20),
    "plot": Worked("plot --force train.peak -o train.png", needs=("matplotlib",)),
    "pack": Worked("pack --force train.peak"),
    "flamegraph": Worked("flamegraph --force train.peak -o flame.html"),
}
# Commands that make the input of another example.
BEFORE: Mapping[str, str] = {
    "import": "export torch-snapshot --force train.peak -o snapshot.pickle",
    "fleet": "export parquet --force job/ -o tables/",
}


def record(folder: Path) -> str:
    """Make the recordings in a folder; return the output of the first.

    Raises:
        subprocess.CalledProcessError: a run failed; its output is above.
    """
    shutil.copy(PROGRAM, folder)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "pyhook"), "PYTHONUNBUFFERED": "1"}
    outputs = []
    for words in RECORDINGS:
        command = [sys.executable, "-m", "peakline", *shlex.split(words)]
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode:
            print(done.stdout)
            done.check_returncode()
        outputs.append(done.stdout)
    return outputs[0]


def output_of(words: Sequence[str]) -> tuple[int, str]:
    """Run a command on the recordings in the working folder; return its status and output."""
    output = io.StringIO()
    with redirect_stdout(output), redirect_stderr(output):
        status = main(words)
    return status, output.getvalue()


def shown(output: str, lines: int) -> str:
    """Return the first lines of an output, without names of this machine."""
    rows = [line.rstrip() for line in output.rstrip().splitlines()]
    if len(rows) > lines:
        rows = [*rows[:lines], "..."]
    text = "\n".join(rows).replace(sys.executable, "python")
    return re.sub(rf"\b{re.escape(socket.gethostname())}\b", "HOST", text)
