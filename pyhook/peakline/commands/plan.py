"""``peakline plan``: the cheapest layers to checkpoint under a budget; --try proves it by runs.

With --sizes: the peak at other sizes.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from peakline.api import assumptions
from peakline.base.engine import CommandError
from peakline.base.next_commands import next_commands, shell_words
from peakline.base.output import write_json, write_lines
from peakline.base.sizes import bytes_of, size_of, size_or_unknown
from peakline.builds.device_profiles import simulated_devices
from peakline.builds.native_build import BuildError
from peakline.commands.running.program_options import run_options_of
from peakline.commands.running.trial_runs import add_try_arguments, check_program, progress
from peakline.commands.shared import report_options as options
from peakline.commands.shared.folders import WHOLE
from peakline.commands.shared.plan_sizes import add_sizes_arguments, run_sizes
from peakline.commands.shared.printing import print_reports, suggest
from peakline.recording.plans import SNIPPET
from peakline.trials.attempts import TryOptions
from peakline.trials.planning import MOST_RUNS, Budget, Planned, other_bytes, plan_program

NAME = "plan"
HELP = "Show the cheapest layers to checkpoint under a budget. --try proves it."
EXAMPLES = (
    "peakline plan --budget 24GiB train.peak\n"
    "peakline plan --budget a100-40 train.peak\n"
    "peakline plan --try train.py --simulate h200 --budget 24GiB --steps 3\n"
    "peakline plan --sizes a.peak b.peak --at batch=64,length=8192"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``peakline plan``."""
    parser.usage = (
        "peakline plan --budget SIZE [options] FILE ...\n"
        "       peakline plan --budget SIZE --try PROGRAM --simulate DEVICE [options]"
        " [-- ARGUMENTS ...]\n"
        "       peakline plan --sizes FILE FILE ... --at batch=N,length=N"
    )
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="Trace file (.peak, or packed .peak.zst)"
    )
    parser.add_argument(
        "--budget",
        type=_budget,
        metavar="SIZE",
        help="Bytes for the blocks of torch's allocator (24GiB), or a device (a100-40): its memory"
        " without what others than torch take",
    )
    parser.add_argument(
        "--layers",
        default="",
        metavar="PATH,...",
        help="Predict the peak with these layers checkpointed (h.0,h.1), instead of searching",
    )
    add_try_arguments(
        parser,
        "Run this program as it is and with all layers checkpointed, then the plan on a"
        " simulated device of this size, then the next cheaper plan; words after -- are its"
        " arguments, or the program",
    )
    add_sizes_arguments(parser)
    folder_gives = parser.get_default("folder_gives")
    parser.set_defaults(folder_gives=lambda args: WHOLE if args.sizes else folder_gives(args))
    options.add_device(parser)
    options.refuse_where(parser)
    options.add_terminal(parser)
    parser.add_argument("--json", action="store_true", help="Print JSON")


def _budget(text: str) -> Budget:
    devices = {one.name.lower(): one.memory_bytes for one in simulated_devices()}
    if text.lower() in devices:
        return Budget(devices[text.lower()], is_device=True)
    try:
        return Budget(bytes_of(text), is_device=False)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"'{text}' is neither a size (24GiB) nor a device (peakline run --simulate list)"
        ) from None


def run(args: argparse.Namespace) -> int:
    """Print the plan. Returns 1 if none fits, or if its run does not fit."""
    if args.sizes:
        return run_sizes(args, _room(args.budget, args.sizes[0][0]) if args.budget else 0)
    if args.at or args.lengths:
        raise CommandError("--at and --lengths need --sizes: the recordings to predict from")
    if args.program is not None:
        return _run_trials(args)
    if len(args.files) != 1:
        raise CommandError("name one recording: a budget is for one process")
    layers = [layer for layer in args.layers.split(",") if layer]
    budget: Budget | None = args.budget
    if budget is None and not layers:
        raise CommandError("give a --budget: a size (24GiB) or a device (a100-40)")
    chosen = options.named_options(args)
    chosen.pop("at", None)  # of --sizes
    chosen |= {"layers": layers}
    if budget is not None:
        chosen |= {"peak_budget": _room(budget, args.files[0])}
        chosen |= {"budget_of": "device" if budget.is_device else "allocated"}
    print_reports(args, NAME, chosen)
    suggest(args, "advise")
    return 0


def _room(budget: Budget, path: str) -> int:
    """Return the bytes that a budget leaves for blocks of torch's allocator."""
    beside = other_bytes(Path(path)) if budget.is_device else 0
    return max(0, budget.bytes - beside)


def _run_trials(args: argparse.Namespace) -> int:
    check_program(args, NAME)
    for problem in map(assumptions.problem_of, args.assume):
        if problem:
            raise CommandError(problem)
    if args.budget is None:
        raise CommandError("give a --budget: a size (24GiB) or a device (a100-40)")
    if not args.simulate:
        raise CommandError(
            "--try needs --simulate: only a simulated GPU has the size of a budget;"
            " peakline plan FILE plans a recording of a real one"
        )
    command = [*([args.program] if args.program else []), *args.program_arguments]
    tried = TryOptions(run_options_of(args), args.simulate)
    try:
        with tempfile.TemporaryDirectory(prefix="peakline-plan-") as folder, progress() as show:
            found = plan_program(command, tried, args.budget, Path(folder), show)
    except BuildError as error:
        raise CommandError(*error.args) from None
    if found.problem:
        words = found.base.last_words if not found.document else []
        raise CommandError(found.problem + ":", *(f"  {line}" for line in words))
    if args.json:
        write_json(_document(found), indent=2)
    else:
        write_lines(*_report(args, command, found))
    return 0 if found.fits or found.document["fits_as_it_is"] else 1


