"""Checks the names of traces, and makes them absolute, before the program starts.

The program may change its folder before it uses CUDA, and would notice an unwritable name only
then. preload/options/trace_name.h lists the placeholders.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def with_slash(output: str) -> str:
    """Return the name; a folder gets a trailing slash, which selects the default name in it."""
    try:
        is_folder = bool(output) and not output.endswith("/") and Path(output).is_dir()
    except OSError:
        return output  # problem_of_output reports why
    return f"{output}/" if is_folder else output


def absolute_template(output: str) -> str:
    """Return the name for the program, relative to our working directory."""
    if output.startswith("/"):
        return output
    return f"{str(Path.cwd()).replace('%', '%%').rstrip('/')}/{output}"


def is_no_file(output: str) -> bool:
    """Return whether this is the null device, with which no trace is kept."""
    return output == os.devnull


def problem_of_output(name: str, *, force: bool) -> str:
    """Return the reason why no trace can be written under this name, or ''."""
    output = with_slash(name)
    if is_no_file(output):
        return ""
    try:
        return _problem_of_file(output, force=force) or _problem_of_folder(output)
    except OSError as error:
        return _cannot_write(output, str(error.strerror))


def _cannot_write(output: str, why: str) -> str:
    name = output or f"a trace in {os.curdir}"
    return f"cannot write {name}: {why}; name another file with -o"


def _problem_of_file(output: str, *, force: bool) -> str:
    path = Path(output)
    if not output or "%" in output or output.endswith("/") or not path.exists():
        return ""
    if not path.is_file():
        return f"{output} is no regular file: name another file with -o"
    if not force:
        return f"{output} exists: name another file with -o, or add --force to replace it"
    return ""


def _problem_of_folder(output: str) -> str:
    """Check the nearest existing folder: the recorder makes those below it."""
    fixed = output.partition("%")[0]
    folder = Path(fixed.rpartition("/")[0] or ("/" if fixed.startswith("/") else "."))
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not folder.is_dir():
        return _cannot_write(output, f"{folder} is no folder")
    # Permissions alone do not decide, so create a file; it has no name and disappears.
    with tempfile.TemporaryFile(dir=folder):
        return ""
