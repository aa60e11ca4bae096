"""``peakline run``: run a program unchanged and record its GPU memory."""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from peakline.commands.running.hold_option import add_hold_argument, problem_of_hold
from peakline.commands.running.ranks import Job, Ranks, device_count, parse_ranks
from peakline.commands.running.run_end import RunEnd, kernel_kills, read_notes
from peakline.commands.running.simulation import (
    add_simulation_arguments,
    add_steps_argument,
    check_simulation,
    is_device_name,
    notes_of_program,
)
from peakline.commands.shared.common import recorder
from peakline.commands.shared.report_options import row_count
from peakline.commands.shared.trace_files import room_for, shown_name
from peakline.native_build import (
    NATIVE_FOLDER,
    PACKAGE_FOLDER,
    BuildError,
    TorchInstallation,
    ensure_simulated_gpu,
    ensure_torch_part,
    ensure_values_companion,
    find_torch,
    simulated_devices,
)

NAME = "run"
HELP = "Run a program unchanged and record which lines hold the GPU memory."
EXAMPLES = (
    "peakline run train.py --epochs 1\n"
    "peakline run -o big.peak --simulate h200 train.py\n"
    "peakline run -- torchrun --nproc-per-node 2 train.py"
)

_LAUNCHERS = ("torch.distributed", "accelerate", "deepspeed")
_FORWARDED_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


