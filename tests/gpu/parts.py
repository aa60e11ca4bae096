"""The parts of the check: what each runs and what it must find. Listed in PARTS at the end."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from others import other_libraries
from running import SOURCE, Done, Outcome, Session, run_test_files

E2E = SOURCE / "tests" / "e2e"
EXACT = ("test_exact_*", "test_ways_in", "test_backends")
ATTRIBUTION = (
    "test_attribution_*",
    "test_backward_*",
    "test_calls",
    "test_frees",
    "test_inference",
    "test_lifetimes",
    "test_objects",
    "test_phases",
    "test_user_frames",
)
# They compile peakline itself, which the bundle holds ready.
OF_A_CHECKOUT = ("test_installed", "test_native_stacks")
BACKENDS = ("delegate", "observe")
OVERHEAD_MODES = ("peakline python", "peakline all", "torch python/all", "torch all/all")


def test_files(patterns: tuple[str, ...]) -> list[Path]:
    """The files of end-to-end tests that match."""
    return sorted({file for pattern in patterns for file in E2E.glob(f"{pattern}.py")})


def other_test_files() -> list[Path]:
    """All end-to-end tests that are of no other part."""
    named = {*test_files(EXACT), *test_files(ATTRIBUTION), *test_files(OF_A_CHECKOUT)}
    return [file for file in test_files(("test_*",)) if file not in named]


def unrecorded(session: Session, *program: str) -> Done:
    """Run a program with the device but without peakline's recorder."""
    bare = ["-m", "peakline", "run", "-q", "--no-record", *session.device()]
    return session.run(*(bare if session.simulate else []), *program)


def table_of(session: Session, trace: Path) -> dict[str, Any]:
    """The table of a trace; {} where there is none."""
    done = session.peakline("table", "--json", str(trace))
    return json.loads(done.stdout) if done.status == 0 else {}


def smoke(session: Session) -> Outcome:
    """The demo on this device: peakline's peak is torch's own, by every backend."""
    doctor = session.peakline("doctor", "--build")
    page, facts, passed = doctor.stdout.splitlines(), {}, doctor.status == 0
    script = str(SOURCE / "examples" / "train_gpt2.py")
    for backend in BACKENDS:
        trace = session.results / f"smoke-{backend}.peak"
        done = session.recorded(trace, ["--backend", backend], script)
        counted = re.search(r"max_memory_allocated: (\d+)", done.stdout)
        torch_bytes = int(counted[1]) if counted else None
        table = table_of(session, trace)
        rows = sum(row["bytes"] for row in table.get("rows", []))
        ours = table.get("peak_bytes")
        agrees = torch_bytes is not None and torch_bytes == ours == rows
        passed = passed and agrees
        facts[backend] = {"torch": torch_bytes, "peakline": ours, "rows": rows}
        page.append(f"{backend:10} torch {torch_bytes}, peakline {ours}, rows {rows}")
        page += [] if agrees else [f"    {done.last_words}"]
    table = session.peakline("table", str(session.results / "smoke-delegate.peak"))
    return Outcome(passed, [*page, "", *table.stdout.splitlines()], facts)


def out_of_memory(session: Session) -> Outcome:
    """A program that runs out of memory ends as it does without recording, and has its peak."""
    script = str(SOURCE / "tests" / "gpu" / "runs_out.py")
    page, facts, passed = [], {}, True
    for how in ("caught", "uncaught"):
        trace = session.results / f"oom-{how}.peak"
        with_us = session.recorded(trace, [], script, how)
        without = unrecorded(session, script, how)
        peak = table_of(session, trace).get("peak_bytes")
        error = [last_error(done) for done in (with_us, without)]
        agrees = with_us.status == without.status and with_us.stdout == without.stdout
        agrees = agrees and error[0] == error[1] and peak is not None
        if how == "caught" and with_us.status == 0:
            agrees = agrees and json.loads(with_us.stdout)["peak_bytes"] == peak
        passed = passed and agrees
        facts[how] = {"status": with_us.status, "peak_bytes": peak, "error": error[0]}
        page.append(f"{how:10} status {with_us.status} and {without.status}, peak {peak}")
        page += [f"    with:    {error[0]}", f"    without: {error[1]}"]
    return Outcome(passed, page, facts)


