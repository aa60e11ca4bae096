"""``peakline.run()`` and ``peakline.simulate()``: record a program in a new process."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peakline.api.tracing import RecorderError
from peakline.builds.build_cache import BuildError
from peakline.launch.options import RunOptions, problem_of
from peakline.launch.ranks import Job
from peakline.launch.run_plan import Plan, make_plan
from peakline.launch.simulation import notes_of_program, problem_of_device
from peakline.launch.trace_files import find_traces, room_for
from peakline.recording import Recording

# They choose what `peakline run` prints and writes beside the recording.
_OF_THE_COMMAND = {"html", "host", "quiet", "top", "report_on_signal"}


@dataclass(frozen=True)
class RecordedRun:
    """A program that has ended.

    Attributes:
        status: its exit status; minus the number of the signal that ended it.
        recordings: one of each process that used the GPU, by name of the file.
    """

    status: int
    recordings: tuple[Recording, ...]

    @property
    def recording(self) -> Recording:
        """The recording with the highest peak.

        Raises:
            peakline.RecorderError: nothing was recorded.
        """
        if not self.recordings:
            raise RecorderError(f"nothing was recorded; the program ended with {self.status}")
        return max(self.recordings, key=lambda one: one.peak_bytes())


def run(program: str | os.PathLike[str] | Sequence[str], **options: Any) -> RecordedRun:
    """Run a program in a new process, record it, and wait for its end. It prints as it does alone.

    >>> run = peakline.run(["-c", "print('no torch, no recording')"], output=folder / "a.peak")
    >>> run.status, run.recordings
    (0, ())

    Args:
        program: a script, or the words that ``peakline run`` takes: ``["train.py", "--epochs",
            "1"]``, ``["-m", "module"]``, ``["-c", code]``, ``["--", "./a.out"]``.
        options: the fields of `peakline.RunOptions`: ``output`` (the trace file), ``force``
            (replace it), ``steps``, ``hold``, ``stacks``, ``frees``, ``saved``, ``cpu``, ``keep``,
            ``python``.
            Nothing is printed at the end, so ``html``, ``quiet`` and ``top`` are none of them.

    Raises:
        TypeError: an option is unknown.
        ValueError: an option or the program cannot be; the text says why.
        FileNotFoundError: there is no such command.
        peakline.RecorderError: the simulated GPU cannot be built.
    """
    if others := options.keys() & _OF_THE_COMMAND:
        raise TypeError(f"run() got an option of the command peakline run: {min(others)!r}")
    words = [os.fspath(program)] if isinstance(program, str | os.PathLike) else [*program]
    output = os.fspath(options.pop("output", ""))
    asked = RunOptions(program=words, output=output, **options)
    problem = (asked.simulate and problem_of_device(asked.simulate)) or problem_of(asked)
    if problem:
        raise ValueError(problem)
    try:
        plan = make_plan(asked)
    except BuildError as error:
        raise RecorderError(str(error)) from error
    started = time.time()
    with room_for(Path(output if asked.force else "")):
        status = _execute(plan)
        paths = find_traces(plan.run_id, plan.output, started) if plan.recorded else []
        return RecordedRun(status, tuple(map(Recording, paths)))


def simulate(
    program: str | os.PathLike[str] | Sequence[str], device: str = "h200", **options: Any
) -> RecordedRun:
    """Record a program on a simulated GPU: the sizes are real, the numbers are not.

    >>> run = peakline.simulate(script, "h100:40GiB", output=folder / "b.peak")
    >>> run.recording.peak_bytes() == recording.peak_bytes()
    True

    ``device`` is a name with a count (``"h200x8"``) or a size (``"h100:40GiB"``), or a slice
    (``"h100:1g.10gb"``). The other options and the errors are those of `run`; ``world``, ``ranks``,
    ``assume`` and ``blank_weights`` need a simulated GPU.
    """
    return run(program, simulate=device, **options)


def _execute(plan: Plan) -> int:
    notes = notes_of_program(
        plan.environment,
        guards_checkpoints=plan.guards_checkpoints,
        notes_reads=False,
        quiet=True,
    )
    with notes:
        if plan.ranks is not None:
            return Job(plan.command, plan.environment, plan.ranks).run()
        return subprocess.run(plan.command, env=plan.environment, check=False).returncode
