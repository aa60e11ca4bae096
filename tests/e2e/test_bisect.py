"""`peakline bisect`: a regression planted in twenty commits, in a checkout that must not change."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from lab import ON_GPU, Lab, Run

pytestmark = pytest.mark.skipif(ON_GPU, reason="about the simulated GPU")

MODEL = """import torch
def make():
    return torch.nn.Linear(1024, {width}, bias=False, device="cuda")
"""
TRAIN = """import torch
from model import make
{broken}model = make()
rows = int(open("data/rows.txt").read())
kept = torch.ones(rows, 1024, device="cuda")
# Change {number}.
"""
PLANTED, BROKEN = 13, 10
PROGRAM = ("--", "train.py")
MIB = 1 << 20


@dataclass
class Repository:
    """A repository, and the hashes of its commits from the first."""

    folder: Path
    commits: list[str] = field(default_factory=list)

    def git(self, *words: str) -> str:
        config = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"]
        command = ["git", *config, *words]
        done = subprocess.run(command, cwd=self.folder, check=True, capture_output=True, text=True)
        return done.stdout

    def commit(self, number: int) -> None:
        width = 4096 if number >= PLANTED else 1024
        broken = "raise ValueError('broken')\n" if number == BROKEN else ""
        (self.folder / "model.py").write_text(MODEL.format(width=width))
        (self.folder / "train.py").write_text(TRAIN.format(number=number, broken=broken))
        self.git("add", "-A")
        self.git("commit", "-q", "-m", f"change {number}")
        self.commits.append(self.git("rev-parse", "HEAD").strip())

    def state(self) -> tuple[str, ...]:
        """Return all that a bisection must not change. `git status` would update the index."""
        index = hashlib.sha256((self.folder / ".git" / "index").read_bytes()).hexdigest()
        refs = self.git("for-each-ref")
        head, listed = self.git("rev-parse", "HEAD"), self.git("worktree", "list")
        log = self.git("bisect", "log")
        files = sorted(str(path) for path in self.folder.rglob("*") if ".git" not in path.parts)
        return index, refs, head, listed, log, *files, (self.folder / "model.py").read_text()


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    made = Repository(tmp_path_factory.mktemp("bisect") / "project")
    made.folder.mkdir()
    made.git("init", "-q", "-b", "main")
    (made.folder / ".gitignore").write_text("data\n")
    for number in range(1, 21):
        made.commit(number)
    (made.folder / "data").mkdir()
    (made.folder / "data" / "rows.txt").write_text("512")
    code = "import torch\nkept = torch.ones(1024, device='cuda')\n"
    (made.folder / "data" / "inplace.py").write_text(code)
    # A bisection of the user's own, an edit that is staged and one that is not.
    made.git("bisect", "start", "HEAD", made.commits[0])
    (made.folder / "train.py").write_text("staged")
    made.git("add", "train.py")
    (made.folder / "model.py").write_text("edited")
    hook = made.folder / ".git" / "hooks" / "post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {made.folder}/hook-ran\n")
    hook.chmod(0o755)
    return made


def bisect(lab: Lab, repository: Repository, *words: str) -> Run:
    return lab.plain(repository.folder, lab.python, "-m", "peakline", "bisect", *words)


def test_a_planted_regression_is_found_with_its_line(
    lab: Lab, repository: Repository, tmp_path: Path
) -> None:
    before = repository.state()
    ends = repository.commits[0], repository.commits[-1]
    done = bisect(lab, repository, "--link", "data", "-o", str(tmp_path), *ends, *PROGRAM)
    assert done.status == 0, done.stdout + done.stderr
    assert "is of your checkout" not in done.stderr
    assert repository.state() == before
    ran = {}
    progress, _, result = done.stdout.partition("\n\n")
    for line in progress.splitlines():
        found = re.match(r"(\w+) .* change (\d+)", line)
        ran[int(found[2])] = found[1]
    # Both ends, then about log2(20) runs, one of them of the broken commit in the middle.
    assert len(ran) == len(progress.splitlines()) <= 8
    assert ran == {
        one: "skipped" if one == BROKEN else "bad" if one >= PLANTED else "good" for one in ran
    }
    assert ran[BROKEN] == "skipped"
    assert "(the program ended with status 1)" in progress
    planted = repository.commits[PLANTED - 1]
    lines = result.splitlines()
    assert lines[:2] == [f"First bad commit: {planted}", f"  change {PLANTED}"]
    assert re.fullmatch(r"  Ann <ann@example\.org>, \d{4}-\d\d-\d\d", lines[2])
    # float32: 1024 inputs, 1024 outputs before and 4096 after; 512 rows of 1024 are kept.
    assert lines[3] == "Peak: 6.000 MB before, 18.00 MB after: +12.00 MB (+200.0%)"
    assert re.sub(" +", " ", lines[5]) == "+12.00 MB 4.000 MB 16.00 MB model.py:3 (make)"
    traces = [tmp_path / "before.peak", tmp_path / "after.peak"]
    grown = lab.table(traces[1])["rows"][0]
    assert grown["location"]["code"].startswith("return torch.nn.Linear(1024, 4096")
    assert [lab.table(one)["total_bytes"] for one in traces] == [6 * MIB, 18 * MIB]
    hint = done.stderr.splitlines()[-1].split("  ")[0]
    assert hint.startswith(f"Next: peakline html {traces[0]} {traces[1]}")


def test_limits_decide_and_the_document_has_all_runs(
    lab: Lab, repository: Repository, tmp_path: Path
) -> None:
    limits = tmp_path / "limits.toml"
    limits.write_text('[module]\n"*" = "8MB"\n')
    ends = repository.commits[PLANTED - 2], repository.commits[PLANTED - 1]
    options = ["--limits", str(limits), "--copy", "data", "--json", "-o", str(tmp_path)]
    done = bisect(lab, repository, *options, *ends, *PROGRAM)
    document = json.loads(done.stdout)
    assert [one["verdict"] for one in document["commits"]] == ["good", "bad"]
    assert document["first_bad"]["hash"] == ends[1]
    assert document["first_bad"]["reason"] == "module *: 18.00 MB is 10.00 MB above 8.000 MB"
    assert document["difference"]["delta_bytes"] == 12 * MIB
    assert document["middle_bytes"] is None


def test_ends_that_are_not_as_named_are_refused(lab: Lab, repository: Repository) -> None:
    ends = repository.commits[PLANTED - 1], repository.commits[PLANTED]
    folder = str(repository.folder / "data")
    # A package that is installed in place is the same for every commit.
    code = f"import sys; sys.path.insert(0, {folder!r}); import inplace"
    done = bisect(lab, repository, *ends, "--", "-c", code)
    assert done.status == 2
    assert f"{ends[1][:12]} was given as bad, and is good" in done.stderr
    assert f"{repository.folder}/data/inplace.py is of your checkout" in done.stderr
    broken = bisect(lab, repository, repository.commits[BROKEN - 1], "main", *PROGRAM)
    assert broken.status == 2
    assert "the good commit" in broken.stderr and "ValueError: broken" in broken.stderr


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["HEAD~3", "HEAD"], "name a program behind --"),
        (["nowhere", "HEAD", "--", "train.py"], "'nowhere'"),
        (["HEAD", "HEAD", "--", "train.py"], "are the same commit"),
        (["HEAD", "HEAD~3", "--", "train.py"], "give the older commit first"),
        (["HEAD~3", "HEAD", "--", "/srv/train.py"], "give the path from here"),
        (["--link", "none", "HEAD~3", "HEAD", "--", "train.py"], "none does not exist"),
        (["--link", "train.py", "HEAD~3", "HEAD", "--", "train.py"], "is in the commits"),
        (["--link", "/etc", "HEAD~3", "HEAD", "--", "train.py"], "programs find it where it is"),
    ],
)
def test_bad_use_is_refused_without_a_run(
    lab: Lab, repository: Repository, words: list[str], error: str
) -> None:
    before = repository.state()
    done = bisect(lab, repository, *words)
    assert (done.status, error in done.stderr) == (2, True), done.stderr
    assert repository.state() == before


def test_a_folder_outside_of_a_repository_is_refused(lab: Lab, tmp_path: Path) -> None:
    command = [lab.python, "-m", "peakline", "bisect", "HEAD~1", "HEAD", *PROGRAM]
    done = lab.plain(tmp_path, *command, environment={"GIT_CEILING_DIRECTORIES": "/"})
    assert done.status == 2
    assert "not a git repository" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_removes_the_worktree(
    lab: Lab, repository: Repository, tmp_path: Path, number: signal.Signals
) -> None:
    before = repository.state()
    program = ["-c", "import time; time.sleep(600)"]
    words = [sys.executable, "-m", "peakline", "bisect", "HEAD~3", "HEAD", "--", *program]
    with subprocess.Popen(
        words,
        cwd=repository.folder,
        env={**lab.environment(None), "TMPDIR": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        # A shell that runs us in the background ignores it, and bisect would, too.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    ) as process:
        deadline = time.monotonic() + 60
        while not [*tmp_path.glob("*/*/log")] and time.monotonic() < deadline:
            time.sleep(0.05)
        assert [*tmp_path.glob("peakline-bisect-*/worktree")]
        os.killpg(process.pid, number)
        assert process.wait(60) == 130
    assert [*tmp_path.glob("peakline-bisect-*")] == []
    assert repository.state() == before
