"""A checkout of its own for every commit of a repository, for ``peakline bisect``.

It is a git worktree in a temporary folder. The user's files, index, HEAD and a bisection of theirs
stay as they are: git keeps these for each worktree. Hooks of the repository do not run.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from peakline.base.engine import CommandError
from peakline.builds.native_build import PACKAGE_FOLDER

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# They name another repository, index or worktree: a hook of git may have set them.
_OF_GIT = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR")


class Worktree:
    """A worktree of the repository that the working folder is in."""

    def __init__(self, root: Path, path: Path) -> None:
        """`root`: the user's checkout; `path`: the new folder."""
        self.root = root
        self.path = path
        self.folder = path / Path.cwd().resolve().relative_to(root)
        self._kept: list[str] = []

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Work in the folder that corresponds to the working folder, with its modules.

        Raises:
            FileNotFoundError: this commit does not have the folder.
        """
        before, modules = Path.cwd(), os.environ.get("PYTHONPATH")
        os.chdir(self.folder)
        if modules:
            os.environ["PYTHONPATH"] = self._path_of_modules(modules)
        try:
            yield
        finally:
            os.chdir(before)
            if modules:
                os.environ["PYTHONPATH"] = modules

    def git(self, *words: str, may_fail: bool = False) -> str:
        """Run git in the worktree, and return its output.

        Raises:
            CommandError: git failed, unless that `may_fail`.
        """
        return run_git(self.path, *words, may_fail=may_fail)

    def clean(self) -> None:
        """Remove all files that a run left, so that the next commit can be checked out."""
        self.git("reset", "-q", "--hard")
        kept = [word for name in self._kept for word in ("-e", f"/{name}")]
        self.git("clean", "-ffdxq", *kept)

    def bring(self, word: str, *, copies: bool) -> None:
        """Link or copy a file or folder that git does not have, at its path in the checkout.

        Raises:
            CommandError: there is no such file, or it is not in the repository's folder.
        """
        source = Path(word).absolute()
        if not source.exists():
            raise CommandError(f"{word} does not exist")
        # The parent is resolved: `root` is, and the file itself may be a link.
        source = source.parent.resolve() / source.name
        if self.root not in source.parents:
            raise CommandError(f"{word} is not in {self.root}: programs find it where it is")
        name = str(source.relative_to(self.root))
        target = self.path / name
        if os.path.lexists(target):
            raise CommandError(f"{word} is in the commits: there is nothing to link or copy")
        target.parent.mkdir(parents=True, exist_ok=True)
        if not copies:
            target.symlink_to(source)
        elif source.is_dir():
            shutil.copytree(source, target, symlinks=True)
        else:
            shutil.copy2(source, target)
        self._kept.append(name)

    def _path_of_modules(self, given: str) -> str:
        """Return PYTHONPATH with the worktree in place of the user's checkout."""
        words = []
        for word in given.split(os.pathsep):
            entry = Path(word).resolve()
            is_own = PACKAGE_FOLDER.is_relative_to(entry)  # peakline runs from this checkout
            if Path(word).is_absolute() and entry.is_relative_to(self.root) and not is_own:
                words.append(str(self.path / entry.relative_to(self.root)))
            else:
                words.append(word)
        return os.pathsep.join(words)


@contextmanager
def worktree_of(commit: str, folder: Path) -> Iterator[Worktree]:
    """Make a worktree in a new folder, and remove it at the end, also if a signal ends us.

    Raises:
        CommandError: the working folder is in no repository, or git failed.
    """
    here = Path.cwd()
    root = Path(run_git(here, "rev-parse", "--show-toplevel").strip()).resolve()
    path = folder.resolve() / "worktree"
    with _signals_as_interrupt():
        try:
            run_git(here, "worktree", "add", "--detach", "--force", str(path), commit)
            yield Worktree(root, path)
        finally:
            with _signals_ignored():
                run_git(here, "worktree", "remove", "--force", str(path), may_fail=True)
                shutil.rmtree(path, ignore_errors=True)
                run_git(here, "worktree", "prune", may_fail=True)


def run_git(folder: Path, *words: str, may_fail: bool = False) -> str:
    """Run git in a folder, and return its output.

    Raises:
        CommandError: there is no git, or it failed, unless that `may_fail`.
    """
    command = ["git", "-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false", *words]
    kept = {name: value for name, value in os.environ.items() if name not in _OF_GIT}
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**kept, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except FileNotFoundError as error:
        raise CommandError("peakline bisect needs git") from error
    if done.returncode and not may_fail:
        raise CommandError(f"git {words[0]}: {_reason(done.stderr) or _reason(done.stdout)}")
    return done.stdout


def _reason(text: str) -> str:
    lines = [line.removeprefix("fatal: ") for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


@contextmanager
def _signals_as_interrupt() -> Iterator[None]:
    """Let a signal that would end us remove the worktree first."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with _handlers(interrupt):
        yield


@contextmanager
def _signals_ignored() -> Iterator[None]:
    with _handlers(signal.SIG_IGN):
        yield


@contextmanager
def _handlers(handler: signal._HANDLER) -> Iterator[None]:
    previous = {}
    with suppress(ValueError):  # only the main thread may set handlers
        for number in _ENDING:
            if signal.getsignal(number) != signal.SIG_IGN:  # as nohup leaves it
                previous[number] = signal.signal(number, handler)
    try:
        yield
    finally:
        for number, one in previous.items():
            signal.signal(number, one)
