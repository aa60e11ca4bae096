"""Finds the commit that raised the peak, with ``git bisect``: each commit runs once."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from peakline.base.engine import CommandError
from peakline.trials.attempts import Measured
from peakline.trials.worktree import Worktree, run_git

GOOD, BAD, SKIPPED = "good", "bad", "skipped"
_FOUND = re.compile(r"# first bad commit: \[([0-9a-f]+)\]")
_POSSIBLE = re.compile(r"# possible first bad commit: \[([0-9a-f]+)\]")
_FORMAT = "%H%x00%an <%ae>%x00%ad%x00%s"


@dataclass(frozen=True)
class Commit:
    """A commit of the repository."""

    hash: str
    author: str
    date: str
    subject: str


@dataclass(frozen=True)
class Tested:
    """A commit and its run. ``reason``: why it is bad beyond its peak, or why it was skipped."""

    commit: Commit
    verdict: str
    measured: Measured
    reason: str = ""


@dataclass
class Bisection:
    """The commits that ran, and the result.

    ``first_bad`` is None if only commits that were skipped are left; ``possible`` has these.
    ``before`` is the parent of the first bad commit, or the good commit if the parent did not run.
    """

    tested: dict[str, Tested] = field(default_factory=dict)
    first_bad: Tested | None = None
    before: Tested | None = None
    possible: list[Commit] = field(default_factory=list)


class Bisector:
    """Runs commits and judges them."""

    def __init__(
        self,
        worktree: Worktree,
        run: Callable[[Commit], Measured],
        judge: Callable[[Measured], str] | None,
        show: Callable[[Tested], None],
    ) -> None:
        """Take how to run and judge a commit.

        `judge` returns why a run is bad, or ''. None: a run is bad if its peak is above the middle
        between those of the good and the bad commit.
        """
        self._worktree = worktree
        self._run = run
        self._judge = judge
        self._show = show
        self._most_bytes: int | None = None
        self._found = Bisection()

    @property
    def most_bytes(self) -> int | None:
        """The middle between the good and the bad peak, if it separates them."""
        return self._most_bytes

    def bisect(self, good: Commit, bad: Commit) -> Bisection:
        """Find the first bad commit.

        Raises:
            CommandError: the good or the bad commit does not run, or is not as its name says.
        """
        self._test_ends(good, bad)
        git = self._worktree.git
        git("bisect", "start", bad.hash, good.hash)
        while True:
            log = git("bisect", "log")
            if (first := _FOUND.search(log)) or (left := _POSSIBLE.findall(log)):
                break
            one = self._test(commit_of(self._worktree.path, "HEAD"), checks_out=False)
            self._worktree.clean()
            mark = "skip" if one.verdict == SKIPPED else one.verdict
            git("bisect", mark, may_fail=True)  # status 2: only skipped commits are left
        if first is None:
            self._found.possible = [commit_of(self._worktree.path, one) for one in left]
        else:
            self._found.first_bad = self._found.tested[first[1]]
            self._found.before = self._parent_of(self._found.first_bad, good)
        return self._found

    def _test_ends(self, good: Commit, bad: Commit) -> None:
        measured = {}
        for name, commit in ((GOOD, good), (BAD, bad)):
            measured[name] = self._measure(commit, checks_out=True)
            if reason := _reason_to_skip(measured[name]):
                words = measured[name].last_words
                head = f"the {name} commit {commit.hash[:12]} does not run: {reason}"
                raise CommandError(head, *(f"  {line}" for line in words))
        peaks = {name: one.peak_bytes or 0 for name, one in measured.items()}
        if self._judge is None:
            self._most_bytes = (peaks[GOOD] + peaks[BAD]) // 2
        for name, commit in ((GOOD, good), (BAD, bad)):
            one = self._note(commit, measured[name])
            if one.verdict != name:
                why = f": {one.reason}" if one.reason else ""
                raise CommandError(
                    f"{commit.hash[:12]} was given as {name}, and is {one.verdict}{why};"
                    f" peaks: good {peaks[GOOD]:,} bytes, bad {peaks[BAD]:,} bytes"
                )

    def _parent_of(self, first_bad: Tested, good: Commit) -> Tested:
        """Return the run before the first bad one; behind a merge the parent has not run yet."""
        parent = commit_of(self._worktree.path, f"{first_bad.commit.hash}^1")
        one = self._found.tested.get(parent.hash) or self._test(parent, checks_out=True)
        return one if one.verdict != SKIPPED else self._found.tested[good.hash]

    def _test(self, commit: Commit, *, checks_out: bool) -> Tested:
        return self._note(commit, self._measure(commit, checks_out=checks_out))

    def _measure(self, commit: Commit, *, checks_out: bool) -> Measured:
        if checks_out:
            self._worktree.clean()
            self._worktree.git("checkout", "-q", "--detach", commit.hash)
        return self._run(commit)

    def _note(self, commit: Commit, measured: Measured) -> Tested:
        one = self._judged(commit, measured)
        self._found.tested[commit.hash] = one
        self._show(one)
        return one

    def _judged(self, commit: Commit, measured: Measured) -> Tested:
        if reason := _reason_to_skip(measured):
            return Tested(commit, SKIPPED, measured, reason)
        if measured.out_of_memory and measured.status:
            return Tested(commit, BAD, measured, "out of memory")
        if self._judge is None:
            assert self._most_bytes is not None
            is_bad = (measured.peak_bytes or 0) > self._most_bytes
            return Tested(commit, BAD if is_bad else GOOD, measured)
        try:
            reason = self._judge(measured)
        except CommandError as error:  # a limit of something that this commit does not have
            return Tested(commit, SKIPPED, measured, str(error))
        return Tested(commit, BAD if reason else GOOD, measured, reason)


def _reason_to_skip(measured: Measured) -> str:
    if measured.status and not measured.out_of_memory:
        return f"the program ended with status {measured.status}"
    return "" if measured.trace else "the program made no tensor on a GPU"


def commit_of(folder: Path, name: str) -> Commit:
    """Return a commit by its name in a checkout.

    Raises:
        CommandError: there is none.
    """
    form = ("log", "-1", "--date=short", f"--format={_FORMAT}", name, "--")
    return Commit(*run_git(folder, *form).rstrip("\n").split("\0"))
