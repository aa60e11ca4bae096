"""The git commit of a program, read from the files of its repository.

git itself is not run: a repository may name programs that git then starts.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


@functools.lru_cache(maxsize=4096)
def repository_of(folder: str) -> Path | None:
    """Return the root of the repository that a folder of this machine lies in."""
    path = Path(folder)
    if not path.is_absolute():
        return None
    try:
        return next((one for one in (path, *path.parents) if (one / ".git").exists()), None)
    except OSError:
        return None


def commit_at(folder: str, seconds: float) -> str | None:
    """Return the commit that was checked out in a folder's repository at a time.

    HEAD's own log says which that was; where it does not reach back so far nothing is known.
    Changes that were not committed are not seen.

    Args:
        folder: of the program, on this machine.
        seconds: since 1970.
    """
    root = repository_of(folder)
    if root is None:
        return None
    try:
        git = _git_folder(root)
        log = git / "logs" / "HEAD"
        if log.is_file():
            return _logged_commit(log.read_text(errors="replace"), seconds)
        return _head_commit(git)
    except OSError:
        return None


def _git_folder(root: Path) -> Path:
    git = root / ".git"
    if git.is_file():  # a worktree, or a submodule
        return (root / git.read_text().removeprefix("gitdir:").strip()).resolve()
    return git


def _logged_commit(log: str, seconds: float) -> str | None:
    """Lines are: old commit, new commit, name, time, zone, tab, what was done."""
    commit = None
    for line in log.splitlines():
        facts = line.partition("\t")[0].split()
        if len(facts) < 4 or not facts[-2].isdigit():
            continue
        if int(facts[-2]) <= seconds and _COMMIT.fullmatch(facts[1]):
            commit = facts[1]
    return commit


def _head_commit(git: Path) -> str | None:
    """Without a log: what HEAD names now, itself or through a branch."""
    head = (git / "HEAD").read_text().strip()
    if not head.startswith("ref: "):
        return head if _COMMIT.fullmatch(head) else None
    name = head.removeprefix("ref: ")
    shared = git
    if (git / "commondir").is_file():  # branches of a worktree are those of the repository
        shared = (git / (git / "commondir").read_text().strip()).resolve()
    branch = shared / name
    if branch.is_file():
        return branch.read_text().strip()
    packed = shared / "packed-refs"
    for line in packed.read_text().splitlines() if packed.is_file() else ():
        commit, _, named = line.partition(" ")
        if named == name and _COMMIT.fullmatch(commit):
            return commit
    return None
