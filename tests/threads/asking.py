"""Asks peakline a question of the public, as its reader would, and judges the answer.

A reader sees the end of `peakline run`, and types at most the one command that it names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PROGRAMS = Path(__file__).with_name("programs")
CAUSE = "# cause"


@dataclass(frozen=True)
class Thread:
    """One program with the cause of a public thread, and what the answer must say.

    `command` is what the end of the run must name and what is then asked ("leaks", "fragmentation
    --at oom"); "" where the end of the run is the answer. `asked` is a command that the end of the
    run does not name: the documentation leads to it. `says` and `never` are regular expressions,
    which see each finding of `advise` as one line; `{cause}` in them stands for the file and line
    marked `# cause` in the program.
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
    asked: str = ""

    def __str__(self) -> str:
        """The name of its test."""
        return f"{self.program} {self.command or self.asked}".strip()


def cause_of(program: Path) -> str:
    """Return "file.py:line" of the line marked as the cause; "" where none is marked."""
    for number, line in enumerate(program.read_text().splitlines(), 1):
        if line.rstrip().endswith(CAUSE):
            return f"{program.name}:{number}"
    return ""


def in_one_line(text: str) -> str:
    """Return a text whose paragraphs are lines: `advise` breaks its sentences."""
    return "\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def answer_to(lab: Any, thread: Thread) -> str:
    """Return the answer a reader gets: the end of the run, or the text of the command it names."""
    folder = lab.folder / f"{thread.program}{'-'.join(thread.arguments)}"
    program = PROGRAMS / f"{thread.program}.py"
    options = ["-o", "run.peak", *thread.options]
    how = {"device": thread.device, "environment": thread.environment}
    run = lab.recorded(folder, str(program), *thread.arguments, options=options, **how)
    assert run.status == thread.status, f"status {run.status}\n{run.stdout}\n{run.stderr}"
    return answer_after(lab, thread, run.stderr, folder / "run.peak")


def answer_after(lab: Any, thread: Thread, end: str, trace: Path) -> str:
    """Return the answer of the end of a run, or of the command that it names."""
    if thread.command:
        named = f"peakline {thread.command} {trace.name}"
        assert re.search(rf"{re.escape(named)}(?![^\s])", end), f"not named: {named}\n{end}"
    command = thread.command or thread.asked
    return asked(lab, command, trace) if command else end


def judge_recorded(lab: Any, thread: Thread, trace: Path) -> None:
    """Like `judge`, of a program that `traces_of` recorded."""
    judge_text(thread, answer_after(lab, thread, _end_of(trace).read_text(), trace))


def _end_of(trace: Path) -> Path:
    """Return the file with what the run of a trace said at its end."""
    return trace.with_name("end.txt")


def asked(lab: Any, command: str, trace: Path) -> str:
    """Return what a command says of a recording."""
    name, *words = command.split()
    done = lab.peakline(name, *words, str(trace))
    assert done.returncode in (0, 1), done.stderr
    return done.stdout + done.stderr


def traces_of(lab: Any, programs: Sequence[str]) -> dict[str, Path]:
    """Record programs, and keep what is said at the end of each run."""
    traces = {one: lab.folder / f"recorded_{one}" / "run.peak" for one in programs}
    for program, trace in traces.items():
        words = [str(PROGRAMS / f"{program}.py")]
        run = lab.recorded(trace.parent, *words, options=["-o", "run.peak"])
        assert run.status == 0, f"{program}: {run.stderr}"
        _end_of(trace).write_text(run.stderr)
    return traces


def judge(lab: Any, thread: Thread) -> None:
    """Fail unless the answer says all that it must and nothing that it must not."""
    judge_text(thread, answer_to(lab, thread))


def judge_text(thread: Thread, answer: str) -> None:
    """Fail unless a text says all that the thread's answer must and nothing that it must not."""
    if "advise" in (thread.command, thread.asked):
        answer = in_one_line(answer)
    cause = re.escape(cause_of(PROGRAMS / f"{thread.program}.py"))
    for wanted in thread.says:
        pattern = wanted.replace("{cause}", cause)
        assert re.search(pattern, answer), f"does not say: {pattern}\n{answer}"
    for unwanted in thread.never:
        pattern = unwanted.replace("{cause}", cause)
        assert not re.search(pattern, answer), f"says: {pattern}\n{answer}"
