"""The text of `peakline fit`: a row for each run, the largest values, the next command."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence

from peakline.base.next_commands import next_commands, shell_words, shortener, terminal_width
from peakline.base.sizes import size_of, size_or_unknown
from peakline.trials.fitting import Attempt, Outcome, is_number
from peakline.trials.largest import Search
from peakline.trials.peak_places import AFTER_TRAINING

_WORDS = {"fits": "yes", "too small": "no", "failed": "failed", "skipped": "no (not tried)"}


def report(
    name: str,
    attempts: Sequence[Attempt],
    outcomes: Sequence[Outcome],
    searches: Mapping[str, Search],
) -> Iterator[str]:
    """Yield the lines of the report.

    Args:
        name: of the argument that has several values; '': none has.
        attempts: the runs.
        outcomes: their results, in the same order.
        searches: those of --largest, by device.
    """
    header = ["Device", *([name] if name else []), "Fits", "Peak", "Headroom", "Heaviest lines"]
    rows = [header]
    shorten = shortener(terminal_width(sys.stdout))
    for one in outcomes:
        lines = "; ".join(f"{line.location} {size_of(line.bytes)}" for line in one.lines)
        if one.verdict == "skipped":
            cells = ["", "", ""]
        else:
            cells = [size_or_unknown(one.peak_bytes), size_or_unknown(one.headroom_bytes), lines]
        rows.append([one.device, *([one.value] if name else []), _WORDS[one.verdict], *cells])
    widths = [max(len(row[i]) for row in rows) for i in range(len(header) - 1)]
    yield "Simulated devices: sizes are exact, numbers are not; no GPU was used"
    for row in rows:
        padded = [cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=True)]
        start = "  ".join([*padded, ""])
        yield (start + shorten(row[-1], len(start))).rstrip()
    if name:
        yield ""
        yield from _largest(name, outcomes, searches)
        if any(one.verdict == "skipped" for one in outcomes):
            yield (
                f"Not tried: every {name} above one that did not fit; larger ones needed more "
                "wherever tried (--try-all runs them)"
            )
    for one in outcomes:
        if one.verdict == "failed":
            yield ""
            yield f"{one.device} {one.value}".rstrip() + f": the program ended with {one.status}:"
            yield from (f"  {line}" for line in one.last_words)
    guesses = max((one.guessed_places for one in outcomes), default=0)
    if guesses:
        lines = "line reads" if guesses == 1 else "lines read"
        yield ""
        yield f"{guesses} {lines} values that no simulated GPU knows: figures may be too low."
    best = _best(attempts, outcomes)
    yield from _after_training(outcomes, best, is_placed=bool(searches))
    command = f"run --simulate {best.device} {shell_words(best.command)}"
    yield ""
    yield from next_commands([(command, "every line, and values that were guessed")])


def _after_training(
    outcomes: Sequence[Outcome], best: Attempt, *, is_placed: bool
) -> Iterator[str]:
    """Yield that the peak lies after the last step, or that nothing after it was tried."""
    steps = max((one.ended_after_steps for one in outcomes), default=0)
    if steps:
        yield ""
        yield (
            f"--steps ended the program after {steps} optimizer step{'s' * (steps > 1)}: an"
            " evaluation or a checkpoint after it was not tried; leave out --steps to try them."
        )
        return
    one = next(o for o in outcomes if (o.device, o.value) == (best.device, best.value))
    if one.place.endswith(AFTER_TRAINING) and not is_placed:
        yield ""
        yield f"{one.device} {one.value}".rstrip() + f": peak{_where(one)}"


def _largest(
    name: str, outcomes: Sequence[Outcome], searches: Mapping[str, Search]
) -> Iterator[str]:
    for device in dict.fromkeys(one.device for one in outcomes):
        search = searches.get(device)
        fitting = _fitting(device, outcomes)
        if not fitting:
            yield f"{device}: none fits"
        elif search is None:
            yield f"{device}: largest tried {name} that fits: {fitting[-1]}"
        elif search.too_much is None:
            yield f"{device}: no limit of {name} found: {fitting[-1]} fits"
        else:
            best = next(o for o in outcomes if (o.device, o.value) == (device, fitting[-1]))
            yield (
                f"{device}: largest {name} that fits: {best.value}; {search.too_much} does not."
                f" Peak {size_or_unknown(best.peak_bytes)}{_where(best)}, headroom"
                f" {size_or_unknown(best.headroom_bytes)}"
            )


def _where(one: Outcome) -> str:
    line = f" at {one.lines[0].location}" if one.lines else ""
    return f"{line} ({one.place})" if one.place else line


def _fitting(device: str, outcomes: Sequence[Outcome]) -> list[str]:
    """Return the values that fit on a device, the largest last."""
    fitting = [one.value for one in outcomes if (one.device, one.verdict) == (device, "fits")]
    return sorted(fitting, key=float) if all(map(is_number, fitting)) else fitting


def _best(attempts: Sequence[Attempt], outcomes: Sequence[Outcome]) -> Attempt:
    """Return the largest attempt that fits on the first device where one does, else the last."""
    for device in dict.fromkeys(one.device for one in outcomes):
        for value in _fitting(device, outcomes)[-1:]:
            return next(one for one in attempts if (one.device, one.value) == (device, value))
    return attempts[-1]
