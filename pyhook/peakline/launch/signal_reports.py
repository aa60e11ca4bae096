"""`peakline run --report-on-signal`: makes reports on SIGUSR2 while the program runs.

A process that receives the signal requests a report by a line in the notes
(torch_objects/reporting.py). If `peakline run` receives it, it requests reports from these
processes, and makes the reports of the other recorded processes itself. The program receives the
signal only if it handles it: the default action would end it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

from peakline.base.engine import report_engine
from peakline.base.output import say
from peakline.launch.run_end import read_notes
from peakline.recording.live_state import is_readable, traces_of_process

_PAUSE_SECONDS = 0.2
_NICE = 10


class SignalReports:
    """Watches the notes in a thread while its `with` block runs, and makes requested reports."""

    def __init__(self, notes: Path) -> None:
        """Begin without requests."""
        self._notes = notes
        self._done = 0  # processed lines of the notes
        self._asked = 0  # signals to this process
        self._answered = 0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="reports", daemon=True)

    def __enter__(self) -> SignalReports:
        """Begin to watch."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Make the requested reports, and end."""
        self._is_over.set()
        self._thread.join()

    def on_signal(self, child: int | None) -> None:
        """Handle SIGUSR2: pass it to processes that handle it; report on the others from here."""
        ready = self._ready()
        for process in ready:
            with suppress(OSError):
                os.kill(process, signal.SIGUSR2)
        if child is not None and child not in ready and _handles_signal(child):
            os.kill(child, signal.SIGUSR2)  # the program has its own use for the signal
        self._asked += 1

    def _ready(self) -> set[int]:
        """Return the processes that request their reports themselves."""
        lines = [line.split("\t") for line in read_notes(self._notes)]
        return {int(line[1]) for line in lines if line[0] == "signal" and _handles_signal(line[1])}

    def _watch(self) -> None:
        while not self._is_over.wait(_PAUSE_SECONDS):
            self._make_new()
        self._make_new()

    def _make_new(self) -> None:
        lines = read_notes(self._notes)
        asked = [line.partition("\t")[2] for line in lines[self._done :] if _is_request(line)]
        self._done = len(lines)
        if self._asked > self._answered:
            self._answered = self._asked
            asked += _traces_of_others(self._ready())
        for trace in dict.fromkeys(asked):
            _make(trace)


def _is_request(line: str) -> bool:
    return line.startswith("report\t")


def _handles_signal(process: int | str) -> bool:
    """Return whether a process has a handler of SIGUSR2."""
    with suppress(OSError, ValueError):
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith("SigCgt:"):
                return bool(int(line.split()[1], 16) >> (signal.SIGUSR2 - 1) & 1)
    return False


def _traces_of_others(ready: set[int]) -> list[str]:
    """Return the traces of descendants that do not request reports themselves."""
    engine = report_engine()
    found = traces_of_process(os.getpid(), is_readable())
    return [trace for trace in found if engine.Trace(trace).info()["pid"] not in ready]


def _make(trace: str) -> None:
    """Write NAME.<n>.txt beside a trace, in a process of low priority."""
    command = [sys.executable, "-m", "peakline", "report", "--beside", trace]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, process.pid, _NICE)
    out, errors = process.communicate()
    report = [f"peakline: {line[0].lower()}{line[1:]}" for line in out.splitlines()]
    say(*report, *errors.splitlines())
