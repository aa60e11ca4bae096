"""Plans the execution of ``peakline run``: the command, its environment, preloaded libraries."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from peakline.api import assumptions
from peakline.base.engine import recorder
from peakline.builds.native_build import (
    NATIVE_FOLDER,
    PACKAGE_FOLDER,
    BuildError,
    TorchInstallation,
    ensure_torch_part,
    find_torch,
)
from peakline.builds.shipped import PRELOAD_LIST
from peakline.builds.simulated_build import (
    ensure_blank_weights,
    ensure_simulated_gpu,
    ensure_values_companion,
)
from peakline.launch.options import RunOptions
from peakline.launch.output_name import absolute_template, is_no_file, with_slash
from peakline.launch.ranks import Ranks


@dataclass
class Plan:
    """The planned command and its environment."""

    command: list[str]
    environment: dict[str, str]
    run_id: str
    output: str
    program: list[str] = field(default_factory=list)  # as typed: script or -m module, arguments
    is_python: bool = True
    has_torch: bool = True
    recorded: bool = True
    ranks: Ranks | None = None
    guards_checkpoints: bool = False
    notes: list[str] = field(default_factory=list)


def make_plan(options: RunOptions) -> Plan:
    """Return the command and its environment; builds the parts for the program's torch.

    Raises:
        BuildError: the requested simulated GPU cannot be built.
        ValueError: the options name ranks that the job does not have.
    """
    python = options.python or sys.executable
    command = program_command(list(options.program), python)
    plan = Plan(
        command=command,
        program=list(options.program),
        is_python=command[0] == python,
        environment=dict(os.environ),
        run_id=_run_id(),
        output=with_slash(options.output),
        recorded=options.is_recorded,
        ranks=options.job(),
    )
    if plan.recorded and is_no_file(options.output):
        plan.recorded = False
        plan.notes.append(f"-o {options.output}: no trace is written")
    torch = _find_torch_or_note(plan, python)
    plan.has_torch = torch is not None
    preload: list[str] = []
    if plan.recorded:
        preload.append(str(NATIVE_FOLDER / "libpeakline_preload.so"))
        _set_recording(plan, options, torch)
    if options.simulate:
        if torch is None:
            raise BuildError(f"--simulate needs torch, and {python} has none")
        preload += _set_simulation(plan, options, torch)
    if options.steps is not None:
        plan.environment["PEAKLINE_STEPS"] = options.steps
    if options.simulate or options.steps is not None or options.report_on_signal:
        add_startup(plan)
    if previous := plan.environment.get("LD_PRELOAD"):
        preload.append(previous)
    plan.environment["LD_PRELOAD"] = ":".join(preload)
    return plan


def add_startup(plan: Plan) -> None:
    """Make the program's Python load the startup folder, unless it already does."""
    startup = str(PACKAGE_FOLDER / "startup")
    given = plan.environment.get("PYTHONPATH")
    if given is None or given.split(os.pathsep)[0] != startup:
        plan.environment["PYTHONPATH"] = _joined(startup, given)


def program_command(program: Sequence[str], python: str) -> list[str]:
    """Turn the words after the options into a command: scripts, -m and -c run with Python."""
    words = list(program)
    if words[0] == "--":
        return words[1:]
    first = words[0]
    if (
        first in ("-m", "-c")
        or first.endswith((".py", ".pyc"))
        or Path(first, "__main__.py").exists()
    ):
        return [python, *words]
    if shutil.which(first) is None and Path(first).is_file():
        return [python, *words]
    return words


def _run_id() -> str:
    """Return the run id of 32 hex digits: the given one, or one that all ranks of a job share."""
    given = os.environ.get("PEAKLINE_RUN_ID", "")
    if re.fullmatch("[0-9a-f]{32}", given):
        return given
    job = recorder().job_of_rank()
    return uuid.uuid5(uuid.NAMESPACE_OID, job).hex if job else uuid.uuid4().hex


