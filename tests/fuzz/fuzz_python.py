"""Gives arbitrary bytes to importers, commands, exports and `peakline.open()`.

Each ends with 0, 1 or 2; none lets an exception out. ``fuzz_python.py FOLDER`` runs Atheris with
FOLDER as its corpus, and takes libFuzzer's options; ``fuzz_python.py --replay FOLDER`` reads the
corpus once, without Atheris; ``fuzz_python.py --all FILE`` does everything with one input.

An input is a byte that chooses what is done, and the file: a pickle, or the chunks of a trace as in
`packed_trace.h`, without superblock. A fuzzer cannot guess checksums: chunks are left unsealed.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import pickle
import pkgutil
import random
import struct
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "pyhook"))
# An error that nobody expected is to come out here, not to become a line.
os.environ["PEAKLINE_TRACEBACK"] = "1"

# What reads traces and files of others; the rest runs programs.
READERS = ("commands", "exports", "imports", "recording", "runs", "pages", "differences")
READS_ONLY = sys.argv[1:2] in (["--replay"], ["--all"])


@contextlib.contextmanager
def instrumented() -> Iterator[None]:
    """Have Atheris see which lines of the package run; all of it is imported here."""
    if READS_ONLY:
        yield
        return
    try:
        import atheris
    except ImportError:
        sys.exit(f"fuzz_python: atheris is missing; type: {sys.executable} -m pip install atheris")
    with atheris.instrument_imports(include=["peakline"]):
        yield
        for room in READERS:
            importlib.import_module(f"peakline.{room}")
            folder = ROOT / "pyhook" / "peakline" / room
            for one in pkgutil.iter_modules([str(folder)], f"peakline.{room}."):
                importlib.import_module(one.name)


with instrumented():
    import peakline
    import peakline._report as engine
    from peakline.commands import main
    from peakline.commands.shared.reports import REPORTS
    from peakline.exports import FORMATS
    from peakline.imports.plain_pickle import load_plain
    from peakline.recording.reports import FORMS

HEADER, CHUNK, SUPERBLOCK = 128, 256 * 1024, 4096
MOST_CHUNKS = 8
SEALED_OFFSET = 6  # flags of a chunk's header
# Arguments that a method of `Recording` needs, by its name.
NEEDED = {"plan": (1 << 30,)}

Action = Callable[[Path, Path], None]


def _run(*words: str) -> Action:
    """A command; OUT and FILE stand for a folder to write to, and the trace."""

    def act(file: Path, folder: Path) -> None:
        given = [one.replace("OUT", str(folder)).replace("FILE", str(file)) for one in words]
        try:
            status = main(given)
        except SystemExit as ended:
            status = int(ended.code or 0)
        assert status in (0, 1, 2), (given, status)

    return act


def _import(file: Path, folder: Path) -> None:
    trace = folder / "imported.peak"
    _run("import", str(file), "-o", str(trace), "--force")(file, folder)
    if trace.exists():
        _open(trace, folder)
        _run("summary", "FILE")(trace, folder)
        _run("export", "torch-snapshot", "FILE", "-o", "OUT/again.pickle", "-f")(trace, folder)


def _open(file: Path, _folder: Path) -> None:
    """Everything that `peakline.open` gives; only TraceError may come."""
    with contextlib.suppress(engine.TraceError):
        recording = peakline.open(file)
        recording.info()
        for event in recording.events():
            for stack in (event.stack_id, event.free_stack_id):
                if stack is not None:
                    recording.events()
        for name in (*FORMS, "steps"):
            with contextlib.suppress(engine.TraceError):
                report = getattr(recording, name)(*NEEDED.get(name, ()))
                repr(report), report.to_markdown(), report._repr_html_()
        with contextlib.suppress(engine.TraceError):
            recording.trace.outline()


ACTIONS: dict[str, Action] = {
    "open": _open,
    "html": _run("html", "FILE", "-o", "OUT/page.html", "-f"),
    "events": _run("events", "FILE", "--json"),
    **{one.name: _run(one.name, "FILE") for one in REPORTS},
    **{f"{one.name} --json": _run(one.name, "FILE", "--json") for one in REPORTS},
    **{
        f"export {name}": _run("export", name, "FILE", "-o", f"OUT/{name}", "-f")
        for name in FORMATS
    },
    "whatif --search": _run("whatif", "FILE", "--search", "--smallest-device"),
    "leaks --by": _run("leaks", "FILE", "--by", "module"),
    "leaks --fail": _run("leaks", "FILE", "--fail-on-growth"),
    "table --by step": _run("table", "FILE", "--by", "step", "--at", "end"),
    "table --by stack": _run("table", "FILE", "--by", "stack", "--native"),
    "table --by tensor": _run("table", "FILE", "--by", "category,freed-by", "--at", "phase"),
    "table --measure": _run("table", "FILE", "--measure", "device"),
    "table --at oom": _run("table", "FILE", "--at", "oom"),
    "advise": _run("advise", "FILE"),
    "diff": _run("diff", "FILE", "FILE"),
    "check": _run("check", "FILE", "--max-peak", "1GiB"),
    "check --baseline": _run("check", "FILE", "--baseline", "FILE"),
    "ranks": _run("ranks", "FILE", "FILE"),
    "report": _run("report", "FILE"),
    "live": _run("live", "--once", "FILE"),
    "pack": _run("pack", "FILE", "-o", "OUT/packed", "-f"),
    "tables": _run("export", "parquet", "--tables", "FILE", "-o", "OUT/tables", "-f"),
    "plot": _run("plot", "FILE", "-o", "OUT/plot.svg", "-f"),
    "plan --budget": _run("plan", "FILE", "--budget", "1GiB"),
    "leaks --measure": _run("leaks", "FILE", "--measure", "reserved"),
    "check --limits": _run("check", "FILE", "--write-limits", "OUT/limits.toml", "-f"),
}
NAMES = list(ACTIONS)


def superblock() -> bytes:
    """The first bytes of any trace: what a reader refuses at once teaches a fuzzer nothing."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "empty.peak"
        engine.TraceWriter(str(path), 1_700_000_000_000_000_000).finish()
        return path.read_bytes()[:SUPERBLOCK]


