"""What `proof.py` found, as tables: one row for each program."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

MIB = 1 << 20
# What they ask is not the same in every run, so only that each run is made again is compared: when
# another stream is done depends on retries, and autograd's thread frees after a graph was captured.
VARIES = ("busy_streams", "graphed_calls")


@dataclass
class Verdict:
    """One run against what was said of it."""

    is_equal: bool
    text: str
    is_verified: bool = False
    notes: list[str] = field(default_factory=list)
    segments: int = 0
    requests: int = 0


def size_and_calls(said: dict[str, Any]) -> str:
    """Return the cell of a run."""
    peak = f"{said['reserved_peak_bytes'] / MIB:,.0f}"
    frees = f"+{said['device_frees']}" if said["device_frees"] else ""
    retries = f" r{said['retries']}" if said["retries"] else ""
    return f"{peak} {said['device_allocs']}{frees}{retries}{' OOM' if said['refused'] else ''}"


def counted(results: dict[str, dict[str, Verdict]]) -> list[str]:
    """Return the lines of the table of how many were equal."""
    lines = ["| program | runs made again | predictions equal |", "| --- | --- | --- |"]
    for words, verdicts in results.items():
        every = [one for one in verdicts.values() if one.text != "-"]
        predictions = [] if words.split()[0] in VARIES else every[1:]
        lines.append(
            f"| {words} | {sum(one.is_verified for one in every)} of {len(every)} "
            f"| {sum(one.is_equal for one in predictions)} of {len(predictions)} |"
        )
    return lines


def not_equal(results: dict[str, dict[str, Verdict]]) -> list[str]:
    """Return a sentence for everything that is not equal."""
    return [
        f"* {words}, {name}: {note}"
        for words, verdicts in results.items()
        for name, verdict in verdicts.items()
        for note in verdict.notes
    ]


def table(results: dict[str, dict[str, Verdict]], columns: list[str]) -> list[str]:
    """Return the lines of one table."""
    lines = [
        "| program | " + " | ".join(columns) + " |",
        "| --- |" + " --- |" * len(columns),
    ]
    for words, verdicts in results.items():
        cells = [
            verdicts[name].text if verdicts[name].is_equal else f"**not: {verdicts[name].text}**"
            for name in columns
        ]
        lines.append(f"| {words} | " + " | ".join(cells) + " |")
    return lines


def report(results: dict[str, dict[str, Verdict]], settings: list[str], devices: list[str]) -> str:
    """Return the whole answer, as in RESULTS.md."""
    every = [one for verdicts in results.values() for one in verdicts.values() if one.text != "-"]
    predictions = [
        one
        for words, verdicts in results.items()
        for name, one in verdicts.items()
        if name != "as recorded" and one.text != "-" and words.split()[0] not in VARIES
    ]
    lines = [
        f"* Recorded runs made again, every segment event and the place of every block: "
        f"{sum(one.is_verified for one in every)} of {len(every)} "
        f"({sum(one.segments for one in every):,} segment events, "
        f"{sum(one.requests for one in every):,} requests).",
        f"* Predictions equal to a second run, in reserved peak, calls of the device (in all and "
        f"after the first step), retries, and the request and line that ran out of memory: "
        f"{sum(one.is_equal for one in predictions)} of {len(predictions)}.",
        "",
        *counted(results),
        "",
        *(["Not equal:", "", *not_equal(results), ""] if not_equal(results) else []),
        "Cells: reserved peak in MiB, device allocs + frees, retries (r), OOM; of the second run. "
        "Bold: the prediction was another.",
        "",
        *table(results, ["as recorded", *settings]),
        "",
        "Smaller devices: torch may have this part of the recorded peak.",
        "",
        *table(results, devices),
    ]
    return "\n".join(lines) + "\n"
