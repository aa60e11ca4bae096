"""Runs the parts of the check: see gpu-check.sh, which starts it.

    check.py [PART...] [--simulate DEVICE] [--minutes N] [--jobs N] [--results FOLDER]

Exit status: 0 what ran passed, 1 something failed, 2 bad use.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from parts import PARTS
from running import SOURCE, Outcome, Session

PAGE_LINES = 60  # of one part
_FACTS = """
import json, torch
there = torch.cuda.is_available()
print(json.dumps({"torch": torch.__version__, "cuda": torch.version.cuda,
                  "gpu": torch.cuda.get_device_name() if there else ""}))
"""


def machine_facts(simulate: str) -> dict[str, Any]:
    """What figures of this run are of."""
    asked = subprocess.run(
        [sys.executable, "-c", _FACTS], capture_output=True, text=True, check=False
    )
    if asked.returncode != 0:
        sys.exit(f"gpu-check: {sys.executable} cannot import torch: name another with PYTHON=")
    driver = subprocess.run(
        "nvidia-smi --query-gpu=driver_version --format=csv,noheader",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    facts: dict[str, Any] = json.loads(asked.stdout.strip().splitlines()[-1])
    manifest = SOURCE.parent / "manifest.json"
    commit = json.loads(manifest.read_text())["commit"] if manifest.exists() else "a checkout"
    more = {"python": platform.python_version(), "cores": os.cpu_count(), "driver": driver}
    return {**facts, **more, "simulated": simulate, "peakline": commit}


def run_part(name: str, session: Session, facts: dict[str, Any]) -> Outcome:
    """Run a part, write and print what it found."""
    begin = time.monotonic()
    outcome = PARTS[name].run(session)
    seconds = round(time.monotonic() - begin, 1)
    document = {
        "part": name,
        "passed": outcome.passed,
        "seconds": seconds,
        "machine": facts,
        "facts": outcome.facts,
    }
    (session.results / f"{name}.json").write_text(json.dumps(document, indent=1) + "\n")
    device = f"simulated {session.simulate}" if session.simulate else facts["gpu"]
    page = [f"{name}: {word(outcome.passed)} in {seconds} s on {device}", ""]
    page += outcome.page[: PAGE_LINES - 3]
    if len(outcome.page) > PAGE_LINES - 3:
        page.append(f"({len(outcome.page) - PAGE_LINES + 3} more lines; see {name}.json)")
    (session.results / f"{name}.txt").write_text("\n".join(page) + "\n")
    print("\n".join(page), end="\n\n", flush=True)
    return outcome


def word(passed: bool | None) -> str:
    """The verdict in a word."""
    return {True: "passed", False: "FAILED", None: "not known"}[passed]


def write_summary(results: Path) -> list[str]:
    """One line for each part that has run here, this time or before."""
    lines = []
    for name in PARTS:
        file = results / f"{name}.json"
        if file.exists():
            found = json.loads(file.read_text())
            lines.append(f"{name:18} {word(found['passed']):10} {found['seconds']:6.1f} s")
        else:
            lines.append(f"{name:18} not run")
    (results / "summary.txt").write_text("\n".join(lines) + "\n")
    return lines


def main() -> int:
    """Run what is named."""
    parser = argparse.ArgumentParser(prog="gpu-check", description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--list", action="store_true", help="list the parts and end")
    parser.add_argument("--simulate", default="", metavar="DEVICE", help="h200, say: without a GPU")
    parser.add_argument("--minutes", type=float, default=8, help="the most that a part may take")
    half = max(1, (os.cpu_count() or 2) // 2)
    parser.add_argument("--jobs", type=int, default=half, help="files of tests at the same time")
    parser.add_argument("--results", type=Path, default=Path("results"), metavar="FOLDER")
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(f"{name:18} {part.title}" for name, part in PARTS.items()))
        return 0
    unknown = [name for name in arguments.parts if name not in PARTS]
    if unknown:
        parser.error(f"no such part: {', '.join(unknown)}; the parts are {', '.join(PARTS)}")
    facts = machine_facts(arguments.simulate)
    if not facts["gpu"] and not arguments.simulate:
        parser.error("torch sees no GPU here; --simulate h200 checks on a simulated one")
    results = arguments.results.resolve()
    results.mkdir(parents=True, exist_ok=True)
    passed = True
    for name in arguments.parts or PARTS:
        # A little of the time is for writing results.
        deadline = time.monotonic() + 60 * arguments.minutes - 10
        outcome = run_part(
            name, Session(results, arguments.simulate, deadline, arguments.jobs), facts
        )
        passed = passed and outcome.passed is not False
    print("\n".join(write_summary(results)))
    print(f"Wrote {results}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
