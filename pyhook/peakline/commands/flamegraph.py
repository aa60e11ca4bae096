"""``peakline flamegraph``: the page of ``peakline html``, opened at its flame graph."""

from __future__ import annotations

import argparse

from peakline.commands import html

NAME = "flamegraph"
HELP = "Write the same page, opened at its flame graph."
EXAMPLES = "peakline flamegraph train.peak -o flame.html"

add_arguments = html.add_arguments


def run(args: argparse.Namespace) -> int:
    """Write the page."""
    return html.write_page(args, "flame")
