"""Options of the commands that print reports; one function adds each."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from peakline.base.engine import CommandError, report_engine
from peakline.base.files import here
from peakline.base.sizes import bytes_of
from peakline.commands.shared.parser import refuse_option

if TYPE_CHECKING:
    from peakline._report import Options

_LAST_REQUEST = "oom"  # a value of --at


def option_words(option: str) -> dict[str, str]:
    """Return the values of an option, each with its meaning.

    The engine defines them, so --help of a command on traces needs the engine. The result is a
    copy: a command may remove values that it does not support.
    """
    return dict(cast("dict[str, str]", report_engine().CHOICES[option]))


def _listed(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"


def row_count(text: str) -> int:
    """Return the number of rows of --top.

    Raises:
        argparse.ArgumentTypeError: it is no number.
    """
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of rows (0: all)")
    return int(text)


def add_files(parser: argparse.ArgumentParser) -> None:
    """Add FILE."""
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="Trace file (.peak, or packed .peak.zst), or the folder of a run: its heaviest rank"
        " (default: the newest run in this folder)",
    )


def add_grouping(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose the grouping."""
    keys = [f"{name} ({meaning})" for name, meaning in option_words("by").items()]
    parser.add_argument(
        "--by",
        default="line",
        metavar="KEY",
        help=f"Group rows by {_listed(keys)}, or by two of them, as module,lifetime: a row for"
        " each pair (default: line)",
    )
    add_modules(parser)
    add_frames(parser)
    parser.add_argument(
        "--native",
        action="store_true",
        help="With --by stack: begin with the native frames below the innermost Python line",
    )


def add_where(parser: argparse.ArgumentParser) -> None:
    """Add --where."""
    parser.add_argument(
        "--where",
        action="append",
        metavar="KEY=VALUE",
        help="Show only blocks whose row of --by KEY has this text, or matches this glob:"
        " category=activation, module='h.*.mlp', line='*/model.py:*'. Several of one KEY are"
        " alternatives, different KEYs must all hold",
    )


def refuse_where(parser: argparse.ArgumentParser) -> None:
    """Refuse --where, and name the commands that have it."""
    refuse_option(
        parser,
        "--where",
        f"{parser.prog} has no rows of single blocks; table, summary, tensors, timeline and stats"
        " have it",
    )


def add_modules(parser: argparse.ArgumentParser) -> None:
    """Add the options that show paths of modules."""
    parser.add_argument(
        "--depth",
        type=row_count,
        default=0,
        metavar="N",
        help="Keep N parts of module paths, so that 2 puts h.3.mlp and h.3.attn in one row, h.3",
    )
    parser.add_argument(
        "--fold",
        action="store_true",
        help="Put repeated layers in one row: h.0.mlp and h.1.mlp are h.*.mlp",
    )


