"""The trace files of one `peakline run`: their names, and --force."""

from __future__ import annotations

import glob
import os
import re
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from peakline.base.engine import CommandError, report_engine
from peakline.base.output import say

# The names that preload/options/trace_name.cpp uses without a template: a lone process, and ranks.
_DEFAULT_NAME = "peakline-%e.%h.%r.peak"
_DEFAULT_NAME_OF_RANKS = "peakline-%e.%i/rank%r.%h.peak"
_PLACEHOLDERS = "ehprlai"
# The time stamp of a file may be slightly earlier than the clock.
_CLOCK_SLACK_SECONDS = 2.0


def shown_name(
    template: str, words: Sequence[str], process: int | None, run_id: str, *, of_ranks: bool
) -> str:
    """Return the name that the recorder makes of a template; `*` for parts that only it knows.

    `words` are the program with its arguments, empty if other programs may be recorded; `process`
    is its process id unless it has several processes. preload/options/trace_name.cpp makes the
    names.
    """
    values = dict.fromkeys(_PLACEHOLDERS, "*") | {"h": socket.gethostname(), "i": run_id[:8]}
    if words:
        values["e"] = _script_name(words)
    if process is not None:
        # Without a rank in the environment, which only the recorder reads, %r is the process id.
        values |= {"p": str(process), "r": str(process)}
    [name] = _templates(template, [_DEFAULT_NAME_OF_RANKS if of_ranks else _DEFAULT_NAME])
    return re.sub(r"%(.)", lambda found: {"%": "%", **values}.get(found[1], found[0]), name)


def _templates(template: str, default_names: Sequence[str]) -> list[str]:
    """Return the templates of a name; a folder or an empty name gives the default names in it."""
    is_file = template and not template.endswith("/")
    return [template] if is_file else [template + name for name in default_names]


def folders_of(template: str) -> Iterator[Path]:
    """Yield the folders that may contain traces of this name."""
    for one in _templates(template, [_DEFAULT_NAME, _DEFAULT_NAME_OF_RANKS]):
        folder = Path(one).parent
        root = Path(folder.anchor)
        below = str(folder.relative_to(root))
        pattern = re.sub(r"%(.)", _any_of_placeholder, glob.escape(below))
        yield from (root,) if pattern == "." else root.glob(pattern)


def find_traces(run_id: str, output: str, started: float) -> list[Path]:
    """Return the trace files of one run, by the run id inside them, sorted by name."""
    since = started - _CLOCK_SLACK_SECONDS
    paths = {path for folder in folders_of(output) for path in folder.glob("*")}
    return [path for path in sorted(paths) if _is_of_run(path, run_id, since)]


def _is_of_run(path: Path, run_id: str, since: float) -> bool:
    engine = report_engine()
    try:
        recent = path.is_file() and path.stat().st_mtime >= since
        return recent and engine.Trace(str(path)).info()["run_uuid"] == run_id
    except (OSError, engine.TraceError):
        return False


def _any_of_placeholder(found: re.Match[str]) -> str:
    letter = found[1]
    return "*" if letter in _PLACEHOLDERS else "%" if letter == "%" else found[0]


def _script_name(words: Sequence[str]) -> str:
    first = words[0]
    if first == "-c":
        return "python"
    name = words[1] if first == "-m" and len(words) > 1 else Path(first).name
    return name.removesuffix(".py")


@contextmanager
def room_for(path: Path) -> Iterator[None]:
    """Move an existing trace away during a run (--force).

    It is deleted if the run writes a new one, and put back if not. A file that another process is
    still writing keeps its content under another name, which is printed.
    """
    if not path.is_file():
        yield
        return
    writer = _writer_of(path)
    if writer is not None:
        kept = _free_name(path, writer)
        _move(path, kept)
        say(f"peakline: {path} is still being written by process {writer}: it goes on in {kept}")
        yield
        return
    aside = path.with_name(f".{path.name}.{os.getpid()}.replaced")
    _move(path, aside)
    try:
        yield
    finally:
        if path.exists():
            aside.unlink(missing_ok=True)
        else:
            with suppress(OSError):
                aside.rename(path)


def _move(path: Path, target: Path) -> None:
    try:
        path.rename(target)
    except OSError as error:
        raise CommandError(
            f"cannot replace {path}: {error.strerror}; name another file with -o"
        ) from None


def _writer_of(path: Path) -> int | None:
    engine = report_engine()
    try:
        info = engine.Trace(str(path)).info()
    except (OSError, engine.TraceError):
        return None
    return int(info["pid"]) if info["is_being_written"] else None


def _free_name(path: Path, process: int) -> Path:
    names = [f"{path.stem}.{process}{path.suffix}"]
    names += [f"{path.stem}.{process}.{number}{path.suffix}" for number in range(2, 1000)]
    return next(one for one in map(path.with_name, names) if not one.exists())
