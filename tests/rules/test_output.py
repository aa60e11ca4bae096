"""Text leaves the product through pyhook/peakline/base/output.py only, where names lose what
drives a terminal: nothing else prints, writes to a standard stream, makes a console or writes JSON.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = (ROOT / "pyhook" / "peakline", ROOT / "preload" / "simulate" / "python")
STREAMS = {"sys.stdout", "sys.stderr", "sys.__stdout__", "sys.__stderr__"}
BUFFERS = {f"{stream}.buffer" for stream in STREAMS}
CONSOLES = {"Console", "rich.print", "click.echo"}
MODES = {"w", "a", "x"}  # of text
FILES = {"write_text", "write_bytes"}
SINKS = ("base/output.py", "base/console.py")
# What is left, each with the reason why no name can do harm there.
EXCEPTIONS = {
    "startup/_peakline_words.py: os.write": "printable there, where the package may be missing",
    "_peakline_simulated/unrecorded_reads.py: os.write": "escaped, for our own reader",
    "torch_objects/signals.py: os.write": "a constant",
    "torch_objects/process_groups.py: json.dumps": "into the trace, which keeps true names",
    "startup/_peakline_flops.py: open": "numbers by the names of modules, for our own reader",
    "startup/_peakline_changes.py: open": "names of our own changes, for our own reader",
    "fleet/compaction.py: open": "a lock, which stays empty",
    "compat/tdynamics.py: open": "write_lines() writes to it",
    "fleet/quiet_start.py: os.write": "gives Spark's own output on, byte by byte",
    "fleet/spark_engine.py: write_text": "a constant: settings of Spark's logger",
    "_peakline_simulated/object_channel.py: write_bytes": "objects between ranks",
    "compat/memory_tracker.py: write_bytes": "a pickle",
    "commands/check.py: write_bytes": "JUnit, whose texts are printable: gate.junit_of",
    "commands/check.py: write_text": "written.text_of escapes names as TOML does",
    "pages/making.py: write_bytes": "the page, whose script shows names as text",
    "launch/host_memory.py: open": "numbers, and names by printable()",
    "attaching/in_program.py: json.dumps": "an answer to attach, which prints it with say()",
    "attaching/in_program.py: open": "the same",
    "attaching/requests.py: write_text": "our own script, and json_text()",
    "commands/report.py: write_text": "printable() stands in the call",
    "commands/pack.py: write_text": "json_text() made it: summary.text_of",
    "commands/export.py: sys.stdout.buffer": "bytes of a format; e2e tests read each of them",
    "differences/summary.py: json.dumps": "a key to sort by",
    "pages/page.py: json.dumps": "packed data, which the page's script shows as text",
}


def name_of(node: ast.expr) -> str:
    """Return "sys.stdout.write" for such an expression; "" where it is no dotted name."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = name_of(node.value)
        return f"{before}.{node.attr}" if before else f".{node.attr}"
    return ""


def literal_of(node: ast.expr) -> object:
    return node.value if isinstance(node, ast.Constant) else None


def ways_around(tree: ast.AST) -> Iterator[str]:
    """Yield what a module does to write text by itself."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and name_of(node) in {
            f"{one}.buffer" for one in STREAMS
        }:
            yield name_of(node)
        if not isinstance(node, ast.Call):
            continue
        name = name_of(node.func)
        last = name.rpartition(".")[2]
        if name == "print" or last in CONSOLES or name in CONSOLES or name == "os.write":
            yield name
        elif name in ("json.dumps", "json.dump") or last in FILES:
            yield name if name.startswith("json") else last
        elif last in ("write", "writelines") and name.rpartition(".")[0] in STREAMS:
            yield name
        elif last == "open" and MODES.intersection(map(literal_of, node.args)):
            yield "open"


def found_in(folder: Path) -> set[str]:
    return {
        f"{path.relative_to(folder)}: {way}"
        for path in folder.rglob("*.py")
        if str(path.relative_to(folder)) not in SINKS
        for way in ways_around(ast.parse(path.read_text()))
    }


def test_all_text_goes_through_one_module() -> None:
    found = set().union(*map(found_in, PRODUCT))
    assert sorted(found - EXCEPTIONS.keys()) == []
    assert sorted(EXCEPTIONS.keys() - found) == [], "an exception that is not needed any more"


@pytest.mark.parametrize(
    "line",
    [
        "print('x')",
        "import sys; sys.stdout.write('x')",
        "import sys; sys.stderr.writelines(['x'])",
        "import sys; out = sys.stdout.buffer",
        "import os; os.write(1, b'x')",
        "from rich.console import Console; Console(stderr=True)",
        "import rich.console; rich.console.Console()",
        "import rich; rich.print('x')",
        "import json; text = json.dumps({})",
        "from pathlib import Path; Path('x').write_text('x')",
        "from pathlib import Path; file = Path('x').open('w')",
        "file = open('x', 'a')",
    ],
)
def test_the_rule_finds_a_way_around(tmp_path: Path, line: str) -> None:
    (tmp_path / "command.py").write_text(line + "\n")
    assert len(found_in(tmp_path)) == 1
