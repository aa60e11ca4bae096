"""Simulated runs that an assistant asks for; the programs' output goes to files, not to ours."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from peakline.assistants.answers import AnswerError
from peakline.base.output import json_text
from peakline.builds.native_build import BuildError
from peakline.launch.options import RunOptions
from peakline.launch.simulation import problem_of_device
from peakline.trials import trying
from peakline.trials.attempts import Measured, TryOptions, run_attempt


def simulate(
    program: Sequence[str], device: str = "h200", steps: int = 0, folder: str = "peakline-results"
) -> str:
    """Record a program on a simulated GPU; return its peak, its heaviest lines and the trace.

    Args:
        program: a script with its arguments: ["train.py", "--batch", "8"].
        device: "h200", "a100-40", "h100:40GiB" ...
        steps: end the program after these optimizer steps; 0: run it to its end.
        folder: for the trace.

    Raises:
        AnswerError: the program or the device does not exist, or the GPU cannot be built.
    """
    options = _options(program, device, steps)
    stem = Path(program[0]).stem or "program"
    numbered = (Path(folder) / f"{stem}-{number}" for number in itertools.count(1))
    into = next(path for path in numbered if not path.exists())
    try:
        # Stacks as in any run: findings need the operators.
        measured = run_attempt(program, options, into, simulate=device, stacks="")
    except BuildError as error:
        raise AnswerError(str(error)) from None
    return json_text(_measured(measured), indent=1)


def _measured(one: Measured) -> dict[str, Any]:
    found = {**asdict(one), "trace": str(one.trace) if one.trace else None}
    if one.status == 0:
        del found["last_words"]
    return found


def try_changes(
    program: Sequence[str], device: str = "h200", changes: Sequence[str] = (), steps: int = 2
) -> str:
    """Measure changes that need no edit of the program, each in a simulated run of its own.

    Args:
        program: a script with its arguments.
        device: as for `simulate`.
        changes: "zero-grad-early", "checkpoint=h.*" ...; none: those that a recording suggests.
        steps: end each run after these optimizer steps.

    Raises:
        AnswerError: the program, the device or a change does not exist.
    """
    options = _options(program, device, steps, tuple(changes))
    for change in changes:
        if problem := trying.problem_of(change):
            raise AnswerError(problem)
    try:
        with tempfile.TemporaryDirectory(prefix="peakline-try-") as folder:
            *_, found = trying.try_changes(program, options, Path(folder), lambda _: None)
    except BuildError as error:
        raise AnswerError(str(error)) from None
    base = _measured(found.base)
    return json_text({"base": base, "tried": [one.document() for one in found.trials]}, indent=1)


def _options(
    program: Sequence[str], device: str, steps: int, changes: tuple[str, ...] = ()
) -> TryOptions:
    if not program:
        raise AnswerError('name a program: ["train.py", "--batch", "8"]')
    if program[0].endswith(".py") and not Path(program[0]).exists():
        raise AnswerError(f"{program[0]} does not exist in {Path.cwd()}")
    if problem := problem_of_device(device):
        raise AnswerError(problem)
    run = RunOptions(steps=str(steps) if steps else None)
    return TryOptions(run, simulate=device, changes=changes)
