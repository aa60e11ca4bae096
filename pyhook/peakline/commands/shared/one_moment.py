"""A trace that is the state of one moment: commands that need time refuse it."""

from __future__ import annotations

import argparse
from pathlib import Path

from peakline.commands.shared import common
from peakline.imports.writing import ONE_MOMENT

ONE_MOMENT_WORDS = (
    "The snapshot has no actions: it is the state of one moment, and nothing is known of time"
)
_MOST_BYTES = 64 << 20
# What they show is how memory changes.
_NEED_TIME = {
    "phases",
    "layers",
    "ops",
    "stages",
    "oom",
    "leaks",
    "whatif",
    "timeline",
    "stats",
    "advise",
    "live",
}


def refuse_one_moment(args: argparse.Namespace) -> None:
    """Refuse a trace that has no time, where the command's answer would be about time."""
    if args.command not in _NEED_TIME:
        return
    files = getattr(args, "files", None) or [getattr(args, "file", None)]
    for word in files:
        if isinstance(word, str) and _is_of_one_moment(Path(word)):
            raise common.CommandError(
                f"{word} is the state of one moment (its snapshot has no actions);"
                f" {args.command} needs time: record with peakline run"
            )


def _is_of_one_moment(path: Path) -> bool:
    """Whether an import said so; a trace that cannot be read is the command's to refuse."""
    # Such traces are small: they hold what lived at once.
    if not path.is_file() or path.stat().st_size > _MOST_BYTES:
        return False
    engine = common.report_engine()
    try:
        meta = engine.Trace(str(path)).info()["meta"]
    except engine.TraceError:
        return False
    return ONE_MOMENT in meta
