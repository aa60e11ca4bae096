"""The commands that print a report of the engine, one table row each."""

from __future__ import annotations

import argparse
import functools
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from peakline.commands.shared import report_options as options
from peakline.commands.shared.growth import growth_status, print_growth
from peakline.commands.shared.out_of_memory import command_after_oom
from peakline.commands.shared.printing import print_reports, suggest
from peakline.commands.shared.reserved import add_growth_measure, print_reserved_growth
from peakline.recording.reports import FORMS

if TYPE_CHECKING:
    from peakline._report import Options

_LABELS = 12  # columns beside a chart
_LEAST_COLUMNS, _MOST_COLUMNS = 20, 160


@dataclass(frozen=True)
class Report:
    """A command with the name of its report, made by ``Trace.report(name, ...)``.

    ``shows`` is the noun that --top counts; if it is empty, another option limits the rows. ``top``
    returns a default that depends on the terminal. ``next_command`` is the command to type next, or
    a function that finds it from the file; ``next_after`` has others by the key of --by. ``below``
    prints lines after the report, ``status`` returns the exit code. ``instead`` prints another
    report if the options ask for it, and returns its exit code.
    """

    name: str
    help: str
    examples: str
    options: tuple[Callable[[argparse.ArgumentParser], None], ...]
    shows: str = "rows"
    top: Callable[[], int] | None = None
    next_command: str | Callable[[str, Options], str] = "table"
    next_after: Mapping[str, str] = field(default_factory=dict)
    below: Callable[[argparse.Namespace], None] = lambda _: None
    status: Callable[[argparse.Namespace, Options], int] = lambda *_: 0
    instead: Callable[[argparse.Namespace], int | None] = lambda _: None

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments of the command."""
        options.add_files(parser)
        for add_option in self.options:
            add_option(parser)
        if self.shows:
            options.add_top(parser, self.shows, FORMS[self.name].shown)
        options.add_terminal(parser)
        rows = ", by default with all rows" if self.shows else ""
        parser.add_argument("--json", action="store_true", help=f"Print JSON{rows}")

    def run(self, args: argparse.Namespace) -> int:
        """Print the report of each file."""
        if (ended := self.instead(args)) is not None:
            return ended
        top = self.top() if self.top else FORMS[self.name].shown
        chosen = options.report_options(args, top)
        print_reports(args, self.name, chosen)
        self.below(args)
        if not args.json:
            self._suggest(args, chosen)
        return self.status(args, chosen)

    def _suggest(self, args: argparse.Namespace, chosen: Options) -> None:
        command = self.next_command
        if not isinstance(command, str):
            command = command(args.files[0], chosen)
        suggest(args, self.next_after.get(getattr(args, "by", ""), command))


def _chart_columns() -> int:
    columns = shutil.get_terminal_size().columns - _LABELS
    return max(_LEAST_COLUMNS, min(_MOST_COLUMNS, columns))


_PEAK_DURING = functools.partial(options.add_during, meaning="Show the highest moment")
_BLOCKS_OF_A_MOMENT = (
    options.add_grouping,
    options.add_where,
    options.add_moment,
    _PEAK_DURING,
    options.add_device,
)
_OF_MODULES = (
    options.add_modules,
    functools.partial(options.add_during, meaning="Count only what happens"),
    options.add_device,
    options.refuse_where,
)

REPORTS = (
    Report(
        name="table",
        help="Show the lines that hold the memory at its peak. --by shows modules, tensors ...",
        examples="peakline table train.peak\n"
        "peakline table --by category --at backward train.peak\n"
        "peakline table --by module --fold train.peak\n"
        "peakline table --by library --measure device train.peak",
        options=(*_BLOCKS_OF_A_MOMENT, options.add_every_measure),
        next_after={"line": "table --by category", "category": "tensors"},
    ),
    Report(
        name="summary",
        help="Show what ran, each device's peak, and the largest lines.",
        examples="peakline summary train.peak",
        options=(*_BLOCKS_OF_A_MOMENT, options.add_measure),
        below=print_growth,
    ),
    Report(
        name="phases",
        help="Show the peak and the levels of every phase of every step.",
        examples="peakline phases --top 0 train.peak",
        options=(options.add_device, options.add_measure, options.refuse_where),
        shows="steps",
        next_command="table --at forward",
    ),
    Report(
        name="layers",
        help="Show what every module holds, and the peaks while it runs.",
        examples="peakline layers --fold train.peak",
        options=_OF_MODULES,
        shows="layers",
        next_command="table --by module",
    ),
    Report(
        name="ops",
        help="Show the memory after operator calls, and which add most.",
        examples="peakline ops --top 50 train.peak",
        options=_OF_MODULES,
        shows="operator calls",
        next_command="table --by op",
    ),
    Report(
        name="stages",
        help="Show the memory before and after every module, backward pass and optimizer step.",
        examples="peakline stages --top 3 train.peak",
        options=_OF_MODULES,
        shows="steps",
        next_command="phases",
    ),
    Report(
        name="tensors",
        help="Show every tensor live at the peak: its name, its lines.",
        examples="peakline tensors --min 64MiB train.peak",
        options=(
            options.add_where,
            options.add_frames,
            options.add_modules,
            options.add_moment,
            functools.partial(
                options.add_during, meaning="Show every tensor that lives at some time"
            ),
            options.add_device,
            options.add_measure,
            options.add_least_size,
        ),
        shows="tensors",
        next_command="table --by category",
    ),
    Report(
        name="holders",
        help="Show what keeps the largest blocks alive, after run --hold.",
        examples="peakline holders train.peak",
        options=(options.add_search, options.add_frames, options.refuse_where),
        shows="blocks",
        next_command="tensors",
    ),
    Report(
        name="oom",
        help="Show why memory ran out: the request, and what would fit.",
        examples="peakline oom train.peak\npeakline oom --nth 1 train.peak",
        options=(options.add_request, options.add_frames, options.refuse_where),
        next_command=command_after_oom,
    ),
    Report(
        name="ledger",
        help="Show what holds the whole device: torch, libraries, the rest.",
        examples="peakline ledger train.peak\n"
        "peakline ledger --at end train.peak\n"
        "peakline ledger --at 12.5 --json train.peak",
        options=(
            options.add_moment,
            options.add_frames,
            options.add_device,
            options.refuse_where,
        ),
        shows="lines of each library",
        next_command="table",
    ),
    Report(
        name="leaks",
        help="Show what grows from step to step, and what is left at exit.",
        examples="peakline leaks train.peak\n"
        "peakline leaks --by module train.peak\n"
        "peakline leaks --fail-on-growth train.peak  # in a test: status 1 when something grows\n"
        "peakline leaks --measure reserved --since step@100 train.peak",
        options=(
            options.add_grouping,
            options.add_device,
            add_growth_measure,
            options.add_fail_on_growth,
            options.refuse_where,
        ),
        status=growth_status,
        instead=print_reserved_growth,
        next_command="phases --top 0",
    ),
    Report(
        name="whatif",
        help="Show the run under other allocator settings or devices.",
        examples='peakline whatif --set "expandable_segments:True" train.peak\n'
        "peakline whatif --search --smallest-device train.peak",
        options=(
            options.add_whatif,
            options.add_device,
            options.add_frames,
            options.refuse_where,
        ),
        shows="runs",
        next_command="fragmentation",
    ),
    Report(
        name="fragmentation",
        help="Show why each reserved byte is there, and what pins segments.",
        examples="peakline fragmentation train.peak\npeakline fragmentation --at oom train.peak",
        options=(
            options.add_moment,
            options.add_frames,
            options.add_device,
            options.refuse_where,
        ),
        shows="lines",
        next_command="map",
    ),
    Report(
        name="map",
        help="Show torch's segments, the blocks in them and the holes.",
        examples="peakline map --at backward train.peak",
        options=(
            options.add_moment,
            options.add_frames,
            options.add_device,
            options.refuse_where,
        ),
        shows="segments",
        next_command="fragmentation",
    ),
    Report(
        name="timeline",
        help="Draw the memory over time (instant, however large the trace).",
        examples="peakline timeline train.peak",
        options=(
            options.add_points,
            options.add_where,
            options.add_level_measure,
            options.add_device_or_sum,
        ),
        shows="",
        top=_chart_columns,
    ),
    Report(
        name="stats",
        help="Show event counts, allocation sizes and the top allocators.",
        examples="peakline stats train.peak",
        options=(
            options.add_grouping,
            options.add_where,
            options.add_measure,
            options.refuse_selection,
        ),
    ),
)
