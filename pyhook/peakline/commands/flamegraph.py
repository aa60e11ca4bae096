"""``peakline flamegraph``: ``peakline html --tab flame``, a name that other profilers have, too."""

from __future__ import annotations

import argparse

from peakline.commands import html

NAME = "flamegraph"
HELP = "Write the same page as peakline html, opened at its flame graph."
EXAMPLES = "peakline flamegraph train.peak -o flame.html"

run = html.run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    html.add_arguments(parser)
    parser.set_defaults(tab="flame")
