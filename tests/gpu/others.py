"""Programs that use the device without torch: CuPy, JAX, and one of nvcc's, each where it is there.

Their memory is recorded by the library that asks for it, and the ledger closes: its parts and what
is unexplained sum to what the driver said to the program, and that is below 1 % of it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

from running import SOURCE, Outcome, Session

PROGRAMS = SOURCE / "tests" / "gpu" / "without_torch"
UNEXPLAINED_PERCENT = 1.0


def other_libraries(session: Session) -> Outcome:
    """Record each program and hold the ledger against what it said."""
    page, facts, passed = [], {}, True
    for name, words in programs(session).items():
        if not words:
            page.append(f"{name:10} is not here")
            continue
        facts[name] = found = check(session, name, words)
        passed = passed and not found["wrong"]
        page.append(f"{name:10} {'; '.join(found['wrong']) or 'as it says'}")
        page += [f"    {line}" for line in found["ledger"]]
    return Outcome(passed if facts else None, page, facts)


def programs(session: Session) -> dict[str, list[str]]:
    """What to type for each; [] where it cannot be had here."""
    words = {}
    for name, script in (("cupy", "cupy_arrays.py"), ("jax", "jax_arrays.py")):
        here = session.run("-c", f"import {name}").status == 0
        words[name] = [str(PROGRAMS / script)] if here else []
    program = session.results / "runtime_blocks"
    words["runtime"] = ["--", str(program)] if compiled(program) else []
    return words


def compiled(program: Path) -> bool:
    """Whether nvcc is here and made the program."""
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if nvcc is None:
        return False
    source = PROGRAMS / "runtime_blocks.cu"
    done = subprocess.run([nvcc, "-g", "-o", str(program), str(source)], check=False)
    return done.returncode == 0


def check(session: Session, name: str, words: list[str]) -> dict[str, Any]:
    """What is wrong with the recording of a program, and its ledger."""
    trace = session.results / f"others-{name}.peak"
    done = session.recorded(trace, [], *words)
    documents = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.status != 0 or not documents:
        return {"wrong": [f"status {done.status}: {done.last_words}"], "ledger": []}
    said = json.loads(documents[-1])
    summary = session.peakline("summary", "--json", str(trace))
    if summary.status != 0:
        return {"wrong": [f"no trace: {summary.last_words}"], "ledger": [], "said": said}
    # The clock of the program counts from the start of the machine, --at from that of the trace.
    seconds = (said["monotonic_ns"] - json.loads(summary.stdout)["start_monotonic_ns"]) / 1e9
    asked = session.peakline("ledger", "--json", "--at", f"{seconds:.6f}", str(trace))
    shown = session.peakline("ledger", "--at", f"{seconds:.6f}", str(trace))
    table = session.peakline("table", str(trace))
    if asked.status != 0:
        return {"wrong": [f"no ledger: {asked.last_words}"], "ledger": [], "said": said}
    ledger = json.loads(asked.stdout)
    return {
        "wrong": differences(said, ledger),
        "ledger": [*shown.stdout.splitlines(), *table.stdout.splitlines()[:12]],
        "said": said,
        "document": ledger,
    }


def differences(said: dict[str, Any], ledger: dict[str, Any]) -> list[str]:
    """Where the ledger does not say what the program does."""
    wrong = []
    parts, used = ledger["parts"], said["used_bytes"]
    if ledger["device_used_bytes"] != used:
        wrong.append(f"used: {ledger['device_used_bytes']}, the program says {used}")
    unexplained = ledger["unexplained_bytes"]
    if sum(part["bytes"] for part in parts) + unexplained != ledger["device_used_bytes"]:
        wrong.append("the parts do not sum")
    if abs(unexplained) > used * UNEXPLAINED_PERCENT / 100:
        wrong.append(f"unexplained: {unexplained}")
    libraries = [part for part in parts if part["kind"] in ("library", "pool")]
    held = sum(part["bytes"] for part in libraries if said["library"] in part["name"])
    if held < said["held_bytes"]:
        wrong.append(f"held by request: {held}, the program says {said['held_bytes']}")
    return wrong
