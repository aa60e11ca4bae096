"""`peakline mcp`: a server of the Model Context Protocol on standard input and output.

The official Python SDK speaks the protocol; the tools are the functions of `answers` and
`simulated`. Programs write to files, so nothing but the protocol is on standard output.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from peakline import __version__
from peakline.assistants import answers, simulated
from peakline.base.engine import CommandError

if TYPE_CHECKING:
    from mcp.server import MCPServer

INSTRUCTIONS = """\
peakline knows which lines of a PyTorch program hold the GPU memory at its exact peak.
1. simulate() records a program without a GPU (sizes are exact, numbers are not); runs() lists
   recordings that exist.
2. report(file, "table") shows the lines at the peak, report(file, "advise") the wastes with bytes,
   report(file, "leaks") memory that grows, report(file, "oom") why memory ran out.
3. Change the program, simulate() again, difference(before, after): the saved bytes per line.
try_changes() measures changes that need no edit."""


def make_server() -> MCPServer:
    """Return the server with its tools.

    Raises:
        CommandError: the SDK is not installed.
    """
    try:
        from mcp.server import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
    except ImportError:
        raise CommandError(
            "peakline mcp needs the package mcp (2 or newer): pip install 'peakline[mcp]'"
        ) from None
    server = MCPServer(
        "peakline", version=__version__, instructions=INSTRUCTIONS, log_level="WARNING"
    )
    for tool in TOOLS:
        # The text alone: a structured copy of it would take the same room again.
        server.tool(structured_output=False)(_with_error(tool, ToolError))
    return server


def _with_error(tool: Callable[..., str], kind: type[Exception]) -> Callable[..., str]:
    """Return the tool with its errors as the SDK's, whose text the assistant reads."""

    @functools.wraps(tool)
    def answer(*words: Any, **named: Any) -> str:
        try:
            return tool(*words, **named)
        except answers.AnswerError as error:
            raise kind(str(error)) from None

    return answer


def report(
    file: str,
    name: str = "table",
    options: str = "{}",
    max_bytes: int = answers.MOST_BYTES,
    as_json: bool = False,
) -> str:
    """Show a report of a trace: "table", "advise", "leaks", "oom", "tensors", "ledger" ...

    `options` is a JSON object with options that reports() lists: '{"by": "category", "at":
    "backward"}'. The answer has at most max_bytes.
    """
    parsed = answers.parsed(options)
    return answers.report(file, name, parsed, max_bytes=max_bytes, as_json=as_json)


def difference(
    before: str,
    after: str,
    options: str = "{}",
    max_bytes: int = answers.MOST_BYTES,
    as_json: bool = False,
) -> str:
    """Show what each line holds more, or less, at the peak of `after` than at that of `before`.

    `options`: '{"by": "category"}', '{"at": "end"}' ... The answer has at most max_bytes.
    """
    parsed = answers.parsed(options)
    return answers.difference(before, after, parsed, max_bytes=max_bytes, as_json=as_json)


TOOLS: tuple[Callable[..., str], ...] = (
    answers.runs,
    answers.reports,
    report,
    difference,
    simulated.simulate,
    simulated.try_changes,
)