def last_error(done: Done) -> str:
    """How the program's traceback ends, without what differs from process to process."""
    errors = [line for line in done.stderr.splitlines() if re.match(r"[\w.]+Error: ", line)]
    return errors[-1].split(". GPU")[0] if errors else ""


def overhead(model: str, session: Session) -> Outcome:
    """What recording adds to a training step, beside torch's own recorder."""
    bench = SOURCE / "tests" / "bench" / "bench_events.py"
    report = session.results / f"overhead-{model}-figures.json"
    report.unlink(missing_ok=True)
    minutes = session.remaining() / 60 - 2.5  # its last set begins within them
    options = ["--works", model, "--minutes", f"{minutes:.1f}", "--json", str(report)]
    done = session.run(str(bench), *options, "--modes", *OVERHEAD_MODES)
    if done.status != 0 or not report.exists():
        return Outcome(False, [*done.stdout.splitlines(), done.last_words])
    return Outcome(True, done.stdout.splitlines(), json.loads(report.read_text()))


def calibrate(session: Session) -> Outcome:
    """Measures what the simulated GPU must know of this device; writes calibration/*.json."""
    folder = session.results / "calibration"
    folder.mkdir(exist_ok=True)
    simgpu = SOURCE / "preload" / "simulate" / "gpu"
    for name in ("calibration.json", "profiles.json"):
        shutil.copy2(simgpu / name, folder / name)
    done = unrecorded(session, str(simgpu / "calibrate.py"), "--into", str(folder))
    page = [*done.stdout.splitlines(), *done.stderr.splitlines()[-10:]]
    return Outcome(done.status == 0, page, {"status": done.status})


def fidelity(models: str, session: Session) -> Outcome:
    """Peaks on the simulated GPU against those on this one."""
    script = SOURCE / "tests" / "fidelity" / "fidelity.py"
    out = session.results / f"fidelity-{models.split(',')[0]}.md"
    done = session.run(str(script), "--models", models, "--out", str(out))
    passed = {0: True, 3: None}.get(done.status if done.status is not None else 1, False)
    page = done.stdout.splitlines() or [done.last_words]
    return Outcome(passed, page, {"status": done.status, "table": page})


def workspaces(session: Session) -> Outcome:
    """Workspaces of cuDNN's convolutions here, beside the estimate."""
    script = SOURCE / "tests" / "fidelity" / "workspaces.py"
    report = session.results / "workspaces-figures.json"
    done = unrecorded(session, str(script), "resnet50", "unet", "--json", str(report))
    figures = json.loads(report.read_text()) if done.status == 0 else {}
    return Outcome(done.status == 0, done.stdout.splitlines() or [done.last_words], figures)


@dataclass(frozen=True)
class Part:
    """A part that can be run alone."""

    run: Callable[[Session], Outcome]
    title: str


PARTS = {
    "smoke": Part(smoke, "the demo; peak equals torch's"),
    "exact": Part(lambda session: run_test_files(session, test_files(EXACT)), "exact peaks"),
    "attribution": Part(
        lambda session: run_test_files(session, test_files(ATTRIBUTION)), "lines and names"
    ),
    "features": Part(
        lambda session: run_test_files(session, other_test_files()), "features of PyTorch"
    ),
    "oom": Part(out_of_memory, "running out of memory"),
    "others": Part(other_libraries, "CuPy, JAX and a program of nvcc's"),
    "calibrate": Part(calibrate, "what the simulated GPU must know"),
    "fidelity-1": Part(partial(fidelity, "gpt2,resnet50,vit,lstm"), "simulated and real peaks"),
    "fidelity-2": Part(partial(fidelity, "llama,bert,unet"), "simulated and real peaks"),
    "workspaces": Part(workspaces, "cuDNN's workspaces, convolution by convolution"),
    "overhead-gpt2": Part(partial(overhead, "gpt2"), "cost of recording"),
    "overhead-resnet50": Part(partial(overhead, "resnet50"), "cost of recording"),
    "overhead-llama": Part(partial(overhead, "llama"), "cost of recording"),
}