@dataclass
class Plan:
    """What will be executed, and how."""

    command: list[str]
    environment: dict[str, str]
    run_id: str
    output: str
    program: list[str] = field(default_factory=list)  # as given: script or -m module, arguments
    is_python: bool = True
    recorded: bool = True
    ranks: Ranks | None = None
    guards_checkpoints: bool = False
    notes: list[str] = field(default_factory=list)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``peakline run``."""
    backends, stacks = recorder().BACKENDS, recorder().STACKS
    parser.usage = (
        "peakline run [options] (SCRIPT.py | -m MODULE | -c CODE | [--] COMMAND) [ARGUMENTS ...]"
    )
    parser.add_argument(
        "-o",
        "--output",
        default="",
        metavar="NAME",
        help="Write this trace file; %%h host, %%p process id, %%r rank, %%e script "
        "(default: peakline-<script>.<host>.<rank or pid>.peak)",
    )
    parser.add_argument(
        "-f", "--force", action="store_true", help="Replace an existing trace file (with -o)"
    )
    parser.add_argument(
        "--simulate",
        metavar="DEVICE",
        default="",
        help="Run on a simulated GPU: h200, a100-80, h200x8, h100:40GiB (another size)",
    )
    parser.add_argument(
        "--world",
        type=int,
        metavar="N",
        help="Run the program as one rank of a job of N ranks (with --simulate)",
    )
    parser.add_argument("--rank", metavar="R", help="Run this rank of --world (default: 0)")
    parser.add_argument(
        "--ranks", metavar="LIST", help="Run several ranks of --world, one trace each: 0,7,56-63"
    )
    add_simulation_arguments(parser)
    add_steps_argument(parser)
    add_hold_argument(parser)
    parser.add_argument("--no-record", action="store_true", help="Simulate only, write no trace")
    parser.add_argument(
        "--backend", choices=backends, default=backends[0], help="Choose how to intercept"
    )
    parser.add_argument(
        "--stacks",
        choices=stacks,
        default=stacks[0],
        help=f"Record these stacks (default: {stacks[0]})",
    )
    parser.add_argument(
        "--frees",
        action="store_true",
        help="Also record which lines free memory, for table --by freed-by and tensors (costs one"
        " extra stack capture per free)",
    )
    parser.add_argument(
        "--keep",
        default="all",
        metavar="WHAT",
        help="Keep this much in the file: all (every event), last:SIZE (the newest events, such as "
        "last:2GiB), peak (peaks of devices and phases, a few MB however long the run)",
    )
    parser.add_argument(
        "--html", action="store_true", help="Also write the page of peakline html, beside the trace"
    )
    parser.add_argument(
        "-q",
        "--quiet",
        action="store_true",
        help="Print nothing at the end except the name of the trace",
    )
    parser.add_argument(
        "--top",
        type=row_count,
        default=10,
        metavar="N",
        help="Show N rows at the end, 0 for all (default: 10)",
    )
    parser.add_argument(
        "--python",
        metavar="PATH",
        default="",
        help="Use this Python, which has torch (default: the one of peakline)",
    )
    remainder: dict[str, Any] = {"nargs": argparse.REMAINDER, "help": argparse.SUPPRESS}
    parser.add_argument("-m", dest="module", **remainder)
    parser.add_argument("-c", dest="code", **remainder)
    parser.add_argument("program", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    """Run the program; returns its exit code, or 2 when it cannot be run as asked."""
    if args.module is not None:
        args.program = ["-m", *args.module]
    elif args.code is not None:
        args.program = ["-c", *args.code]
    problem = check_arguments(args)
    if problem:
        print(f"peakline: error: {problem}", file=sys.stderr)
        return 2
    try:
        plan = make_plan(args)
    except BuildError as error:
        print(f"peakline: error: {error}", file=sys.stderr)
        return 2
    for note in plan.notes:
        print(f"peakline: {note}", file=sys.stderr)
    replaced = Path(args.output) if plan.recorded and args.force and args.output else None
    try:
        with room_for(replaced) if replaced else nullcontext():
            status = run_and_report(args, plan)
    except OSError as error:
        print(f"peakline: error: cannot run {plan.command[0]}: {error.strerror}", file=sys.stderr)
        return 127 if isinstance(error, FileNotFoundError) else 126
    if status < 0:
        end_by_signal(-status)
    return status


def run_and_report(args: argparse.Namespace, plan: Plan) -> int:
    """Execute the plan and say what was recorded; returns the status as `execute` does.

    Raises:
        OSError: the command cannot be run.
    """
    started = time.time()
    with tempfile.TemporaryDirectory(prefix="peakline-run-") as folder:
        notes = Path(folder) / "notes"
        if plan.recorded:
            notes.touch()
            plan.environment["PEAKLINE_RUN_NOTES"] = str(notes)
        with notes_of_program(
            plan.environment,
            guards_checkpoints=plan.guards_checkpoints,
            notes_reads=bool(args.simulate) and not plan.recorded,
            shows_reads=not args.quiet,
        ):
            kills = kernel_kills()
            status = execute(plan, says_where=plan.recorded and not args.quiet)
        kills = kernel_kills() - kills
        end = RunEnd(status, bool(args.simulate), args.program, read_notes(notes), kills)
    if plan.recorded:
        from peakline.commands.running import after_run

        paths = after_run.find_traces(plan.run_id, plan.output, started)
        if args.assume:
            after_run.report_unmatched(paths, args.assume)
        page = after_run.write_page(paths, force=args.force) if args.html and paths else ""
        if args.quiet:
            after_run.name_files(paths, page)
        else:
            after_run.report(paths, end, args.top, page)
    return status


def end_by_signal(number: int) -> None:
    """End as the program ended, so that our caller sees what it would have seen."""
    # The program has left its core file, if any; ours would replace it.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    sys.stdout.flush()
    os.kill(os.getpid(), number)


def check_arguments(args: argparse.Namespace) -> str:
    """Return what is wrong with the arguments, or ''."""
    if not args.program or args.program in (["--"], ["-m"], ["-c"]):
        return "nothing to run: peakline run SCRIPT.py, -m MODULE, -c CODE or -- COMMAND"
    script = args.program[0]
    if script.endswith(".py") and not Path(script).exists():
        return f"{script} does not exist: give the path of the script"
    if args.python and shutil.which(args.python) is None:
        return f"{args.python} cannot be run: name the Python that has torch with --python"
    fixed_name = args.output and "%" not in args.output
    if fixed_name and Path(args.output).exists() and not args.force and not args.no_record:
        return f"{args.output} exists: name another file with -o, or add --force to replace it"
    if problem := recorder().keep_problem(args.keep):
        return f"--keep {args.keep} {problem}"
    if args.no_record and not args.simulate:
        return "--no-record needs --simulate: without both there is nothing to do"
    if args.no_record and args.html:
        return "--html shows what was recorded: leave --no-record out"
    if problem := problem_of_hold(args.hold):
        return problem
    if args.hold and args.no_record:
        return "--hold records what it finds: leave --no-record out"
    if args.steps is not None and args.steps < 1:
        return f"--steps {args.steps}: a program can end after 1 step at the earliest"
    simulation_problem = check_simulation(args)
    if simulation_problem:
        return simulation_problem
    if args.simulate and not is_device_name(args.simulate, simulated_devices()):
        known = ", ".join(simulated_devices())
        return (
            f"no device profile is called '{args.simulate}'; known are: {known}; "
            "also several of one (h200x8) and another size (h200:80GiB)"
        )
    return _check_ranks(args)


def _check_ranks(args: argparse.Namespace) -> str:
    if args.world is None:
        chosen = "--rank" if args.rank is not None else "--ranks"
        is_wrong = args.rank is not None or args.ranks is not None
        return f"{chosen} needs --world N, the number of ranks of the job" if is_wrong else ""
    if not args.simulate:
        return "--world needs --simulate: ranks that do not exist need a simulated GPU"
    if args.world < 1:
        return f"--world {args.world}: a job has at least one rank"
    if args.rank is not None and args.ranks is not None:
        return "--rank and --ranks say the same: give one of them"
    words = [word for word in args.program if word != "--"]
    if words and Path(words[0]).name in ("torchrun", "accelerate", "deepspeed", "mpirun"):
        return (
            f"--world runs one rank by itself: give the script, not {Path(words[0]).name} "
            "(to run all ranks on this machine, leave --world away)"
        )
    try:
        parse_ranks(_rank_list(args), args.world)
    except ValueError as error:
        return str(error)
    return ""


def _rank_list(args: argparse.Namespace) -> str:
    return str(args.ranks if args.ranks is not None else args.rank or "0")


def make_plan(args: argparse.Namespace) -> Plan:
    """Decide the command and its environment; builds what the program's torch needs.

    Raises:
        BuildError: the simulated GPU was asked for and cannot be built.
    """
    python = args.python or sys.executable
    command = program_command(list(args.program), python)
    plan = Plan(
        command=command,
        program=list(args.program),
        is_python=command[0] == python,
        environment=dict(os.environ),
        run_id=uuid.uuid4().hex,
        output=args.output,
        recorded=not args.no_record,
    )
    torch = _find_torch_or_note(plan, python)
    preload: list[str] = []
    if plan.recorded:
        preload.append(str(NATIVE_FOLDER / "libpeakline_preload.so"))
        _set_recording(plan, args, torch)
    if args.simulate:
        if torch is None:
            raise BuildError(f"--simulate needs torch, and {python} has none")
        preload += _set_simulation(plan, args, torch)
    if args.steps is not None:
        plan.environment["PEAKLINE_STEPS"] = str(args.steps)
    if args.simulate or args.steps is not None:
        add_startup(plan)
    if args.world is not None:
        chosen = parse_ranks(_rank_list(args), args.world)
        plan.ranks = Ranks(chosen, args.world, device_count(args.simulate))
    if previous := plan.environment.get("LD_PRELOAD"):
        preload.append(previous)
    plan.environment["LD_PRELOAD"] = ":".join(preload)
    return plan


def add_startup(plan: Plan) -> None:
    """Let the program's Python start with the startup folder, if it does not already."""
    startup = str(PACKAGE_FOLDER / "startup")
    given = plan.environment.get("PYTHONPATH")
    if given is None or given.split(os.pathsep)[0] != startup:
        plan.environment["PYTHONPATH"] = _joined(startup, given)


