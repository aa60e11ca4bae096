"""``peakline run``: run a program unchanged and record its GPU memory."""

from __future__ import annotations

import argparse
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

from peakline.base.faults import failing_alone
from peakline.base.output import say, say_error
from peakline.builds.native_build import BuildError
from peakline.commands.running.device_list import LIST, print_devices
from peakline.commands.running.misplaced_options import (
    hint_of_options_behind,
    misplaced,
)
from peakline.commands.running.run_arguments import add_arguments as add_arguments
from peakline.commands.running.run_arguments import options_of, problem_of_words
from peakline.launch.disk_saving import DiskSaving
from peakline.launch.host_memory import HostMemory
from peakline.launch.options import RunOptions
from peakline.launch.ranks import Job
from peakline.launch.run_end import RunEnd, file_identity, kernel_kills, read_notes
from peakline.launch.run_plan import Plan, make_plan
from peakline.launch.signal_reports import SignalReports
from peakline.launch.simulation import notes_of_program
from peakline.launch.trace_files import find_traces, room_for, shown_name

NAME = "run"
HELP = "Run a program unchanged; record which lines hold GPU memory."
EXAMPLES = (
    "peakline run train.py --epochs 1\n"
    "peakline run -o big.peak --simulate h200 train.py\n"
    "peakline run -- torchrun --nproc-per-node 2 train.py"
)

_LAUNCHERS = ("torch.distributed", "accelerate", "deepspeed")
_FORWARDED_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


def run(args: argparse.Namespace) -> int:
    """Run the program; returns its exit code, or 2 if it cannot be run."""
    if args.simulate == LIST:
        print_devices()
        return 0
    options = options_of(args)
    problem = problem_of_words(args, options)
    if problem:
        say(f"peakline: error: {problem}")
        return 2
    try:
        plan = make_plan(options)
    except BuildError as error:
        say_error(error)
        return 2
    for note in plan.notes:
        say(*f"peakline: {note}".split("\n"))
    behind = misplaced(options.program, args.own_options)
    if not options.quiet and (hint := hint_of_options_behind(options.program, behind)):
        say(f"peakline: {hint}")
        behind = []  # the end does not repeat it
    replaced = Path(options.output) if plan.recorded and options.force and options.output else None
    try:
        with room_for(replaced) if replaced else nullcontext():
            status = run_and_report(options, plan, behind)
    except OSError as error:
        say(f"peakline: error: cannot run {plan.command[0]}: {error.strerror}")
        return 127 if isinstance(error, FileNotFoundError) else 126
    if status < 0:
        end_by_signal(-status)
    return status


def run_and_report(options: RunOptions, plan: Plan, misplaced_words: Sequence[str]) -> int:
    """Execute the plan and report the recording; returns the status as `execute` does.

    Raises:
        OSError: the command cannot be run.
    """
    started = time.time()
    with tempfile.TemporaryDirectory(prefix="peakline-run-") as folder:
        notes = Path(folder) / "notes"
        plan.environment["PEAKLINE_STDERR"] = file_identity(2)
        if plan.recorded:
            notes.touch(0o600)
            plan.environment["PEAKLINE_RUN_NOTES"] = str(notes)
        with notes_of_program(
            plan.environment,
            guards_checkpoints=plan.guards_checkpoints,
            notes_reads=bool(options.simulate) and not plan.recorded,
            shows_reads=not options.quiet,
            device_group=options.device_group,
        ):
            kills = kernel_kills()
            reports = SignalReports(notes) if options.report_on_signal else None
            saving = DiskSaving() if plan.recorded else nullcontext()
            with reports or nullcontext(), saving, HostMemory() as host:
                says_where = plan.recorded and not options.quiet
                status = execute(plan, says_where=says_where, reports=reports)
        kills = kernel_kills() - kills
        end = RunEnd(
            status,
            bool(options.simulate),
            options.program,
            read_notes(notes),
            kills,
            options.cpu,
            options.waited_steps,
            misplaced_words,
            plan.has_torch,
            host.who_grew() if kills else "",
        )
    if options.host:
        with failing_alone("the host memory of this run was not written"):
            host.write(Path(options.host))
    for text in end.messages():
        say(f"peakline: {text}")
    if plan.recorded:
        from peakline.commands.running import after_run
        from peakline.runs.outlines import store_outlines, store_sources_of

        # Even if the report fails, the status is the program's.
        with failing_alone("the report of this run ends here"):
            paths = find_traces(plan.run_id, plan.output, started)
            with failing_alone("ranks will be compared without their outlines"):
                store_outlines(paths)
            if not options.no_source:
                with failing_alone("reports will read the program's files as they are then"):
                    store_sources_of(paths)
            if options.assume:
                with failing_alone("the matches of --assume are unknown"):
                    after_run.report_unmatched(paths, options.assume)
            page = (
                after_run.write_page(paths, force=options.force) if options.html and paths else ""
            )
            if options.quiet == 1:
                after_run.name_files(paths, page)
            elif not options.quiet:
                after_run.report(paths, end, options.top, page)
    return status


def end_by_signal(number: int) -> None:
    """End by the same signal as the program, so that our caller sees the program's status."""
    # The program has left its core file, if any; ours would replace it.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    sys.stdout.flush()
    os.kill(os.getpid(), number)


def execute(plan: Plan, *, says_where: bool = False, reports: SignalReports | None = None) -> int:
    """Run the command and return its status; minus the signal number if a signal ended it."""
    if plan.ranks is not None:
        _say_where(plan, None, says_where)
        job = Job(plan.command, plan.environment, plan.ranks)
        with _signals_to(job, reports):
            return job.run()
    with (
        subprocess.Popen(plan.command, env=plan.environment) as process,
        _signals_to(process, reports),
    ):
        _say_where(plan, process.pid, says_where)
        return process.wait()


def _say_where(plan: Plan, process: int | None, is_wanted: bool) -> None:
    if not is_wanted:
        return
    # Launchers and non-Python programs may start several processes that use the GPU, or none.
    starts_others = plan.program[0] == "-m" and plan.program[1].startswith(_LAUNCHERS)
    is_program = plan.is_python and not starts_others
    own_process = process if is_program and not _may_spawn(plan.program[0]) else None
    of_ranks = starts_others or plan.ranks is not None
    words = plan.program if is_program else []
    name = shown_name(plan.output, words, own_process, plan.run_id, of_ranks=of_ranks)
    say(f"peakline: recording to {name}")


def _may_spawn(script: str) -> bool:
    """Return whether a script may start processes that use the GPU, with other process ids."""
    try:
        return b"multiprocessing" in Path(script).read_bytes()
    except OSError:
        return False


@contextmanager
def _signals_to(
    process: subprocess.Popen[bytes] | Job, reports: SignalReports | None
) -> Iterator[None]:
    # The terminal sends Ctrl-C to the program itself; we must only survive it.
    previous = {signal.SIGINT: signal.signal(signal.SIGINT, signal.SIG_IGN)}
    for number in _FORWARDED_SIGNALS:
        previous[number] = signal.signal(number, lambda n, _frame: process.send_signal(n))
    if reports is not None:
        child = process.pid if isinstance(process, subprocess.Popen) else None
        signal.signal(signal.SIGUSR2, lambda *_: reports.on_signal(child))
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
