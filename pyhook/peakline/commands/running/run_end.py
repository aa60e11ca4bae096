"""How a recorded program ended, in one sentence: its status, and why nothing was recorded."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from peakline.commands.shared.common import shell_words
from peakline.devices import missing_device


@dataclass(frozen=True)
class RunEnd:
    """What `peakline run` knows when the program has ended.

    `status` is negative for a signal. `notes` are the lines of the recorders, see
    preload/options/options.h.
    """

    status: int
    is_simulated: bool
    words: Sequence[str]
    notes: Sequence[str] = ()

    def how(self) -> str:
        """Return how the program ended, as in "the program ended with status 1"."""
        if self.status == -signal.SIGINT:
            return "the program was interrupted (Ctrl-C)"
        if self.status < 0:
            name = _signal_name(-self.status)
            crashed = -self.status in (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)
            return f"the program {'crashed' if crashed else 'was ended by a signal'} ({name})"
        return (
            f"the program ended with status {self.status}" if self.status else "the program ended"
        )

    def why_nothing(self) -> str:
        """Return why there is no trace; '' when a recorder has said so already."""
        kinds = {note.split("\t")[0] for note in self.notes}
        if kinds & {"unwritten", "lost"}:
            return ""
        if "on" in kinds:
            if self.status == 0:
                return "nothing was recorded: the program allocated no GPU memory through torch"
            return f"nothing was recorded: {self.how()} before it allocated GPU memory"
        missing = "" if self.is_simulated else missing_device()
        if self.status == 0:
            reason = "the program did not use CUDA"
        else:
            reason = f"{self.how()} before it used CUDA"
        if not missing:
            return f"nothing was recorded: {reason}"
        words = shell_words(self.words)
        return (
            f"nothing was recorded: {reason}; {missing}\n"
            f"Next: peakline run --simulate h200 {words}  on a simulated GPU"
        )


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def read_notes(path: Path) -> list[str]:
    """Return the lines that the recorders left for `peakline run`."""
    return path.read_text(errors="surrogateescape").splitlines() if path.exists() else []