def program_command(program: Sequence[str], python: str) -> list[str]:
    """Turn what follows the options into a command: scripts, -m and -c go to Python."""
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


def _find_torch_or_note(plan: Plan, python: str) -> TorchInstallation | None:
    try:
        return find_torch(python)
    except BuildError as error:
        plan.notes.append(str(error))
        return None


def _set_recording(plan: Plan, args: argparse.Namespace, torch: TorchInstallation | None) -> None:
    plan.environment.update(
        PEAKLINE_OUTPUT=args.output,
        PEAKLINE_RUN_ID=plan.run_id,
        PEAKLINE_BACKEND=args.backend,
        PEAKLINE_STACKS=args.stacks,
        PEAKLINE_FREES="1" if args.frees else os.environ.get("PEAKLINE_FREES", ""),
        PEAKLINE_KEEP=args.keep,
        PEAKLINE_HOLD=args.hold,
    )
    if torch is None or args.backend == "observe":
        return
    try:
        ensure_torch_part(torch)
    except BuildError as error:
        plan.notes.append(f"{error}\nRecording with the 'observe' backend.")


def _set_simulation(plan: Plan, args: argparse.Namespace, torch: TorchInstallation) -> list[str]:
    device = args.simulate
    folder = ensure_simulated_gpu(torch)
    plan.environment.update(
        PEAKLINE_SIM_DEVICE=device,
        PEAKLINE_SIMULATED=device,
        TRITON_LIBCUDA_PATH=str(folder),
        PEAKLINE_SIM_COMPANION=_values_companion(plan, torch),
    )
    if args.assume:
        given = plan.environment.get("PEAKLINE_ASSUME", "")
        plan.environment["PEAKLINE_ASSUME"] = "\n".join(filter(None, [given, *args.assume]))
    if args.max_value_reads is not None:
        plan.environment["PEAKLINE_MAX_VALUE_READS"] = str(args.max_value_reads)
    plan.notes.append(f"simulated GPU {device}: sizes are real, numbers are not (all zero)")
    simulated = [str(folder / name) for name in (folder / "preload.txt").read_text().split()]
    guard = NATIVE_FOLDER / "libpeakline_guard.so"
    plan.guards_checkpoints = not args.allow_writes
    return [str(guard), *simulated] if plan.guards_checkpoints else simulated


