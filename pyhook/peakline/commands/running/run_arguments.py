"""The options of ``peakline run``, and what may be wrong with them."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import Any

from peakline.base.common import add_python_argument, recorder
from peakline.commands.running.hold_option import add_hold_argument, problem_of_hold
from peakline.commands.running.misplaced_options import problem_of_device_behind
from peakline.commands.running.steps_option import add_recorded_steps_argument, problem_of_steps
from peakline.commands.shared.report_options import row_count
from peakline.launch.output_name import file_mode, problem_of_output, with_slash
from peakline.launch.ranks import parse_ranks
from peakline.launch.simulation import (
    add_simulation_arguments,
    check_simulation,
    simulated_device,
)


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
        type=simulated_device,
        metavar="DEVICE",
        default="",
        help="Run on a simulated GPU: h200, a100-80, h200x8, h100:40GiB (another size)",
    )
    # As `peakline fit` calls it.
    parser.add_argument("--device", dest="simulate", type=simulated_device, help=argparse.SUPPRESS)
    parser.add_argument(
        "--world",
        type=int,
        metavar="N",
        help="Run the program as one rank of a job of N ranks (with --simulate)",
    )
    parser.add_argument("--rank", metavar="R", help="Run this rank of --world (default: 0)")
    parser.add_argument(
        "--ranks", metavar="LIST", help="Run several ranks of --world, one trace each: 0,7,56-63"
    )
    add_simulation_arguments(parser)
    add_recorded_steps_argument(parser)
    add_hold_argument(parser)
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
        "--cpu",
        action="store_true",
        help="Also record CPU tensors, as device cpu; needs no GPU (each costs what recording a"
        " block of the GPU costs)",
    )
    parser.add_argument(
        "--keep",
        default="all",
        metavar="WHAT",
        help="Keep this much in the file: all (every event), last:SIZE (the newest events, such as "
        "last:2GiB), peak (peaks of devices and phases, a few MB however long the run); what grows "
        "from step to step and requests that were refused are known of the whole run",
    )
    parser.add_argument(
        "--mode",
        type=file_mode,
        default="",
        metavar="MODE",
        help="Let others read the trace: 0640 for your group, 0644 for all (default: 0600)",
    )
    parser.add_argument(
        "--no-command",
        action="store_true",
        help="Leave the command line out of the trace (what looks like a key or a password in it is"
        " left out anyway)",
    )
    parser.add_argument(
        "--report-on-signal",
        action="store_true",
        help="Write a report beside the trace, NAME.1.txt, when SIGUSR2 comes to the program, or to"
        " peakline run: then of all ranks. The program runs on",
    )
    parser.add_argument(
        "--html", action="store_true", help="Also write the page of peakline html, beside the trace"
    )
    parser.add_argument(
        "-q",
        "--quiet",
        action="count",
        default=0,
        help="Print nothing at the end except the name of the trace; -qq: not that either",
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


def check_arguments(args: argparse.Namespace) -> str:
    """Return what is wrong with the arguments, or ''."""
    if not args.program or args.program in (["--"], ["-m"], ["-c"]):
        return "nothing to run: peakline run SCRIPT.py, -m MODULE, -c CODE or -- COMMAND"
    script = args.program[0]
    if script.endswith(".py") and not Path(script).exists():
        return f"{script} does not exist: give the path of the script"
    if Path(script).is_dir() and not Path(script, "__main__.py").exists():
        return f"{script} is a folder without __main__.py: give the path of a script"
    if problem := problem_of_device_behind(args.program):
        return problem
    if args.python and shutil.which(args.python) is None:
        return f"{args.python} cannot be run: name the Python that has torch with --python"
    args.output = with_slash(args.output)
    if not args.no_record and (problem := problem_of_output(args.output, force=args.force)):
        return problem
    if problem := recorder().keep_problem(args.keep):
        return f"--keep {args.keep} {problem}"
    if args.no_record and not args.simulate:
        return "--no-record needs --simulate: without both there is nothing to do"
    if args.no_record and args.html:
        return "--html shows what was recorded: leave --no-record out"
    if args.cpu and args.no_record:
        return "--cpu records CPU tensors: leave --no-record out"
    if problem := problem_of_hold(args.hold):
        return problem
    if args.report_on_signal and args.no_record:
        return "--report-on-signal reports what is recorded: leave --no-record out"
    if args.hold and args.no_record:
        return "--hold records what it finds: leave --no-record out"
    if problem := problem_of_steps(args.steps, is_recorded=not args.no_record):
        return problem
    return check_simulation(args) or _check_ranks(args)


def _check_ranks(args: argparse.Namespace) -> str:
    if args.world is None:
        chosen = "--rank" if args.rank is not None else "--ranks"
        is_wrong = args.rank is not None or args.ranks is not None
        return f"{chosen} needs --world N, the number of ranks of the job" if is_wrong else ""
    if not args.simulate:
        return "--world needs --simulate: ranks that do not exist need a simulated GPU"
    if args.world < 1:
        return f"--world {args.world}: a job has at least one rank"
    if args.rank is not None and args.ranks is not None:
        return "--rank and --ranks say the same: give one of them"
    words = [word for word in args.program if word != "--"]
    if words and Path(words[0]).name in ("torchrun", "accelerate", "deepspeed", "mpirun"):
        return (
            f"--world runs one rank by itself: give the script, not {Path(words[0]).name} "
            "(to run all ranks on this machine, leave --world away)"
        )
    try:
        parse_ranks(rank_list(args), args.world)
    except ValueError as error:
        return str(error)
    return ""


def rank_list(args: argparse.Namespace) -> str:
    """Return which ranks were chosen, as --ranks takes them."""
    return str(args.ranks if args.ranks is not None else args.rank or "0")
