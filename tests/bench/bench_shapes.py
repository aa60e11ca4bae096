"""How time and memory of every command grow with traces of extreme shapes.

Each trace has COUNT of something (lines, phases, streams, threads ...), written by `shape_trace`,
and each command runs in a process of its own. A command that is linear takes ten times as long for
ten times as many.
"""

import argparse
import os
import resource
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import peakline
import peakline._report as engine

ROOT = Path(__file__).resolve().parents[2]

# Letters of shape_trace.cpp, and devices.
SHAPES = {
    "lines": ("l", 1),
    "modules": ("m", 1),
    "threads": ("t", 1),
    "streams": ("s", 1),
    "streams, segments": ("sg", 1),
    "operators": ("o", 1),
    "deep stack": ("d", 1),
    "phases": ("p", 1),
    "open phases": ("n", 1),
    "steps": ("e", 1),
    "notes": ("k", 1),
    "64 devices": ("", 64),
    "phases, 64 devices": ("p", 64),
    "open phases, 64 devices": ("n", 64),
    "lines, streams, phases, 64 devices": ("lsp", 64),
    "everything, 64 devices": ("lmtsopekg", 64),
    "everything freed": ("lmtsopekgf", 8),
}
REPORTS: dict[str, tuple[str, dict[str, Any]]] = {
    **{
        name: (name, {})
        for name in (
            "table",
            "summary",
            "phases",
            "layers",
            "ops",
            "stages",
            "tensors",
            "holders",
            "ledger",
            "leaks",
            "whatif",
            "fragmentation",
            "map",
            "timeline",
            "stats",
            "advise",
        )
    },
    **{
        f"table --by {key}": ("table", {"by": key})
        for key in ("stack", "step", "module", "thread", "category", "freed-by", "lifetime")
    },
    "table, each phase": ("table", {"at": "phase"}),
    "table, all devices": ("table", {"device": "all"}),
}


def _report(name: str, options: dict[str, Any]) -> Callable[[Path], object]:
    return lambda path: engine.Trace(str(path)).report(name, json=True, **options)


def _events(path: Path) -> object:
    return sum(1 for _ in peakline.open(path).events().batches())


WORKS: dict[str, Callable[[Path], object]] = {
    **{title: _report(*one) for title, one in REPORTS.items()},
    "outline": lambda path: engine.Trace(str(path)).outline(),
    "html": lambda path: engine.Trace(str(path)).page(),
    "events": _events,
}


def measured(work: Callable[[Path], object], path: Path, limit: int) -> str:
    """Return the processor time and the memory of a piece of work, in a child of its own."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        try:
            work(path)
            said = ""
        except engine.TraceError as error:
            said = f" refused: {str(error).rpartition(': ')[2][:40]}"
        except MemoryError:
            said = " out of memory"
        os.write(writer, said.encode())
        os._exit(0)
    os.close(writer)
    said = os.read(reader, 100).decode()
    os.close(reader)
    _, status, usage = os.wait4(child, 0)
    if os.WIFSIGNALED(status):
        return f"over {limit} s"
    seconds = usage.ru_utime + usage.ru_stime
    return f"{seconds:.2f} s {usage.ru_maxrss >> 10} MB{said}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--counts", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--shapes", nargs="+", default=list(SHAPES), choices=SHAPES)
    parser.add_argument("--commands", nargs="+", default=list(WORKS), choices=WORKS)
    parser.add_argument("--limit", type=int, default=60, help="seconds for a command")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for shape in arguments.shapes:
            letters, devices = SHAPES[shape]
            traces = []
            for count in arguments.counts:
                path = Path(folder) / f"{count}.peak"
                program = ROOT / "build" / "shape_trace"
                subprocess.run([program, letters, str(count), str(devices), path], check=True)
                traces.append(path)
            sizes = ", ".join(f"{path.stat().st_size / 1e6:.1f}" for path in traces)
            print(f"{shape}: {arguments.counts} of them, {sizes} MB", flush=True)
            for command in arguments.commands:
                cells = [measured(WORKS[command], path, arguments.limit) for path in traces]
                print(f"  {command:<20}" + "".join(f"{cell:>24}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
