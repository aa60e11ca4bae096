"""Finds the git repository of a program, and its commit when the program ran."""

from __future__ import annotations

import functools
import subprocess
from datetime import datetime, timezone
from pathlib import Path

_SECONDS = 10  # timeout for git


@functools.lru_cache(maxsize=4096)
def repository_of(folder: str) -> Path | None:
    """Return the root of the repository that contains a local folder."""
    path = Path(folder)
    if not path.is_absolute():
        return None
    try:
        return next((one for one in (path, *path.parents) if (one / ".git").exists()), None)
    except OSError:
        return None


def commit_at(folder: str, seconds: float) -> str | None:
    """Return the commit that was checked out in a folder's repository at a time.

    The log of HEAD has the answer; None if it does not reach back so far. Uncommitted changes are
    not seen. Without a log it is the current commit. `git rev-parse` runs no program that a
    repository may name.

    Args:
        folder: of the program, on this machine.
        seconds: since 1970.
    """
    if repository_of(folder) is None:
        return None
    when = datetime.fromtimestamp(int(seconds), timezone.utc).isoformat()
    for name in (f"HEAD@{{{when}}}", "HEAD"):
        command = ["git", "-C", folder, "rev-parse", "--verify", name]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        if done.returncode == 0:
            # git warns if the log begins later.
            return None if done.stderr else done.stdout.strip()
    return None
