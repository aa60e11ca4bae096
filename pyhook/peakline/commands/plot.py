"""``peakline plot``: writes a figure of a trace to a file, for papers and slides."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peakline.base.engine import CommandError, report_engine
from peakline.base.files import replacing, trace_stem
from peakline.base.next_commands import suggest_for
from peakline.base.output import write_lines
from peakline.commands.shared import report_options
from peakline.commands.shared.folders import ALL, HEAVIEST, WHOLE
from peakline.launch.host_memory import read_table
from peakline.recording.plans import frontier_of_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from peakline._report import Trace
    from peakline.pages.step_levels import StepLevels

NAME = "plot"
HELP = "Draw memory, growth, a plan, ranks, the host: PNG, SVG, PDF."
EXAMPLES = (
    "peakline plot train.peak -o memory.pdf\n"
    "peakline plot --kind lines train.peak -o lines.svg\n"
    "peakline plot --kind growth train.peak -o growth.svg\n"
    "peakline plot --kind plan --budget 24GiB train.peak -o plan.svg\n"
    "peakline plot --kind card train.peak -o card.png\n"
    "peakline plot --kind ranks rank*.peak -o ranks.png\n"
    "peakline plot --kind compare before.peak after.peak -o compare.png\n"
    "peakline plot --kind host host.csv -o host.png"
)
_OF_SEVERAL = ("ranks", "compare")
_HOST = "host"  # of a table that `peakline run --host` wrote
KINDS = ("timeline", "lines", "growth", "phases", "modules", "plan", *_OF_SEVERAL, "card", _HOST)
FORMATS = (".png", ".svg", ".pdf")

_WIDTH_INCHES = 7.0
_HEIGHT_INCHES = 3.2
_BAR_INCHES = 0.26  # height of a bar
_DOTS_PER_INCH = 200


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    report_options.add_files(parser)
    parser.set_defaults(folder_gives=_folder_gives)
    parser.add_argument(
        "--kind", choices=KINDS, default="timeline", help="Draw this (default: timeline)"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="Write this file; its ending selects the format: .png, .svg or .pdf"
        " (default: FILE.KIND.png; of host: FILE.png)",
    )
    parser.add_argument("-f", "--force", action="store_true", help="Replace an existing file")
    parser.add_argument(
        "--axis",
        choices=("time", "events"),
        default="time",
        help="With --kind timeline: show seconds, or the order of events (default: time)",
    )
    parser.add_argument(
        "--budget",
        type=report_options.size,
        default=0,
        metavar="SIZE",
        help="With --kind plan: mark this budget for torch's blocks (24GiB), and the set for it",
    )
    parser.add_argument("--title", default="", metavar="TEXT", help="Write TEXT above the figure")
    report_options.add_top(parser, "bars or processes", 12)
    report_options.add_device(parser)
    report_options.add_measure(parser)


def _folder_gives(args: argparse.Namespace) -> str:
    if args.kind == _HOST:
        return WHOLE
    return ALL if args.kind in _OF_SEVERAL else HEAVIEST


def run(args: argparse.Namespace) -> int:
    """Write the figure."""
    if not args.files or (args.kind == _HOST and Path(args.files[0]).is_dir()):
        raise CommandError("--kind host draws the table of peakline run --host FILE: name it")
    if len(args.files) > 1 and args.kind not in _OF_SEVERAL:
        raise CommandError(
            f"--kind {args.kind} draws one FILE; --kind ranks and compare draw several"
        )
    if len(args.files) < 2 and args.kind == "compare":
        raise CommandError("--kind compare lays runs over each other: give two FILEs or more")
    output = Path(args.output) if args.output else _beside(args.files[0], args.kind)
    if output.suffix not in FORMATS:
        raise CommandError(f"{output}: the name must end with {', '.join(FORMATS)}")
    try:
        import matplotlib
    except ImportError as error:
        raise CommandError("plots need matplotlib; type: pip install 'peakline[plot]'") from error
    matplotlib.use("Agg")
    report_engine()
    _write(args, output)
    write_lines(f"Wrote {output}")
    if args.kind != _HOST:
        suggest_for(args.files[0], "html")
    return 0


def _write(args: argparse.Namespace, output: Path) -> None:
    import matplotlib.pyplot as plt

    # Keep text as text in the file, so that it can be searched and set in another font.
    with plt.rc_context({"svg.fonttype": "none", "pdf.fonttype": 42, "font.size": 9}):
        if args.kind == "card":
            _write_card(args, output)
            return
        figure, axes = plt.subplots(layout="constrained")
        try:
            bars = _draw(axes, args)
            height = max(_HEIGHT_INCHES, 1.0 + _BAR_INCHES * bars)
            figure.set_size_inches(_WIDTH_INCHES, height)
            axes.spines[["top", "right"]].set_visible(False)
            if args.title:
                axes.set_title(args.title, loc="left")
            with replacing(output, force=args.force) as unfinished:
                figure.savefig(
                    unfinished, format=output.suffix[1:], dpi=_DOTS_PER_INCH, metadata={}
                )
        finally:
            plt.close(figure)


def _write_card(args: argparse.Namespace, output: Path) -> None:
    """Write the answer of a run as a picture of 1200 by 630 pixels."""
    import matplotlib.pyplot as plt

    from peakline.pages.card import DOTS_PER_INCH, HEIGHT, WIDTH, draw_card
    from peakline.pages.data import read_page

    page = read_page(_open(args.files[0]), **_options_of(args))
    figure = plt.figure(figsize=(WIDTH / DOTS_PER_INCH, HEIGHT / DOTS_PER_INCH))
    try:
        draw_card(figure, page, title=args.title)
        with replacing(output, force=args.force) as unfinished:
            figure.savefig(unfinished, format=output.suffix[1:], dpi=DOTS_PER_INCH, metadata={})
    finally:
        plt.close(figure)


def _options_of(args: argparse.Namespace) -> dict[str, Any]:
    options: dict[str, Any] = {"measure": args.measure, "cwd": str(Path.cwd())}
    if args.device is not None:
        options["device"] = args.device
    return options


def _draw(axes: Axes, args: argparse.Namespace) -> int:
    """Draw the requested figure; returns the number of bars."""
    from peakline.pages import plots
    from peakline.pages.data import read_page
    from peakline.pages.host_plot import draw_host

    options = _options_of(args)
    top = 12 if args.top is None else args.top or 10_000
    if args.kind == _HOST:
        table = read_table(Path(args.files[0]))
        draw_host(axes, table, top)
        return min(top, len(table.processes))
    if args.kind == "ranks":
        traces = [(path, _open(path)) for path in args.files]
        pages = [(_rank_name(path, one), read_page(one, **options)) for path, one in traces]
        plots.draw_ranks(axes, pages)
        return len(pages)
    if args.kind == "compare":
        plots.draw_runs(axes, _runs_by_step(args.files, options))
        return 0
    trace = _open(args.files[0])
    if args.kind == "timeline":
        plots.draw_timeline(axes, read_page(trace, **options), by_events=args.axis == "events")
        return 0
    if args.kind == "growth":
        page = read_page(trace, **options)
        if len(page.columns["growth_tick"]) < 2:
            raise CommandError(f"{args.files[0]} has no two ends of steps to compare")
        plots.draw_growth(axes, page)
        return 0
    if args.kind == "plan":
        plan = frontier_of_file(args.files[0], args.device, args.budget)
        if plan is None:
            raise CommandError(f"{args.files[0]} has no plan; peakline plan --budget 1GiB says why")
        plots.draw_plan(axes, plan)
        return 0
    if args.kind == "lines":
        page = read_page(trace, **options)
        plots.draw_lines(axes, page, top)
        return min(top, len(page.names["peak"]["lines"]))
    if args.kind == "phases":
        phases = json.loads(trace.report("phases", json=True, **options))
        if not any(one["step"] is not None for one in phases["phases"]):
            raise CommandError(
                f"{args.files[0]} has no steps: they begin with backward passes and"
                " optimizers, or with peakline.step()"
            )
        plots.draw_phases(axes, phases)
        return 0
    table = json.loads(trace.report("table", json=True, by="module", fold=True, **options))
    plots.draw_modules(axes, table, top)
    return min(top, len(table["rows"]))


def _open(path: str) -> Trace:
    trace: Trace = report_engine().Trace(path)
    return trace


def _rank_name(path: str, trace: Trace) -> str:
    """Return the rank if the trace knows it, else the file name."""
    rank = trace.info()["meta"].get("rank", "")
    return f"rank {rank}" if rank else trace_stem(path)


def _beside(path: str, kind: str) -> Path:
    if kind == _HOST:
        return Path(path).with_suffix(".png")
    return Path(path).with_name(f"{trace_stem(path)}.{kind}.png")


def _runs_by_step(files: list[str], options: dict[str, Any]) -> list[tuple[str, StepLevels]]:
    from peakline.pages.step_levels import StepLevels

    runs = [(path, StepLevels(json.loads(_open(path).step_levels(**options)))) for path in files]
    units = {run.data["one"]: path for path, run in runs}
    if len(units) > 1:
        kinds = " and ".join(f"{path} has {one}s" for one, path in units.items())
        raise CommandError(f"--kind compare needs steps of one kind: {kinds}")
    return [(_rank_name(path, _open(path)), run) for path, run in runs]