def add_frames(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose the frame of a stack and how it is shown."""
    frames = [f"{meaning} ({name})" for name, meaning in option_words("frame").items()]
    add_frame_argument(
        parser,
        f"Choose the line that represents a stack: {_listed(frames)} (default: caller)",
    )
    parser.add_argument(
        "--hide",
        action="append",
        metavar="GLOB",
        help="Skip frames of these files (may be given several times)",
    )
    parser.add_argument(
        "--symbols",
        action="append",
        metavar="FOLDER",
        help="Also look in this folder for the libraries whose functions have no names here:"
        " site-packages of the same torch, debug files (may be given several times)",
    )
    parser.add_argument(
        "--full-paths", action="store_true", help="Print absolute paths, not shortened"
    )


def add_frame_argument(parser: argparse.ArgumentParser, meaning: str) -> None:
    """Add --frame."""
    parser.add_argument(
        "--frame", default="caller", choices=list(option_words("frame")), help=meaning
    )


def add_moment(parser: argparse.ArgumentParser) -> None:
    """Add --at."""
    parser.add_argument(
        "--at",
        default="peak",
        metavar="WHEN",
        help=f"Show this moment: {', '.join(option_words('at'))}, seconds since the trace began, or"
        " the peak of a phase (forward, backward, optimizer, step, or a name of yours; backward@3"
        " is the one of step 3; peakline phases lists them; default: peak)",
    )


def add_during(parser: argparse.ArgumentParser, meaning: str) -> None:
    """Add --during; `meaning` describes the effect of a part of the run."""
    parser.add_argument(
        "--during",
        metavar="PART",
        help=f"{meaning} in this part of the run: a phase (backward, step@3, a name of yours;"
        " peakline phases lists them), or seconds A..B, one of which may be left out",
    )


def add_request(parser: argparse.ArgumentParser) -> None:
    """Add --nth, a special --at."""
    parser.add_argument(
        "--nth",
        dest="at",
        default=_LAST_REQUEST,
        type=_request,
        metavar="N",
        help="Show the request of this number, from 1 (default: the last one)",
    )


def _request(text: str) -> str:
    if text == _LAST_REQUEST:
        return text
    if not (text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"'{text}': takes a number from 1")
    return f"oom@{int(text)}"


def add_device(parser: argparse.ArgumentParser) -> None:
    """Add --device."""
    parser.add_argument(
        "--device",
        metavar="N",
        help="Show this device: a number, all for the sum of the GPUs, pinned or cpu for memory of"
        " the host (default: the GPU with the highest peak)",
    )


def add_measure(parser: argparse.ArgumentParser) -> None:
    """Add --measure."""
    words = option_words("measure")
    parser.add_argument(
        "--measure",
        default="allocated",
        choices=list(words),
        help=f"Count {_listed(list(words.values()))} (default: allocated)",
    )


def add_every_measure(parser: argparse.ArgumentParser) -> None:
    """Add --measure with the driver's levels."""
    add_measures(parser, option_words("every-measure"))


def add_level_measure(parser: argparse.ArgumentParser) -> None:
    """Add --measure for a level over time."""
    words = option_words("every-measure")
    add_measures(parser, {name: words[name] for name in words if name != "requested"})


def add_measures(parser: argparse.ArgumentParser, words: dict[str, str]) -> None:
    """Add --measure with these words, each with its meaning."""
    meanings = [f"{meaning} ({name})" for name, meaning in words.items()]
    parser.add_argument(
        "--measure",
        default="allocated",
        choices=list(words),
        help=f"Count {_listed(meanings)} (default: allocated)",
    )


def add_device_or_sum(parser: argparse.ArgumentParser) -> None:
    """Add --device for reports whose default is the sum of the devices."""
    parser.add_argument(
        "--device",
        default="all",
        metavar="N",
        help="Show this device: a number, all for the sum of the GPUs, pinned or cpu for memory of"
        " the host (default: all)",
    )


def add_least_size(parser: argparse.ArgumentParser) -> None:
    """Add --min."""
    parser.add_argument(
        "--min",
        dest="min_bytes",
        type=size,
        default=0,
        metavar="SIZE",
        help="Show only tensors of this size and larger (64K, 1MiB)",
    )


def add_search(parser: argparse.ArgumentParser) -> None:
    """Add --search."""
    parser.add_argument(
        "--search",
        type=row_count,
        default=0,
        metavar="N",
        help="Show the search of this number, from 1 (default: the last one)",
    )


def add_fail_on_growth(parser: argparse.ArgumentParser) -> None:
    """Add --fail-on-growth."""
    parser.add_argument(
        "--fail-on-growth",
        action="store_true",
        help="Exit with status 1 when something grows, unless too slowly to matter",
    )


def add_whatif(parser: argparse.ArgumentParser) -> None:
    """Add the settings to try."""
    parser.add_argument(
        "--set",
        dest="settings",
        action="append",
        metavar="SETTINGS",
        help="Try these settings of torch's allocator, as PYTORCH_CUDA_ALLOC_CONF takes them:"
        " expandable_segments:True (may be given several times; one pass serves all)",
    )
    parser.add_argument(
        "--search",
        dest="search_settings",
        action="store_true",
        help="Try settings that help many programs, best first",
    )
    parser.add_argument(
        "--device-memory",
        type=size,
        default=0,
        metavar="SIZE",
        help="Run on a device of this size (40GiB; default: the recorded one)",
    )
    parser.add_argument(
        "--smallest-device",
        action="store_true",
        help="Find the smallest device that each of the settings fits on",
    )
    parser.add_argument(
        "--empty-cache-at",
        metavar="PHASE",
        help="Call torch.cuda.empty_cache() when each of these phases begins (forward,"
        " optimizer, step, a name of yours)",
    )
    parser.add_argument(
        "--unverified",
        action="store_true",
        help="Predict even if the model does not reproduce the recorded run",
    )


def add_points(parser: argparse.ArgumentParser) -> None:
    """Add --points, the --top of a chart."""
    parser.add_argument(
        "--points",
        dest="top",
        type=_point_count,
        metavar="N",
        help="Draw N points in time (default: one per column, 1000 with --json)",
    )


def refuse_selection(parser: argparse.ArgumentParser) -> None:
    """Refuse --at and --device for a report of the whole trace, with the reason."""
    for option in ("--at", "--device"):
        refuse_option(
            parser, option, f"stats counts the whole trace; peakline table {option} selects"
        )


def add_top(parser: argparse.ArgumentParser, what: str, default: int) -> None:
    """Add --top, the number of shown `what`."""
    parser.add_argument(
        "--top", type=row_count, metavar="N", help=f"Show N {what}, 0 for all (default: {default})"
    )


def add_terminal(parser: argparse.ArgumentParser) -> None:
    """Add the options for terminals."""
    parser.add_argument(
        "--plain",
        action="store_true",
        help="Print as into a pipe: no columns, no colours, no tree",
    )
    parser.add_argument("--no-color", action="store_true", help="Use no colours (as NO_COLOR does)")


def size(text: str) -> int:
    """Return the bytes of "512", "64K" or "1.5 MiB"."""
    try:
        return bytes_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _point_count(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 1_000_000:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of points (1 to 1000000)")
    return int(text)


def report_options(args: argparse.Namespace, default_top: int) -> Options:
    """Return the engine's options from parsed arguments. JSON has all rows by default."""
    top = args.top
    if top is None:
        top = 0 if args.json else default_top
    if "by" in args and not _module_keys(args) and (args.depth or args.fold):
        option = "--depth" if args.depth else "--fold"
        raise CommandError(f"{option} shortens module paths, and needs --by module")
    options = named_options(args)
    options["top"] = top
    return options


def _module_keys(args: argparse.Namespace) -> set[str]:
    """Return the keys of --by and --where that group by module path."""
    keys = args.by.split(",") + [text.partition("=")[0] for text in args.where or ()]
    return {"module", "tensor"} & {key.strip() for key in keys}


def named_options(args: argparse.Namespace) -> Options:
    """Return the engine's options that have the same name in the command."""
    options: Options = {"cwd": here()}
    for name in (
        "by",
        "frame",
        "at",
        "during",
        "device",
        "measure",
        "hide",
        "symbols",
        "full_paths",
        "depth",
        "fold",
        "native",
        "min_bytes",
        "search",
        "where",
        "settings",
        "device_memory",
        "empty_cache_at",
        "search_settings",
        "smallest_device",
        "unverified",
    ):
        if hasattr(args, name):
            options[name] = getattr(args, name)
    return options
