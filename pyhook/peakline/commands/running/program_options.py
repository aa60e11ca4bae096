"""Options of every command that runs a program: run, fit, advise --try."""

from __future__ import annotations

import argparse

from peakline.commands.running.device_list import LIST
from peakline.launch.options import RunOptions
from peakline.launch.simulation import problem_of_device

STEPS = (
    "End the program with status 0 when its optimizers have made N steps; its output is"
    " flushed, its exit handlers do not run"
)


def add_simulation_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of a simulated run."""
    parser.add_argument(
        "--assume",
        action="append",
        default=[],
        metavar="WHERE=VALUE",
        help="Use this value for reads from the simulated GPU at FILE:LINE or by an OPERATOR"
        " (nonzero, masked_select, unique, item): a number, or for sizes a fraction (0.25) of"
        " the searched elements. routing=balanced, routing=worst or routing=measured:FILE: the"
        " experts that tokens choose",
    )
    parser.add_argument(
        "--max-value-reads",
        type=int,
        metavar="N",
        help="Stop after N reads of an unknowable GPU value at one line, with status 3 (default:"
        " 10000; 0: never)",
    )
    parser.add_argument(
        "--allow-writes",
        action="store_true",
        help="Let a simulated program overwrite and keep checkpoints (their values are not real)",
    )
    parser.add_argument(
        "--blank-weights",
        action="store_true",
        help="Let large CPU tensors that are filled at random hold no memory, so that a model of"
        " any size can be built on the CPU and moved; they read as zero",
    )


def add_python_argument(parser: argparse.ArgumentParser) -> None:
    """Add --python, the interpreter whose torch is used."""
    parser.add_argument(
        "--python",
        metavar="PATH",
        default="",
        help="Use this Python, which has torch (default: the one of peakline)",
    )


def add_steps_argument(parser: argparse.ArgumentParser) -> None:
    """Add the option that ends a program early; also without a simulated GPU."""
    parser.add_argument("--steps", type=int, metavar="N", help=STEPS)


def simulated_device(text: str) -> str:
    """Return the device of --simulate.

    Raises:
        argparse.ArgumentTypeError: there is no such device.
    """
    if text and (problem := problem_of_device(text)):  # '' is the default
        raise argparse.ArgumentTypeError(problem)
    return text


def device_or_list(text: str) -> str:
    """Return the device of --simulate, or the word that asks for the list of devices.

    Raises:
        argparse.ArgumentTypeError: there is no such device.
    """
    return text if text == LIST else simulated_device(text)


def run_options_of(args: argparse.Namespace) -> RunOptions:
    """Return the options with which `fit` and `advise --try` run the program."""
    return RunOptions(
        python=args.python,
        assume=args.assume,
        max_value_reads=args.max_value_reads,
        allow_writes=args.allow_writes,
        blank_weights=args.blank_weights,
        steps=None if args.steps is None else str(args.steps),
    )
