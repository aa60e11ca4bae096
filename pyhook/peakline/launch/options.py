"""The options of `peakline run`, and the checks of them.

The command line fills them in; `fit` and `advise --try` make them for each of their runs. Problems
are sentences that name the option as it is typed.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from peakline.api import assumptions
from peakline.base.engine import recorder
from peakline.base.files import TRACE_ENDINGS
from peakline.base.next_commands import shell_words
from peakline.launch.device_group import problem_of_group
from peakline.launch.output_name import problem_of_output
from peakline.launch.ranks import Ranks, device_count, parse_ranks

_STEPS = re.compile(r"([0-9]+)\.\.([0-9]+)?")
_HOLD_WORDS = re.compile(r"[1-9][0-9]*|end|[0-9]+(?:\.[0-9]+)?s")
_LAUNCHERS = ("torchrun", "accelerate", "deepspeed", "mpirun")


@dataclass(frozen=True)
class RunOptions:
    """A program with its arguments and its run's options; docs/commands.md explains each option.

    ``backend`` and ``stacks``: "" is the recorder's default. ``simulate``: "" is the machine's own
    GPU. ``world``: the number of ranks of the program's job; ``ranks``: those that run, "" for rank
    0.
    """

    program: Sequence[str] = ()
    python: str = ""
    output: str = ""
    force: bool = False
    simulate: str = ""
    device_group: str = ""
    world: int | None = None
    ranks: str = ""
    assume: Sequence[str] = ()
    max_value_reads: int | None = None
    allow_writes: bool = False
    blank_weights: bool = False
    steps: str | None = None
    hold: str = ""
    is_recorded: bool = True
    backend: str = ""
    stacks: str = ""
    frees: bool = False
    saved: bool = False
    cpu: bool = False
    keep: str = "all"
    mode: str = ""
    no_command: bool = False
    no_source: bool = False
    report_on_signal: bool = False
    html: bool = False
    host: str = ""
    quiet: int = 0
    top: int = 10

    @property
    def waited_steps(self) -> int:
        """Number of steps before the recording begins."""
        found = _STEPS.fullmatch(self.steps or "")
        return int(found[1]) - 1 if found else 0

    def job(self) -> Ranks | None:
        """Return the ranks that run; None if the program is no rank of a job.

        Raises:
            ValueError: `ranks` is no list of ranks of the job.
        """
        if self.world is None:
            return None
        chosen = parse_ranks(self.ranks or "0", self.world)
        return Ranks(chosen, self.world, device_count(self.simulate))


def problem_of(options: RunOptions) -> str:
    """Return the problem of the options, or ''."""
    return (
        _problem_of_program(options)
        or _problem_of_recording(options)
        or _problem_of_simulation(options)
        or _problem_of_ranks(options)
    )


def _problem_of_program(options: RunOptions) -> str:
    if not options.program or list(options.program) in (["--"], ["-m"], ["-c"]):
        return "nothing to run: peakline run SCRIPT.py, -m MODULE, -c CODE or -- COMMAND"
    script = options.program[0]
    if script.endswith(".py") and not Path(script).exists():
        return f"{script} does not exist: give the path of the script"
    if script.endswith(TRACE_ENDINGS) and Path(script).is_file():
        return f"{script} is a trace; to show it: peakline table {shell_words([script])}"
    if Path(script).is_dir() and not Path(script, "__main__.py").exists():
        return f"{script} is a folder without __main__.py: give the path of a script"
    if options.python and shutil.which(options.python) is None:
        return f"{options.python} cannot be run: name the Python that has torch with --python"
    return ""


def _problem_of_recording(options: RunOptions) -> str:
    if options.mode and not re.fullmatch("0?[0246]{3}", options.mode):
        return f"--mode: '{options.mode}' is no mode of a file that is read: 0640, 0644"
    if options.host and (problem := problem_of_output(options.host, force=True)):
        return problem.replace("with -o", "with --host")
    if options.is_recorded:
        if problem := problem_of_output(options.output, force=options.force):
            return problem
    elif not options.simulate:
        return "--no-record needs --simulate: without both there is nothing to do"
    if problem := recorder().keep_problem(options.keep):
        return f"--keep {options.keep} {problem}"
    if problem := _problem_of_hold(options.hold):
        return problem
    if not options.is_recorded:
        for name, is_given, why in (
            ("--html", options.html, "shows what was recorded"),
            ("--cpu", options.cpu, "records CPU tensors"),
            ("--report-on-signal", options.report_on_signal, "reports what is recorded"),
            ("--hold", options.hold, "records what it finds"),
        ):
            if is_given:
                return f"{name} {why}: leave --no-record out"
    return _problem_of_steps(options.steps, is_recorded=options.is_recorded)


def _problem_of_simulation(options: RunOptions) -> str:
    if options.assume and not (options.simulate and options.is_recorded):
        return "--assume needs --simulate and a recording (no --no-record)"
    if options.max_value_reads is not None and not options.simulate:
        return "--max-value-reads needs --simulate"
    if options.blank_weights and not options.simulate:
        return "--blank-weights needs --simulate"
    if options.device_group and not options.simulate:
        return "--device-group needs --simulate: the processes of a real GPU share it anyway"
    if options.device_group and options.world is not None:
        return (
            "--device-group and --world exclude each other: each machine of a job has its devices"
        )
    if problem := problem_of_group(options.device_group):
        return problem
    return next(filter(None, map(assumptions.problem_of, options.assume)), "")


def _problem_of_ranks(options: RunOptions) -> str:
    if options.world is None:
        needs_world = "--ranks needs --world N, the number of ranks of the job"
        return needs_world if options.ranks else ""
    if not options.simulate:
        return "--world needs --simulate: ranks that do not exist need a simulated GPU"
    if options.world < 1:
        return f"--world {options.world}: a job has at least one rank"
    words = [word for word in options.program if word != "--"]
    if words and Path(words[0]).name in _LAUNCHERS:
        return (
            f"--world runs one rank by itself: give the script, not {Path(words[0]).name} "
            "(to run all ranks on this machine, leave --world away)"
        )
    try:
        options.job()
    except ValueError as error:
        return str(error)
    return ""


def _problem_of_hold(text: str) -> str:
    """Return the problem of a value of --hold, or ''."""
    words = text.split(",") if text else []
    for word in words:
        if not _HOLD_WORDS.fullmatch(word):
            return f"--hold {text}: '{word}' is no step (100), no end, and no time (5s)"
    if words and all(word.endswith("s") for word in words):
        return f"--hold {text}: says how long, and not when: --hold 100,{words[0]}"
    return ""


def _problem_of_steps(text: str | None, *, is_recorded: bool) -> str:
    """Return the problem of a value of --steps, or ''."""
    if text is None:
        return ""
    if text.lstrip("-").isdecimal():
        is_early = int(text) < 1
        return f"--steps {text}: a program can end after 1 step at the earliest" * is_early
    found = _STEPS.fullmatch(text)
    if found is None:
        return f"--steps {text}: give a number of steps (8), or those to record (5..8, 5..)"
    first, last = int(found[1]), found[2]
    if first < 1 or (last is not None and int(last) < first):
        return f"--steps {text}: steps count from 1, and the last is not before the first"
    if not is_recorded:
        return f"--steps {text} selects steps to record: leave --no-record out"
    return ""
