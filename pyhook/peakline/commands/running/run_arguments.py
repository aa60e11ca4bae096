"""The command line options of ``peakline run``."""

from __future__ import annotations

import argparse
from typing import Any

from peakline.base.engine import recorder
from peakline.commands.running.misplaced_options import problem_of_device_behind
from peakline.commands.running.program_options import (
    STEPS,
    add_python_argument,
    add_simulation_arguments,
    device_or_list,
)
from peakline.commands.shared.report_options import row_count
from peakline.launch.options import RunOptions, problem_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``peakline run``."""
    backends, stacks = recorder().BACKENDS, recorder().STACKS
    parser.usage = (
        "peakline run [options] (SCRIPT.py | -m MODULE | -c CODE | [--] COMMAND) [ARGUMENTS ...]"
    )
    parser.add_argument(
        "-o",
        "--output",
        default="",
        metavar="NAME",
        help="Write this trace file, or into this folder/; %%h host, %%p process id, %%r rank,"
        " %%l local rank, %%a attempt, %%i run, %%e script (default:"
        " peakline-%%e.%%h.%%p.peak; of ranks peakline-%%e.%%i/rank%%r.%%h.peak)",
    )
    parser.add_argument(
        "-f", "--force", action="store_true", help="Replace an existing trace file (with -o)"
    )
    parser.add_argument(
        "--simulate",
        type=device_or_list,
        metavar="DEVICE",
        default="",
        help="Run on a simulated GPU: h200, a100-80, h200x8, h100:40GiB (another size),"
        " h100:1g.10gb (a slice, MIG); list: print all devices",
    )
    # The name of this option in `peakline fit`.
    parser.add_argument("--device", dest="simulate", type=device_or_list, help=argparse.SUPPRESS)
    parser.add_argument(
        "--world",
        type=int,
        metavar="N",
        help="Run the program as one rank of a job of N ranks (with --simulate)",
    )
    parser.add_argument(
        "--device-group",
        default="",
        metavar="NAME",
        help="Share the simulated devices with other runs of this name; the processes of one run"
        " always share them",
    )
    parser.add_argument("--rank", metavar="R", help="Run this rank of --world (default: 0)")
    parser.add_argument(
        "--ranks", metavar="LIST", help="Run several ranks of --world, one trace each: 0,7,56-63"
    )
    add_simulation_arguments(parser)
    parser.add_argument(
        "--steps",
        metavar="N",
        help=f"{STEPS}. A..B: record only steps A to B (5..8), or A.. from step A on; the program"
        " runs to its own end; memory that it holds when step A begins is 'untraced'",
    )
    parser.add_argument(
        "--hold",
        default="",
        metavar="STEP",
        help="Record what keeps the largest blocks alive, for peakline holders: after the STEPth"
        " step of an optimizer (without one: of peakline.step(), or batch of a DataLoader), at the"
        " end (end: when the main function returns, and when the program ends), or at several of"
        " these (10,20,end); also when memory runs out, and on SIGUSR2. A search takes at most 2"
        " seconds, or the given time (100,5s)",
    )
    parser.add_argument("--no-record", action="store_true", help="Simulate only, write no trace")
    parser.add_argument(
        "--backend", choices=backends, default=backends[0], help="Choose how to intercept"
    )
    parser.add_argument(
        "--stacks",
        choices=stacks,
        default=stacks[0],
        help=f"Record these stacks (default: {stacks[0]})",
    )
    parser.add_argument(
        "--frees",
        action="store_true",
        help="Also record which lines free memory, for table --by freed-by and tensors (costs one"
        " extra stack capture per free)",
    )
    parser.add_argument(
        "--saved",
        action="store_true",
        help="Also record when autograd saves a block for the backward pass, and in which"
        " operator, for tensors and the page (costs one extra stack capture per saved block)",
    )
    parser.add_argument(
        "--cpu",
        action="store_true",
        help="Also record CPU tensors, as device cpu; needs no GPU (each costs as much as"
        " recording a block of the GPU)",
    )
    parser.add_argument(
        "--keep",
        default="all",
        metavar="WHAT",
        help="Keep this much in the file: all (every event), last:SIZE (the newest events, such as "
        "last:2GiB), peak (peaks of devices and phases, a few MB however long the run); growth "
        "from step to step and refused requests are kept for the whole run",
    )
    parser.add_argument(
        "--mode",
        default="",
        metavar="MODE",
        help="Let others read the trace: 0640 for your group, 0644 for all (default: 0600)",
    )
    parser.add_argument(
        "--no-command",
        action="store_true",
        help="Leave the command line out of the trace (words that look like keys or passwords"
        " are always left out)",
    )
    parser.add_argument(
        "--no-source",
        action="store_true",
        help="Keep no line of the program's files in the trace (by default those that reports"
        " show)",
    )
    parser.add_argument(
        "--report-on-signal",
        action="store_true",
        help="Write a report beside the trace, NAME.1.txt, when the program receives SIGUSR2;"
        " if peakline run receives it, for all ranks. The program continues",
    )
    parser.add_argument(
        "--host",
        default="",
        metavar="FILE.csv",
        help="Also write the resident host memory of every process of the run over time, once a"
        " second, as CSV",
    )
    parser.add_argument(
        "--html", action="store_true", help="Also write the page of peakline html, beside the trace"
    )
    parser.add_argument(
        "-q",
        "--quiet",
        action="count",
        default=0,
        help="Print nothing at the end except the name of the trace; -qq: print nothing",
    )
    parser.add_argument(
        "--top",
        type=row_count,
        default=10,
        metavar="N",
        help="Show N rows at the end, 0 for all (default: 10)",
    )
    add_python_argument(parser)
    parser.set_defaults(own_options=[*parser._option_string_actions])
    remainder: dict[str, Any] = {"nargs": argparse.REMAINDER, "help": argparse.SUPPRESS}
    parser.add_argument("-m", dest="module", **remainder)
    parser.add_argument("-c", dest="code", **remainder)
    parser.add_argument("program", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def options_of(args: argparse.Namespace) -> RunOptions:
    """Return the options that were typed."""
    program = args.program
    if args.module is not None:
        program = ["-m", *args.module]
    elif args.code is not None:
        program = ["-c", *args.code]
    names = (
        "python output force simulate device_group world assume max_value_reads allow_writes"
        " blank_weights steps hold backend stacks frees saved cpu keep mode no_command no_source"
        " report_on_signal html host quiet top"
    )
    return RunOptions(
        program=program,
        is_recorded=not args.no_record,
        ranks=next(filter(None, (args.ranks, args.rank)), ""),
        **{name: getattr(args, name) for name in names.split()},
    )


def problem_of_words(args: argparse.Namespace, options: RunOptions) -> str:
    """Return the problem of the typed options, or ''."""
    if args.rank is not None and args.world is None:
        return "--rank needs --world N, the number of ranks of the job"
    if args.rank is not None and args.ranks is not None:
        return "--rank and --ranks say the same: give one of them"
    return problem_of_device_behind(options.program) or problem_of(options)
