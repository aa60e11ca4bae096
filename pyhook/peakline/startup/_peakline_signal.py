"""`peakline run --report-on-signal`: a SIGUSR2 that comes before CUDA does not end the program.

What answers it later (torch_objects/signals.py) takes the place of this handler; so may the
program. A launcher such as torchrun keeps it.
"""

from __future__ import annotations

import os
import signal

import _peakline_words


def _on_signal(_number: int, _frame: object) -> None:
    _peakline_words.say(f"process {os.getpid()} records nothing so far: no report")


_on_signal.peakline_waits = True  # type: ignore[attr-defined]


def prepare() -> None:
    """Take the signal, where nobody has it."""
    if signal.getsignal(signal.SIGUSR2) is signal.SIG_DFL:
        signal.signal(signal.SIGUSR2, _on_signal)
