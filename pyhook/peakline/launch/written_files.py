"""Cleans up the files of a simulated run after its end.

The guard noted a state for each path (preload/simulate/guard/file_states.h explains the states).
Checkpoints without real values are removed, with the folders and links that were made for them;
hidden files that turned out to be the program's own data get their real names.
"""

from __future__ import annotations

import os
import zlib
from dataclasses import dataclass, field
from pathlib import Path

from peakline.base.output import say

_HIDDEN_END = ".peakline-simulated"
_IN_MEMORY = "saved in memory "
_NAMES_SHOWN = 3
_CHECKPOINT_ENDS = (".pt", ".pth", ".ckpt", ".safetensors", ".distcp")


@dataclass
class _Notes:
    """The last state of each path, and the other notes."""

    states: dict[str, str] = field(default_factory=dict)
    digests: set[tuple[int, int]] = field(default_factory=set)
    moved_folders: list[tuple[str, str]] = field(default_factory=list)

    def paths(self, *states: str) -> list[str]:
        """Return the paths in one of these states, contents of a folder before the folder."""
        return sorted((path for path, one in self.states.items() if one in states), reverse=True)


def clean_up(notes_file: Path, *, quiet: bool) -> None:
    """Remove and report the checkpoints that a run without real values made."""
    if not notes_file.exists():
        return
    notes = _read(notes_file.read_bytes())
    _find_saved_in_memory(notes)
    simulated = [path for path in notes.paths("N") if os.path.lexists(path)]
    for path in [*simulated, *map(_hidden, notes.paths("C", "X"))]:
        Path(path).unlink(missing_ok=True)
    for path in notes.paths("P"):
        _put_in_place(path, notes)
    removed_links = [path for path in notes.paths("L") if _remove_link(path, notes)]
    kept_folders = _remove_folders(notes, [*simulated, *removed_links])
    for old, new in reversed(notes.moved_folders):
        _move_back(old, new)
    if simulated and not quiet:
        _say_removed(simulated, kept_folders)


def _read(records: bytes) -> _Notes:
    notes = _Notes()
    parts = iter(os.fsdecode(record) for record in records.split(b"\0"))
    for record in parts:
        kind, path = record[:1], record[1:]
        if kind == "R":
            _move(notes, path, next(parts, ""))
        elif kind == "F":
            if path.startswith(_IN_MEMORY):
                length, crc = path.removeprefix(_IN_MEMORY).split(":")
                notes.digests.add((int(length), int(crc)))
        elif kind:
            notes.states[path] = kind
    return notes


def _move(notes: _Notes, old: str, new: str) -> None:
    if old not in notes.states:
        notes.moved_folders.append((old, new))
    notes.states.pop(new, None)
    for path, state in list(notes.states.items()):
        if path == old or path.startswith(old + "/"):
            del notes.states[path]
            notes.states[new + path[len(old) :]] = state


def _hidden(path: str) -> str:
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}{_HIDDEN_END}")  # noqa: PTH118


def _find_saved_in_memory(notes: _Notes) -> None:
    """Mark files that have the content of a checkpoint made in memory as checkpoints."""
    lengths = {length for length, _crc in notes.digests}
    for path in notes.paths("O", "P") if lengths else []:
        file = Path(_hidden(path) if notes.states[path] == "P" else path)
        if file.is_symlink() or not file.is_file() or file.stat().st_size not in lengths:
            continue
        if (file.stat().st_size, _crc_of(file)) in notes.digests:
            notes.states[path] = "C" if notes.states[path] == "P" else "N"


def _crc_of(path: Path) -> int:
    crc = 0
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            crc = zlib.crc32(piece, crc)
    return crc


def _put_in_place(path: str, notes: _Notes) -> None:
    """Move the program's own data to the name of the checkpoint that it overwrote."""
    hidden = Path(_hidden(path))
    if hidden.is_symlink() and _leads_nowhere(path, str(hidden.readlink()), notes):
        hidden.unlink()
    elif os.path.lexists(hidden):
        hidden.replace(path)


def _leads_nowhere(link: str, target: str, notes: _Notes) -> bool:
    """Return whether a link leads to a path that this run removes, or replaced only for itself."""
    path = os.path.normpath(os.path.join(os.path.dirname(link), target))  # noqa: PTH118, PTH120
    inside = path + os.sep
    return any(
        state in "NCX" and (one == path or one.startswith(inside))
        for one, state in notes.states.items()
    )


def _remove_link(path: str, notes: _Notes) -> bool:
    link = Path(path)
    if not link.is_symlink() or not _leads_nowhere(path, str(link.readlink()), notes):
        return False
    link.unlink()
    return True


def _remove_folders(notes: _Notes, removed: list[str]) -> list[str]:
    """Remove the folders that this run made for `removed`; return those that are not empty."""
    held = {str(parent) for path in removed for parent in Path(path).parents}
    full = []
    for folder in notes.paths("D"):
        if folder in held and Path(folder).is_dir():
            try:
                Path(folder).rmdir()
            except OSError:
                full.append(folder)
    return full


def _move_back(old: str, new: str) -> None:
    """Move a folder of real checkpoints back that the program had moved away."""
    folder = Path(new)
    if os.path.lexists(old) or folder.is_symlink() or not folder.is_dir():
        return
    if any(path.suffix in _CHECKPOINT_ENDS for path in folder.rglob("*")):
        folder.rename(old)


def _say_removed(removed: list[str], full_folders: list[str]) -> None:
    names = ", ".join(Path(path).name for path in sorted(removed)[:_NAMES_SHOWN])
    names += ", ..." if len(removed) > _NAMES_SHOWN else ""
    say(
        f"peakline: removed {len(removed)} new checkpoint file{'s' * (len(removed) > 1)} without "
        f"real values: {names}"
    )
    if full_folders:
        say(
            f"peakline: {full_folders[-1]} stays: other files of the program are in it. Remove it "
            "if a later run would resume from it"
        )