def _find_torch_or_note(plan: Plan, python: str) -> TorchInstallation | None:
    try:
        return find_torch(python)
    except BuildError as error:
        plan.notes.append(str(error))
        return None


def _set_recording(plan: Plan, options: RunOptions, torch: TorchInstallation | None) -> None:
    backend = options.backend or recorder().BACKENDS[0]
    plan.environment.update(
        PEAKLINE_OUTPUT=absolute_template(plan.output),
        PEAKLINE_RUN_ID=plan.run_id,
        PEAKLINE_BACKEND=backend,
        PEAKLINE_STACKS=options.stacks or recorder().STACKS[0],
        PEAKLINE_KEEP=options.keep,
        PEAKLINE_HOLD=options.hold,
        PEAKLINE_REPORT_ON_SIGNAL="1" if options.report_on_signal else "",
    )
    # Users may set these for every run of a shell.
    for name, value in (
        ("PEAKLINE_FREES", "1" * options.frees),
        ("PEAKLINE_SAVED", "1" * options.saved),
        ("PEAKLINE_CPU", "1" * options.cpu),
        ("PEAKLINE_FILE_MODE", options.mode),
        ("PEAKLINE_NO_COMMAND", "1" * options.no_command),
    ):
        plan.environment[name] = value or plan.environment.get(name, "")
    if torch is None or backend == "observe":
        return
    try:
        ensure_torch_part(torch)
    except BuildError as error:
        plan.notes.append(f"{error}\nRecording with the 'observe' backend.")


def _set_simulation(plan: Plan, options: RunOptions, torch: TorchInstallation) -> list[str]:
    device = options.simulate
    folder = ensure_simulated_gpu(torch)
    plan.environment.update(
        PEAKLINE_SIM_DEVICE=device,
        PEAKLINE_SIMULATED=device,
        TRITON_LIBCUDA_PATH=str(folder),
        PEAKLINE_SIM_COMPANION=_values_companion(plan, torch),
    )
    outer = plan.environment.get("CUDA_VISIBLE_DEVICES")  # it means the devices of this machine
    if outer is not None:
        plan.environment["PEAKLINE_SIM_OUTER_VISIBLE"] = outer
    # Kernels that were timed here are the fastest of nothing: a real GPU must not find them.
    tuned = Path(tempfile.gettempdir(), f"torchinductor_simulated_{os.getuid()}")
    plan.environment.setdefault("TORCHINDUCTOR_CACHE_DIR", str(tuned))
    if options.assume:
        given = plan.environment.get("PEAKLINE_ASSUME", "")
        rules = map(assumptions.with_whole_path, options.assume)
        plan.environment["PEAKLINE_ASSUME"] = "\n".join(filter(None, [given, *rules]))
    if options.max_value_reads is not None:
        plan.environment["PEAKLINE_MAX_VALUE_READS"] = str(options.max_value_reads)
    if options.blank_weights:
        plan.environment["PEAKLINE_BLANK_WEIGHTS"] = str(ensure_blank_weights(torch))
    plan.notes.append(f"simulated GPU {device}: sizes are real, numbers are not (all zero)")
    simulated = [str(folder / name) for name in (folder / PRELOAD_LIST).read_text().split()]
    guard = NATIVE_FOLDER / "libpeakline_guard.so"
    plan.guards_checkpoints = not options.allow_writes
    return [str(guard), *simulated] if plan.guards_checkpoints else simulated


def _joined(first: str, rest: str | None) -> str:
    return f"{first}{os.pathsep}{rest}" if rest else first


def _values_companion(plan: Plan, torch: TorchInstallation) -> str:
    # Set to empty, no companion is loaded and operators are not watched, which benchmarks need.
    if "PEAKLINE_SIM_COMPANION" in plan.environment:
        return plan.environment["PEAKLINE_SIM_COMPANION"]
    try:
        return str(ensure_values_companion(torch))
    except BuildError as error:
        plan.notes.append(f"{error}\nSmall values are not computed, reads are not listed.")
        return ""
