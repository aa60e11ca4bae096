"""Predictions of `peakline plan` against torch's own peaks of sets that ran: `make plan-proof`.

    python tests/fidelity/plans.py [--subsets 20] [--models gpt,unet] [--out FILE.md]

Trains each model of tests/programs/plan_models.py with random sets of its layers checkpointed, on
the simulated GPU, and predicts torch's requested peak of each set from one recording and from two.
Exit status: 0 no prediction from two recordings is too low by more than 64 KiB, 1 one is.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from peakline._report import Trace

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "tests" / "programs" / "plan_models.py"
SLACK = 64 << 10
HEAD = """# Predictions of `plan` against runs

Requested peak of a training step with random sets of layers checkpointed (plan_models.py): the
prediction less what torch measured. A positive difference is careful: the set needs less memory
than predicted. 'two recordings' is what `plan --try` uses.

| model | sets | recordings | exact | differences | largest, of the peak |
| --- | ---: | --- | ---: | --- | ---: |
"""


def run(folder: Path, *words: str) -> str:
    """The output of the program, on the simulated GPU."""
    command = [sys.executable, "-m", "peakline", "run", "-q", "--no-record", "--simulate", "h200"]
    result = subprocess.run(
        [*command, "--", sys.executable, str(PROGRAM), *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "pyhook")},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return result.stdout


def predicted(trace: Trace, known: list[str], layers: list[str], recomputed: str) -> int:
    """The requested peak with these layers checkpointed."""
    # A path begins with its model where the process has several.
    own = [one for one in known if any(f".{one}".endswith(f".{layer}") for layer in layers)]
    text = trace.report("plan", json=True, peak_budget=1, layers=own, recomputed=recomputed)
    document = json.loads(text)
    assert document["recordings"] == (2 if recomputed else 1), document["refusal"]
    return int(document["predicted"]["requested_bytes"])


def rows_of(folder: Path, name: str, said: dict[str, Any]) -> tuple[list[str], int]:
    """The rows of one model, and the lowest difference with two recordings."""
    rows, lowest = [], 0
    trace = Trace(str(folder / f"{name}.peak"))
    known = json.loads(trace.report("plan", json=True, peak_budget=1))["all_layers"]
    for count, other in (("one", ""), ("two", str(folder / f"{name}.all.peak"))):
        sets = [(layers, real) for layers, real in said["peaks"] if layers]
        errors = [(predicted(trace, known, layers, other) - real, real) for layers, real in sets]
        low, high = min(errors)[0], max(errors)[0]
        exact = sum(error == 0 for error, _ in errors)
        largest = max((error / real for error, real in errors), key=abs)
        rows.append(
            f"| {name} | {len(sets)} | {count} | {exact} | {low:+,} to {high:+,} bytes |"
            f" {largest * 100:+.2f} % |"
        )
        lowest = low
    return rows, lowest


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--subsets", default="20")
    parser.add_argument("--models", default="")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    names = [name for name in args.models.split(",") if name]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        said = json.loads(run(folder, args.subsets, *names))
        run(folder, "all", *names)
        found = [rows_of(folder, name, one) for name, one in said.items()]
    text = HEAD + "".join(f"{row}\n" for rows, _ in found for row in rows)
    if args.out:
        args.out.write_text(text, encoding="utf-8")
    print(text, end="")
    return 0 if all(lowest >= -SLACK for _, lowest in found) else 1


if __name__ == "__main__":
    sys.exit(main())
