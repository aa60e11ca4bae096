"""One trial of a program on one simulated device, for ``peakline fit``.

Every device is tried with its own capacity, because the allocator's reaction to a full device (free
cached blocks, try again) affects the result. A program that does not fit runs once more on the same
device with unlimited memory, which shows how much it needs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from peakline.trials.attempts import Line, Measured, TryOptions, run_attempt

_UNLIMITED = "4096GiB"


@dataclass(frozen=True)
class Attempt:
    """A program with its arguments on a device.

    ``name`` is that of the argument with several values, ``value`` one of them, or ''.
    """

    device: str
    value: str
    command: list[str]
    name: str = ""

    def at(self, value: str) -> Attempt:
        """Return the attempt with a value of the argument."""
        placeholder = "{" + self.name + "}"
        command = [word.replace(placeholder, value) for word in self.command]
        return Attempt(self.device, value, command, self.name)


@dataclass(frozen=True)
class Outcome:
    """The result of an attempt. ``verdict`` is "fits", "too small", "failed" or "skipped".

    ``peak_bytes`` is the peak of the program's tensors on the device with the highest one; if the
    device is too small, the peak that the program would reach. ``headroom_bytes`` is the capacity
    minus the highest use, with caches and context; negative: the missing bytes.
    ``ended_after_steps``: as of `Measured`.
    """

    device: str
    value: str
    verdict: str
    status: int = 0
    peak_bytes: int | None = None
    capacity_bytes: int | None = None
    most_used_bytes: int | None = None
    headroom_bytes: int | None = None
    guessed_places: int = 0
    place: str = ""  # step and phase of the peak
    lines: list[Line] = field(default_factory=list)
    last_words: list[str] = field(default_factory=list)
    ended_after_steps: int = 0


def is_number(text: str) -> bool:
    """Return whether a value of a sweep is a number that is not negative."""
    return re.fullmatch(r"[0-9]+(\.[0-9]+)?", text) is not None


def try_program(attempt: Attempt, options: TryOptions, folder: Path) -> Outcome:
    """Run the program on the device, and on an unlimited one if it does not fit.

    Raises:
        BuildError: the simulated GPU cannot be built.
    """
    own = _run(attempt, attempt.device, options, folder / "own")
    if own.status == 0:
        return _outcome(attempt, "fits", own, own)
    if not own.out_of_memory:
        return _outcome(attempt, "failed", own, own)
    unlimited = re.sub(r":.*", "", attempt.device) + ":" + _UNLIMITED
    whole = _run(attempt, unlimited, options, folder / "unlimited")
    return _outcome(attempt, "too small", own, whole if whole.status == 0 else own)


def _outcome(attempt: Attempt, verdict: str, own: Measured, needs: Measured) -> Outcome:
    headroom = None
    if own.capacity_bytes is not None and needs.most_used_bytes is not None:
        headroom = own.capacity_bytes - needs.most_used_bytes
    return Outcome(
        attempt.device,
        attempt.value,
        verdict,
        status=own.status,
        peak_bytes=needs.peak_bytes,
        capacity_bytes=own.capacity_bytes,
        most_used_bytes=needs.most_used_bytes,
        headroom_bytes=headroom if verdict != "too small" or needs is not own else None,
        guessed_places=needs.guessed_places,
        place=needs.place,
        lines=needs.lines,
        last_words=own.last_words if verdict == "failed" else [],
        ended_after_steps=needs.ended_after_steps,
    )


def _run(attempt: Attempt, device: str, options: TryOptions, folder: Path) -> Measured:
    return run_attempt(attempt.command, options, folder, simulate=device)