BEGIN = superblock()


def unpacked(packed: bytes) -> bytes:
    """Return the trace of these chunks; takes any bytes, see packed_trace.h."""
    parts, at = [BEGIN], 0
    while at + HEADER + 2 <= len(packed) and len(parts) <= MOST_CHUNKS:
        header = bytearray(packed[at : at + HEADER])
        header[SEALED_OFFSET] &= 0xFE
        [length] = struct.unpack_from("<H", packed, at + HEADER)
        payload = packed[at + HEADER + 2 :][:length]
        at += HEADER + 2 + len(payload)
        parts.append((bytes(header) + payload).ljust(CHUNK, b"\0"))
    return b"".join(parts)


def is_pickle(body: bytes) -> bool:
    return body[:1] == b"\x80"


def work_on(data: bytes, names: list[str]) -> None:
    """Do these things with the file of an input; whatever comes out is a fault."""
    body = data[1:]
    with tempfile.TemporaryDirectory(dir=scratch()) as name:
        folder = Path(name)
        file = folder / "input"
        file.write_bytes(body if is_pickle(body) else unpacked(body))
        # Text files have the buffer of bytes that exports ask for.
        out = io.TextIOWrapper(io.BytesIO(), "utf-8", errors="replace")
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            if is_pickle(body):
                _import(file, folder)
            else:
                for one in names:
                    ACTIONS[one](file, folder)


def scratch() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def one_input(data: bytes) -> None:
    """The fuzz target."""
    if data:
        work_on(data, [NAMES[data[0] % len(NAMES)]])


# ---- mutations ----------------------------------------------------------------------------------


def _changed(value: Any, chance: random.Random) -> Any:
    """Return a value with one thing in it that is another."""
    if isinstance(value, (dict, list)) and value and chance.random() < 0.9:
        key = chance.choice(list(value) if isinstance(value, dict) else range(len(value)))
        if chance.random() < 0.05:
            del value[key]
        else:
            value[key] = _changed(value[key], chance)
        return value
    others: list[Any] = [
        None,
        True,
        -1,
        0,
        1 << 48,
        1 << 64,
        0.5,
        float("nan"),
        "text",
        b"",
        [],
        {},
    ]
    if isinstance(value, int) and chance.random() < 0.6:
        return value + chance.choice((-512, -1, 1, 512, 1 << 20))
    return chance.choice(others)


def mutate(data: bytes, max_size: int, seed: int) -> bytes:
    """Change a field of a pickle as often as a byte of it: few bytes make another pickle."""
    import atheris

    chance = random.Random(seed)
    if is_pickle(data[1:]) and chance.random() < 0.5:
        with contextlib.suppress(pickle.UnpicklingError, RecursionError):
            made = data[:1] + pickle.dumps(_changed(load_plain(data[1:]), chance), 4)
            if len(made) <= max_size:
                return made
    return bytes(atheris.Mutate(data, max_size))


@contextlib.contextmanager
def named(path: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        print(f"fuzz_python: {path}", file=sys.stderr)
        raise


def replay(folder: Path) -> None:
    inputs = sorted(folder.iterdir())
    assert inputs, folder
    for path in inputs:
        with named(path):
            one_input(path.read_bytes())
    print(f"fuzz_python: {len(inputs)} inputs read")


def fuzz(words: list[str]) -> None:
    import atheris

    atheris.Setup(words, one_input, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--replay"]:
        replay(Path(sys.argv[2]))
    elif sys.argv[1:2] == ["--all"]:
        work_on(Path(sys.argv[2]).read_bytes(), NAMES)
    else:
        fuzz(sys.argv)