def _joined(first: str, rest: str | None) -> str:
    return f"{first}{os.pathsep}{rest}" if rest else first


def _values_companion(plan: Plan, torch: TorchInstallation) -> str:
    # Set and empty: without it operators are not watched, which benchmarks need.
    if "PEAKLINE_SIM_COMPANION" in plan.environment:
        return plan.environment["PEAKLINE_SIM_COMPANION"]
    try:
        return str(ensure_values_companion(torch))
    except BuildError as error:
        plan.notes.append(f"{error}\nSmall values are not computed, reads are not listed.")
        return ""


def execute(plan: Plan, *, says_where: bool = False) -> int:
    """Run the command and return its status; negative: minus the signal that ended it."""
    if plan.ranks is not None:
        _say_where(plan, None, says_where)
        job = Job(plan.command, plan.environment, plan.ranks)
        with _signals_to(job):
            return job.run()
    with subprocess.Popen(plan.command, env=plan.environment) as process, _signals_to(process):
        _say_where(plan, process.pid, says_where)
        return process.wait()


def _say_where(plan: Plan, process: int | None, is_wanted: bool) -> None:
    if not is_wanted:
        return
    # Other programs, and launchers, start several that use the GPU, or none.
    starts_others = plan.program[0] == "-m" and plan.program[1].startswith(_LAUNCHERS)
    own_process = process if plan.is_python and not starts_others else None
    name = shown_name(plan.output, plan.program, plan.environment, own_process)
    print(f"peakline: recording to {name}", file=sys.stderr, flush=True)


@contextmanager
def _signals_to(process: subprocess.Popen[bytes] | Job) -> Iterator[None]:
    # Ctrl-C reaches the program from the terminal itself: we only must not die before it.
    previous = {signal.SIGINT: signal.signal(signal.SIGINT, signal.SIG_IGN)}
    for number in _FORWARDED_SIGNALS:
        previous[number] = signal.signal(number, lambda n, _frame: process.send_signal(n))
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
