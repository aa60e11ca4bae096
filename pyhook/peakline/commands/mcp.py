"""``peakline mcp``: answer the questions of assistants that edit code."""

from __future__ import annotations

import argparse

NAME = "mcp"
HELP = "Answer assistants that edit code, over the Model Context Protocol."
EXAMPLES = "peakline mcp"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare no argument: the protocol is on standard input and output."""


def run(args: argparse.Namespace) -> int:
    """Serve until standard input ends."""
    from peakline.assistants.server import make_server

    make_server().run("stdio")
    return 0
