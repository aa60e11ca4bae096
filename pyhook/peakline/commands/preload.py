"""``peakline preload``: print the library for LD_PRELOAD."""

from __future__ import annotations

import argparse

from peakline.base.output import say, say_error, write_lines
from peakline.builds.native_build import NATIVE_FOLDER, BuildError, ensure_torch_part, find_torch
from peakline.commands.running.program_options import add_python_argument

NAME = "preload"
HELP = "Print the path of the library for LD_PRELOAD. It records without peakline run."
EXAMPLES = "LD_PRELOAD=$(peakline preload) python train.py"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``peakline preload``."""
    add_python_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Print the path; builds the part for the installed torch, and reports a failure to build."""
    library = NATIVE_FOLDER / "libpeakline_preload.so"
    if not library.exists():
        say(f"peakline: error: {library} is missing: build it with `make build`")
        return 2
    try:
        ensure_torch_part(find_torch(args.python or None))
    except BuildError as error:
        say_error(error, "peakline")
    write_lines(str(library))
    return 0
