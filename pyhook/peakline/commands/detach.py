"""``peakline detach``: end a recording that ``peakline attach`` began."""

from __future__ import annotations

import argparse

from peakline.attaching.requests import ask
from peakline.attaching.targets import targets_of
from peakline.base.engine import CommandError
from peakline.base.next_commands import suggest_for
from peakline.commands.attach import add_process, report, say_waiting
from peakline.recording.live_state import is_readable, traces_of

NAME = "detach"
HELP = "End a recording that peakline attach began. The program runs on."
EXAMPLES = "peakline detach 4242"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    add_process(parser)


def run(args: argparse.Namespace) -> int:
    """End the recordings of the process and its descendants."""
    is_trace = is_readable()
    targets = [one for one in targets_of(args.pid) if traces_of([one.pid], is_trace)]
    if not targets:
        raise CommandError(f"process {args.pid} is not recorded")
    answers = ask(targets, lambda _: {"action": "end"}, args.timeout, say_waiting)
    if report(answers, "no longer recorded;"):
        return 2
    traces = [one.facts["trace"] for one in answers if one.facts and "trace" in one.facts]
    suggest_for(traces[0], "table")
    return 0
