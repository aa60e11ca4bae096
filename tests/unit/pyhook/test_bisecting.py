"""The search over commits with made-up runs: it finds the planted commit, whatever is skipped."""

from __future__ import annotations

import random
import subprocess
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from peakline.base.engine import CommandError
from peakline.trials.attempts import Measured
from peakline.trials.bisecting import SKIPPED, Bisection, Bisector, Commit, commit_of
from peakline.trials.worktree import worktree_of

COUNT = 20


def git(folder: Path, *words: str) -> str:
    config = ["-c", "user.name=Ann", "-c", "user.email=a@example.org"]
    command = ["git", *config, *words]
    return subprocess.run(
        command, cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def commit(folder: Path, name: str) -> str:
    git(folder, "commit", "-q", "--allow-empty", "-m", name)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A repository with commits 0 to COUNT in one line."""
    folder = tmp_path_factory.mktemp("line")
    git(folder, "init", "-q", "-b", "main")
    return folder, [commit(folder, str(number)) for number in range(COUNT + 1)]


def measured(status: int, peak: int) -> Measured:
    trace = None if status else Path("run.peak")
    words = ["why"]
    return Measured(status, False, peak, peak, None, None, 0, "", [], words, 0.0, trace)


def searched(
    folder: Path,
    ends: tuple[str, str],
    run: Callable[[Commit], Measured],
    judge: Callable[[Measured], str] | None = None,
) -> tuple[Bisection, Counter[str]]:
    """Bisect from a folder; return the result, and how often each commit ran."""
    ran: Counter[str] = Counter()

    def counted(one: Commit) -> Measured:
        ran[one.subject] += 1
        return run(one)

    good, bad = (commit_of(folder, name) for name in ends)
    with worktree_of(bad.hash, folder / ".git" / "bisecting") as worktree:
        found = Bisector(worktree, counted, judge, lambda _: None).bisect(good, bad)
    assert len(git(folder, "worktree", "list").splitlines()) == 1
    return found, ran


@pytest.mark.parametrize("seed", range(8))
def test_the_first_bad_commit_is_found_or_narrowed_to_those_that_do_not_run(
    line: tuple[Path, list[str]], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, commits = line
    monkeypatch.chdir(folder)
    choose = random.Random(seed)
    planted = choose.randrange(1, COUNT + 1)
    broken = set(choose.sample(range(1, COUNT), choose.choice([0, 1, 3, 8])))

    def run(one: Commit) -> Measured:
        number = int(one.subject)
        return measured(int(number in broken), 100 + 50 * (number >= planted) + number % 3)

    found, ran = searched(folder, (commits[0], commits[-1]), run)
    assert max(ran.values()) == 1
    assert all(
        (found.tested[commits[n]].verdict == SKIPPED) == (n in broken) for n in map(int, ran)
    )
    if found.first_bad is not None:
        assert found.first_bad.commit.hash == commits[planted]
        assert found.before is not None and found.before.commit.hash == commits[planted - 1]
    else:
        numbers = sorted(int(one.subject) for one in found.possible)
        assert planted in numbers
        # All but the last one do not run, and the commit before them is good.
        assert set(numbers[:-1]) <= broken
    if not broken:
        assert len(ran) <= 2 + 5


def test_behind_a_merge_the_parent_runs_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    first = commit(tmp_path, "first")
    git(tmp_path, "checkout", "-q", "-b", "side")
    for number in range(3):
        commit(tmp_path, f"side {number}")
    git(tmp_path, "checkout", "-q", "main")
    for number in range(3):
        commit(tmp_path, f"main {number}")
    git(tmp_path, "merge", "-q", "--no-ff", "-m", "merge", "side")
    last = commit(tmp_path, "last")
    monkeypatch.chdir(tmp_path)

    def run(one: Commit) -> Measured:
        return measured(0, 2 if one.subject in ("merge", "last") else 1)

    found, ran = searched(tmp_path, (first, last), run)
    assert found.first_bad is not None and found.first_bad.commit.subject == "merge"
    assert found.before is not None and found.before.commit.subject == "main 2"
    assert max(ran.values()) == 1


def test_an_end_is_refused_that_is_not_as_named(
    line: tuple[Path, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, commits = line
    monkeypatch.chdir(folder)
    ends = commits[0], commits[-1]
    with pytest.raises(CommandError, match="was given as bad, and is good; peaks: good 1 "):
        searched(folder, ends, lambda _: measured(0, 1))
    with pytest.raises(CommandError, match="was given as good, and is bad: too much"):
        searched(folder, ends, lambda _: measured(0, 1), lambda _: "too much")
    with pytest.raises(CommandError, match="the good commit .* does not run"):
        searched(folder, ends, lambda _: measured(1, 1))


def test_running_out_of_memory_is_bad(
    line: tuple[Path, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, commits = line
    monkeypatch.chdir(folder)

    def run(one: Commit) -> Measured:
        if int(one.subject) < 7:
            return measured(0, 5)
        return replace(measured(0, 9), status=1, out_of_memory=True)

    found, _ = searched(folder, (commits[0], commits[-1]), run)
    assert found.first_bad is not None
    assert (found.first_bad.commit.subject, found.first_bad.reason) == ("7", "out of memory")
