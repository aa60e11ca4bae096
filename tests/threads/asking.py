"""Asks peakline a question of the public, as its reader would, and judges the answer.

A reader sees the end of `peakline run`, and types at most the one command that it names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PROGRAMS = Path(__file__).with_name("programs")
CAUSE = "# cause"


@dataclass(frozen=True)
class Thread:
    """One program with the cause of a public thread, and what the answer must say.

    `command` is what the end of the run must name and what is then asked ("leaks", "fragmentation
    --at oom"); "" where the end of the run is the answer. `says` and `never` are regular
    expressions; `{cause}` in them stands for the file and line marked `# cause` in the program.
    """

    program: str
    says: tuple[str, ...]
    command: str = ""
    never: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    status: int = 0
    device: str = "h200"
    environment: Mapping[str, str] = field(default_factory=dict)


def cause_of(program: Path) -> str:
    """Return "file.py:line" of the line marked as the cause; "" where none is marked."""
    for number, line in enumerate(program.read_text().splitlines(), 1):
        if line.rstrip().endswith(CAUSE):
            return f"{program.name}:{number}"
    return ""


def answer_to(lab: Any, thread: Thread) -> str:
    """Return the answer a reader gets: the end of the run, or the text of the command it names."""
    folder = lab.folder / f"{thread.program}{'-'.join(thread.arguments)}"
    program = PROGRAMS / f"{thread.program}.py"
    options = ["-o", "run.peak", *thread.options]
    how = {"device": thread.device, "environment": thread.environment}
    run = lab.recorded(folder, str(program), *thread.arguments, options=options, **how)
    assert run.status == thread.status, f"status {run.status}\n{run.stdout}\n{run.stderr}"
    if not thread.command:
        return run.stderr
    named = f"peakline {thread.command} run.peak"
    assert re.search(rf"{re.escape(named)}(?![^\s])", run.stderr), (
        f"not named: {named}\n{run.stderr}"
    )
    command, *words = thread.command.split()
    asked = lab.peakline(command, *words, str(folder / "run.peak"))
    assert asked.returncode in (0, 1), asked.stderr
    return asked.stdout + asked.stderr


def judge(lab: Any, thread: Thread) -> None:
    """Fail unless the answer says all that it must and nothing that it must not."""
    answer = answer_to(lab, thread)
    cause = re.escape(cause_of(PROGRAMS / f"{thread.program}.py"))
    for wanted in thread.says:
        pattern = wanted.replace("{cause}", cause)
        assert re.search(pattern, answer), f"does not say: {pattern}\n{answer}"
    for unwanted in thread.never:
        pattern = unwanted.replace("{cause}", cause)
        assert not re.search(pattern, answer), f"says: {pattern}\n{answer}"