def _document(found: Planned) -> dict[str, Any]:
    document = dict(found.document)
    document["budget_bytes"] = found.room_bytes  # a plan with a margin is for less
    proof = dict(document.get("proof") or {})
    refuted = found.cheaper_run is not None and found.cheaper_run.out_of_memory
    document["proof"] = {**proof, "cheaper_refuted": refuted}
    if found.run is not None:
        document["run"] = {
            "peak_bytes": found.run.peak_bytes,
            "device_bytes": found.device_bytes,
            "most_used_bytes": found.run.most_used_bytes,
            "fits": found.fits,
            "margin_bytes": found.margin_bytes,
            "difference_bytes": _difference(found),
        }
    return document


def _predicted(found: Planned) -> int:
    return int(found.document["predicted"]["requested_bytes"] + found.document["rounding_bytes"])


def _difference(found: Planned) -> int | None:
    if found.run is None or found.run.peak_bytes is None or not found.fits:
        return None
    return found.run.peak_bytes - _predicted(found)


def _share(cost: dict[str, Any]) -> str:
    share = cost["cost_share"]
    return "FLOPs are not known" if share is None else f"+{share * 100:.1f} % FLOPs"


def _report(args: argparse.Namespace, command: list[str], found: Planned) -> Iterator[str]:
    document = found.document
    yield "Simulated device: sizes are exact, numbers are not; no GPU was used"
    yield f"Peak as it is: {size_or_unknown(found.base.peak_bytes)}"
    yield f"Device: {size_of(found.device_bytes)}, for torch {size_of(found.room_bytes)}"
    if document["refusal"]:
        yield f"No plan: {document['refusal']}"
        return
    yield from document["left_out"]
    if document["fits_as_it_is"]:
        yield "It fits as it is."
        return
    if not document["feasible"]:
        lowest = document["lowest_bytes"] + document["rounding_bytes"]
        yield f"No set of layers fits: the lowest peak is about {size_of(lowest)}. It holds:"
        yield from (f"  {size_of(one['bytes']):>9}  {one['category']}" for one in document["rest"])
        return
    yield ""
    yield from _plan(found)
    yield ""
    yield from _runs(found)
    yield ""
    yield from _snippet(found)
    changes = " ".join(f"--change {one}" for one in found.changes)
    simulate = f"--simulate {args.simulate} {changes} -- {shell_words(command)}"
    yield ""
    yield from next_commands([(f"advise --try {simulate}", "the same change, on another device")])


def _plan(found: Planned) -> Iterator[str]:
    for one in found.document["plan"]:
        if not one["layers"]:
            yield f"Without a cost: {one['change']}"
            continue
        count = f"{len(one['layers'])} of {len(found.document['all_layers'])} layers"
        yield f"Checkpoint {count}, {_share(one)}:"
        yield f"  {', '.join(one['layers'])}"


def _runs(found: Planned) -> Iterator[str]:
    yield f"Predicted: {size_of(_predicted(found))} at the peak"
    if found.run is None:
        return
    peak = size_or_unknown(found.run.peak_bytes)
    if not found.fits:
        ended = "ran out of memory" if found.run.out_of_memory else "failed"
        yield f"Run on a device of this size: {ended} (peak so far {peak}). Not proved."
        return
    used = size_or_unknown(found.run.most_used_bytes)
    yield f"Run on a device of this size: fits, peak {peak}, {used} of the device used"
    if found.margin_bytes:
        yield f"  (planned for {size_of(found.margin_bytes)} less: the first plan did not fit)"
    cheaper = found.document["proof"]["next_cheaper"]
    if found.cheaper_run is not None:
        name = _name_of_cheaper(cheaper)
        if found.cheaper_run.out_of_memory:
            yield f"{name}: out of memory on this device"
        elif found.cheaper_run.status == found.base.status:
            yield f"{name}: fits, too; this plan is not the cheapest"
        else:
            yield f"{name}: failed"
    elif cheaper is not None:
        yield f"{_name_of_cheaper(cheaper)}: not tried, after {MOST_RUNS} runs"
    proof = found.document["proof"]
    if proof["optimal"]:
        yield f"No cheaper set of whole layers fits in this model (search nodes: {proof['nodes']})"


def _name_of_cheaper(point: dict[str, Any]) -> str:
    return f"The next cheaper plan ({len(point['layers'])} layers, {_share(point)})"


def _snippet(found: Planned) -> Iterator[str]:
    if not found.layers:
        return
    yield "To paste, after the model is made:"
    yield from (f"  {line.replace('{names}', str(found.layers))}" for line in SNIPPET)
