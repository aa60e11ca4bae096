"""Accepts a folder instead of a trace: the run in it, or its heaviest process."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from peakline.base.engine import CommandError, report_engine
from peakline.base.next_commands import shell_words
from peakline.base.output import say
from peakline.base.sizes import size_of

if TYPE_CHECKING:
    from peakline.runs.find import Run

# How a command treats a folder, as `folder_gives` of its arguments: one of these, or a function of
# the arguments that returns one.
HEAVIEST = "heaviest"  # one trace
ALL = "all"  # every rank
WHOLE = "whole"  # the folder itself: the command finds the run
_RUNS_LISTED = 5
_HERE = "."


def open_folders(args: argparse.Namespace) -> None:
    """Replace a folder in the arguments by its traces, and keep it as `folder` of the arguments.

    Raises:
        CommandError: a folder has no traces.
    """
    asked = getattr(args, "folder_gives", HEAVIEST)
    gives = asked(args) if callable(asked) else asked
    if gives == WHOLE:
        return
    is_left_out = getattr(args, "files", None) == [] or getattr(args, "file", "") is None
    if is_left_out and "files" in args:
        args.files = [_HERE]
    elif is_left_out:
        args.file = _HERE
    for name in ("file", "files"):
        given = getattr(args, name, None)
        if given is None or not _has_folder(given if name == "files" else [given]):
            continue
        words: list[str] = given if name == "files" else [given]
        args.folder = next(split[0] for word in words if (split := _split(word)) is not None)
        found = [path for word in words for path in _traces_of(word, gives)]
        setattr(args, name, found if name == "files" else found[0])
    if is_left_out:
        say(f"peakline: {shell_words(args.files if 'files' in args else [args.file])}:")


def _has_folder(words: Sequence[str]) -> bool:
    return any(isinstance(word, str) and is_folder(word) for word in words)


def is_folder(word: str) -> bool:
    """Return whether this names a folder, or a run in one: FOLDER@ID."""
    return _split(word) is not None


def _split(word: str) -> tuple[Path, str] | None:
    """Return the folder, and the run id after an @; None if the word is no folder."""
    path = Path(word)
    if path.is_dir():
        return path, ""
    folder, at, run = word.rpartition("@")
    if at and not path.exists() and Path(folder or ".").is_dir():
        return Path(folder or "."), run
    return None


def _traces_of(word: str, gives: str) -> list[str]:
    if _split(word) is None:
        return [word]
    found = run_in(word)
    if gives == ALL:
        return [str(one.path) for one in found.compared]
    return [heaviest_of(found, word)]


def run_in(word: str) -> Run:
    """Return the newest run in a folder, or the one that FOLDER@ID chooses.

    Raises:
        CommandError: there is no trace in it, or no such run.
    """
    from peakline.runs.find import runs_of, traces_in

    report_engine()
    folder, wanted = _split(word) or (Path(word), "")
    runs = runs_of(traces_in(folder))
    if not runs:
        raise CommandError(
            f"{folder}: there is no trace in this folder, or in one in it; peakline run SCRIPT.py"
            " makes one"
        )
    if wanted:
        runs = [run for run in runs if run.id.startswith(wanted)]
        if not runs:
            raise CommandError(f"{folder}: no run there has an id that begins {wanted}")
    elif len(runs) > 1:
        _say_others(folder, runs)
    return runs[0]


def chosen_run(words: Sequence[str]) -> Run:
    """Return the run of a folder, or of the traces of its ranks.

    Raises:
        CommandError: they belong to several runs, or to none.
    """
    from peakline.runs.find import runs_of

    if len(words) == 1 and _split(words[0]) is not None:
        return run_in(words[0])
    runs = runs_of(Path(word) for word in words)
    if len(runs) != 1:
        texts = ", ".join(f"{run.id} ({run.name})" for run in runs[:_RUNS_LISTED])
        why = f"these are traces of {len(runs)} runs: {texts}" if runs else "no trace can be read"
        raise CommandError(f"{why}; give those of one run, or its folder")
    return runs[0]


def _say_others(folder: Path, runs: Sequence[Run]) -> None:
    newest, *others = runs
    say(
        f"peakline: {folder} holds {len(runs)} runs; this is the newest, {_described(newest)}."
        f" Others:"
    )
    for run in others[:_RUNS_LISTED]:
        say(f"    {folder}@{run.id}  {_described(run)}")
    if len(others) > _RUNS_LISTED:
        say(f"    and {len(others) - _RUNS_LISTED} more")


def _described(run: Run) -> str:
    count = len(run.members)
    started = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(run.started))
    return f"{run.name}, {count} process{'es' * (count != 1)}, {started}"


def heaviest_of(found: Run, word: str) -> str:
    """Return the trace of the heaviest process of the run that `word` names, and print its name.

    Raises:
        CommandError: none of its traces can be read.
    """
    from peakline.runs.outlines import read_peaks

    if len(found.compared) == 1:
        return str(found.compared[0].path)
    peaks = read_peaks(found.compared)
    if not peaks:
        raise CommandError(f"{word}: no trace of this run can be read")
    heaviest, size = max(peaks, key=lambda pair: pair[1])
    say(
        f"peakline: {heaviest.label} is the heaviest of {len(peaks)} ({size_of(size)}):"
        f" {heaviest.path}; peakline ranks {shell_words([word])} compares them"
    )
    return str(heaviest.path)
