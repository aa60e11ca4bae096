"""Describes a recorded program's end in a sentence: its status, and why nothing was recorded."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from peakline.api.devices import missing_device
from peakline.base.next_commands import next_commands, shell_words
from peakline.base.output import printable


@dataclass(frozen=True)
class RunEnd:
    """Facts about the program's end, for `peakline run`.

    `status` is negative for a signal. `notes` are the lines of the recorders, see
    preload/options/messages.h. `kernel_kills` counts the processes of this machine that the kernel
    killed meanwhile because host memory ran out. `waited_steps` is the number of optimizer steps
    before --steps starts recording. `misplaced` are arguments of the program that have the name of
    an option of `peakline run`.
    """

    status: int
    is_simulated: bool
    words: Sequence[str]
    notes: Sequence[str] = ()
    kernel_kills: int = 0
    records_cpu: bool = False
    waited_steps: int = 0
    misplaced: Sequence[str] = ()
    has_torch: bool = True
    who_grew: str = ""  # of the host's memory; see HostMemory

    def how(self) -> str:
        """Return a sentence such as "the program ended with status 1"."""
        if self.status == -signal.SIGINT:
            return "the program was interrupted (Ctrl-C)"
        if self.status and self.kernel_kills:
            which = "it" if self.status == -signal.SIGKILL else "one of its processes"
            return (
                f"host memory ran out, not the device's: the kernel's out-of-memory killer ended"
                f" {which}{self.who_grew and f': {self.who_grew}'}"
            )
        if self.status == -signal.SIGKILL:
            return (
                "the program was killed (SIGKILL): by hand, by a job scheduler, or by the kernel"
                " of a machine whose host memory ran out"
            )
        if self.status < 0:
            name = _signal_name(-self.status)
            crashed = -self.status in (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)
            return f"the program {'crashed' if crashed else 'was ended by a signal'} ({name})"
        return (
            f"the program ended with status {self.status}" if self.status else "the program ended"
        )

    def messages(self) -> list[str]:
        """Return the messages of processes with a standard error file of their own."""
        lines = dict.fromkeys(note.partition("\t") for note in self.notes)
        return [text for kind, _, text in lines if kind == "said"]

    def why_nothing(self) -> str:
        """Return why there is no trace, and how to fix it; '' if a recorder has reported it."""
        reason = self._reason()
        if not reason or not self.misplaced:
            return reason
        first, *others = reason.splitlines()
        options = ", ".join(self.misplaced)
        hint = f"The program got {options}: options of peakline run stand before the program"
        return "\n".join([first, hint, *others])

    def _reason(self) -> str:
        kinds = {note.split("\t")[0] for note in self.notes}
        if kinds & {"unwritten", "lost"}:
            return ""
        if "on" in kinds:
            if self.waited_steps:
                steps = f"{self.waited_steps} step{'s' * (self.waited_steps > 1)}"
                return (
                    f"nothing was recorded: {self.how()} before its optimizers had made {steps},"
                    " after which --steps begins to record"
                )
            memory = "memory" if self.records_cpu else "GPU memory"
            if self.status == 0:
                return f"nothing was recorded: the program allocated no {memory} through torch"
            return f"nothing was recorded: {self.how()} before it allocated {memory}"
        if self.records_cpu:
            how = "the program" if self.status == 0 else f"{self.how()} and"
            return f"nothing was recorded: {how} did not import torch"
        missing = "" if self.is_simulated else missing_device()
        if self.status == 0:
            reason = "the program did not use CUDA"
        else:
            reason = f"{self.how()} before it used CUDA"
        if not missing or not self.has_torch:
            return f"nothing was recorded: {reason}"
        words = printable(shell_words(self.words))
        commands = [
            (f"run --simulate h200 {words}", "on a simulated GPU"),
            (f"run --cpu {words}", "CPU tensors instead"),
        ]
        return "\n".join([f"nothing was recorded: {reason}; {missing}", *next_commands(commands)])


def kernel_kills() -> int:
    """Return how many processes the kernel has killed so far because host memory ran out.

    Counts this control group, which may be a container, and the machine.
    """
    counters = (Path("/sys/fs/cgroup/memory.events"), Path("/proc/vmstat"))
    return max((count_of(path, "oom_kill") for path in counters), default=0)


def count_of(path: Path, name: str) -> int:
    """Return the number after a name in a file of the kernel; 0 if the name is missing."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return 0
    found = [words[1] for words in map(str.split, lines) if words[:1] == [name]]
    return int(found[0]) if found and found[0].isdecimal() else 0


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def file_identity(descriptor: int) -> str:
    """Return DEVICE:INODE of an open file, the form of PEAKLINE_STDERR; "0:0" if it is closed."""
    try:
        status = os.fstat(descriptor)
    except OSError:
        return "0:0"
    return f"{status.st_dev:x}:{status.st_ino:x}"


def read_notes(path: Path) -> list[str]:
    """Return the lines that the recorders left for `peakline run`."""
    return path.read_text(errors="surrogateescape").splitlines() if path.exists() else []
