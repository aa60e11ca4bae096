"""`peakline run --report-on-signal`: a SIGUSR2 before CUDA starts does not end the program.

The later handler (torch_objects/signals.py) replaces this one; the program may replace it, too. A
launcher such as torchrun keeps it.
"""

from __future__ import annotations

import os
import signal

import _peakline_words


def _on_signal(_number: int, _frame: object) -> None:
    _peakline_words.say(f"process {os.getpid()} records nothing so far: no report")


_on_signal.peakline_waits = True  # type: ignore[attr-defined]


def prepare() -> None:
    """Install the handler, unless the program has one."""
    if signal.getsignal(signal.SIGUSR2) is signal.SIG_DFL:
        signal.signal(signal.SIGUSR2, _on_signal)
