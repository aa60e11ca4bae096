"""Prints the end of ``peakline run``: table, traces, next commands."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peakline.api.assumptions import with_whole_path
from peakline.base.device_names import highest_peak
from peakline.base.engine import report_engine
from peakline.base.faults import failing_alone
from peakline.base.files import here, reading
from peakline.base.next_commands import next_commands, shell_words
from peakline.base.output import say
from peakline.base.sizes import size_of
from peakline.commands.shared.findings import fault_line
from peakline.commands.shared.out_of_memory import cause_of
from peakline.launch.host_memory import pinned_warning
from peakline.launch.run_end import RunEnd
from peakline.pages.making import make_file, page_beside
from peakline.pages.options import PageOptions
from peakline.recording.growth import growth_lines
from peakline.terminal.report import show_report

_NAMES_SHOWN = 8
_AUTOPSY_ROWS = 5  # of each of its tables, so that all fits on one screen
_CAUSE = "the cause, and what to change"
_ADVICE = "what would lower the peak, and by how much"
# With fewer events, names and stacks are most of the file.
_EVENTS_FOR_AN_AVERAGE = 200_000


@dataclass(frozen=True)
class _Recorded:
    path: Path
    peak_bytes: int
    event_count: int
    row_count: int
    refused: int  # requests that a device refused
    pinned_peak_bytes: int


def name_files(paths: list[Path], page: str = "") -> None:
    """Name the traces and the page; a quiet run prints nothing else."""
    for path in paths:
        say(f"peakline: wrote {path} ({size_of(path.stat().st_size)})")
    if page:
        say(page)


def report(paths: list[Path], end: RunEnd, top: int, page: str = "") -> None:
    """Print the table of the heaviest process, the cost of the recording, and the next commands.

    `page` is the sentence about the page, if one was requested.
    """
    if not paths:
        reason = end.why_nothing()
        if reason:
            say(*f"peakline: {reason}".split("\n"))
        return
    recorded = [one for one in map(_load, paths) if one is not None]
    say("")
    if end.status:
        say(f"peakline: {end.how()}; everything up to then was recorded")
    if not recorded:
        name_files(paths, page)
        return
    heaviest = max(recorded, key=lambda one: one.peak_bytes)
    ran_out = {one: cause for one in recorded if end.status and (cause := _ran_out(one))}
    with failing_alone("the table is missing"):
        if ran_out:
            _say_why(list(ran_out), len(recorded))
        else:
            _show_heaviest(heaviest, len(recorded), top, says_end=not end.status)
    say("")
    grows: list[str] = []
    with failing_alone("what grows is not known"):
        grows = growth_lines(report_engine().Trace(str(heaviest.path)), heaviest.event_count)
        say(*(f"peakline: {sentence}" for sentence in grows))
    fault = ""
    with failing_alone("what could be mended is not known"):
        fault = fault_line(report_engine().Trace(str(heaviest.path)), heaviest.event_count)
        say(*([f"peakline: {fault}"] if fault else []))
    if pinned := pinned_warning([one.pinned_peak_bytes for one in recorded]):
        words = shell_words(["peakline", "table", "--device", "pinned", str(heaviest.path)])
        say(f"peakline: {pinned}: {words}")
    for one in recorded:
        say(f"peakline: wrote {one.path} ({_cost(one)})")
    shown = list(ran_out) or [heaviest]
    for one in [one for one in recorded if one.refused and one not in shown]:
        words = shell_words(["peakline", "oom", str(one.path)])
        times = "once" if one.refused == 1 else f"{one.refused:,} times"
        say(f"peakline: {one.path.name}: memory ran out {times}, caught there: {words}")
    if page:
        say(page)
    if ran_out:
        say(*_next_after_oom(shown[0], ran_out[shown[0]], has_page=bool(page)))
    else:
        first = [("leaks", "what grows, since when, and why")] if grows else []
        first += [("advise", _CAUSE)] if fault else []
        say(*_next(recorded, heaviest, top, has_page=bool(page), first=first))


def _show_heaviest(heaviest: _Recorded, count: int, top: int, *, says_end: bool) -> None:
    if count > 1:
        say(f"{count} processes recorded; the heaviest:")
    with reading(str(heaviest.path)) as trace:
        show_report(trace, "table", sys.stderr, {"top": top, "cwd": here()}, says_end=says_end)


def _ran_out(one: _Recorded) -> tuple[str, str] | None:
    """Return the command that shows the cause, if a refused request ended the process."""
    if not one.refused:
        return None
    with (
        failing_alone(f"{one.path.name}: why memory ran out is not known"),
        reading(str(one.path)) as trace,
    ):
        found = json.loads(trace.report("oom", json=True, top=1))
        return None if found["ooms"][0]["is_caught"] else cause_of(found)
    return None


def _say_why(ran_out: Sequence[_Recorded], count: int) -> None:
    """Print the autopsy of the first process, and the others of `count` that ran out of memory."""
    first, *others = ran_out
    if count > 1:
        say(f"{count} processes recorded; the one of {first.path.name} ran out of memory:")
    with reading(str(first.path)) as trace:
        show_report(trace, "oom", sys.stderr, {"top": _AUTOPSY_ROWS, "cwd": here()})
    if others:
        names = ", ".join(one.path.name for one in others[:_NAMES_SHOWN])
        more = f" and {len(others) - _NAMES_SHOWN} more" if len(others) > _NAMES_SHOWN else ""
        say(f"Other processes ran out of memory, too: {names}{more}")


def write_page(paths: Sequence[Path], *, force: bool) -> str:
    """Write one page of all traces, beside the first; returns the sentence about it.

    If the page cannot be written, the run still succeeds; returns "".
    """
    output = page_beside(paths[0])
    with failing_alone("no page was written"):
        make_file(PageOptions([str(path) for path in paths], str(output), force=force))
        size = size_of(output.stat().st_size)
        return f"peakline: wrote {output} ({size}); open it in a browser"
    return ""


def report_unmatched(paths: list[Path], rules: Sequence[str]) -> None:
    """Report the rules of --assume that matched no value, and the values that a rule can match."""
    traces = [report_engine().Trace(str(path)) for path in paths]
    matched = {key for trace in traces for key in trace.info()["meta"]}
    unmatched = [
        rule for rule in rules if f"assumption_matched {with_whole_path(rule)}" not in matched
    ]
    if not unmatched or not traces:
        return
    for rule in unmatched:
        say(f"peakline: --assume {rule} matched no value that the program read")
    reads = [
        read
        for trace in traces
        for read in json.loads(trace.report("table", json=True, top=1))["value_reads"]
    ]
    locations = dict.fromkeys(
        f"{_line_of(read)} ({read['operator'] or 'a copy'})" for read in reads
    )
    if locations:
        names = ", ".join(list(locations)[:_NAMES_SHOWN])
        more = f" and {len(locations) - _NAMES_SHOWN} more" if len(locations) > _NAMES_SHOWN else ""
        say(f"peakline: it read values at {names}{more}")
    else:
        say("peakline: it read no value that a simulated GPU does not have")


def _line_of(read: dict[str, Any]) -> str:
    line = read["library"] or read["location"]
    return f"{Path(line['file']).name}:{line['line']}" if line else str(read["key"])


def _load(path: Path) -> _Recorded | None:
    with failing_alone("a trace cannot be read"), reading(str(path)) as trace:
        summary = trace.summary_data()
        peak = highest_peak(summary["devices"])
        events, rows = int(summary["event_count"]), int(summary["table"]["row_count"])
        refused = int((summary["table"]["out_of_memory"] or {}).get("count", 0))
        pinned = sum(one["peak_bytes"] for one in summary["devices"] if one["device"] == "pinned")
        return _Recorded(path, peak, events, rows, refused, pinned)
    return None


def _cost(one: _Recorded) -> str:
    size = one.path.stat().st_size
    text = f"{size_of(size)}, {one.event_count:,} event{'s' * (one.event_count != 1)}"
    if one.event_count >= _EVENTS_FOR_AN_AVERAGE:
        text += f", {size / one.event_count:.1f} bytes each"
    return text


def _next(
    recorded: Sequence[_Recorded],
    heaviest: _Recorded,
    top: int,
    *,
    has_page: bool,
    first: Sequence[tuple[str, str]],
) -> list[str]:
    name = shell_words([str(heaviest.path)])
    all_lines = [(f"table --top 0 {name}", "every line")] if 0 < top < heaviest.row_count else []
    page_command = (f"html {name}", "a page for the browser: flame graph, timeline")
    folders = {str(one.path.parent) for one in recorded}
    run = shell_words(sorted(folders)) if len(folders) == 1 else ""
    ranks = [(f"ranks {run}", "all of them beside each other")] if len(recorded) > 1 and run else []
    return next_commands(
        [
            *ranks,
            *([(f"oom {name}", "why memory ran out")] if heaviest.refused else []),
            *((f"{command} {name}", why) for command, why in first),
            *all_lines,
            (f"table --by category {name}", "parameters, activations, optimizer state"),
            *([] if has_page else [page_command]),
            *([] if ("advise", _CAUSE) in first else [(f"advise {name}", _ADVICE)]),
        ]
    )


def _next_after_oom(one: _Recorded, cause: tuple[str, str], *, has_page: bool) -> list[str]:
    name = shell_words([str(one.path)])
    lines = ("table --at oom", "every line that held memory then")
    page_command = (f"html {name}", "a page for the browser: the moment it ran out, and before")
    return next_commands(
        [
            *((f"{command} {name}", shows) for command, shows in dict.fromkeys((cause, lines))),
            (f"tensors --at oom {name}", "every tensor"),
            (f"advise {name}", _ADVICE),
            *([] if has_page else [page_command]),
        ]
    )
