"""Lines are the same wherever the code lay, and commits are those that git itself names."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from peakline.fleet.places import normalised_file, script_folder, stable_hash
from peakline.fleet.repository import commit_at, repository_of


@pytest.fixture(autouse=True)
def no_memory_of_folders() -> None:
    """Folders of one test may become repositories in another."""
    repository_of.cache_clear()
    normalised_file.cache_clear()


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("/a/.venv/lib/python3.11/site-packages/torch/nn/linear.py", "torch/nn/linear.py"),
        ("/usr/lib/python3/dist-packages/torch/nn/linear.py", "torch/nn/linear.py"),
        ("/opt/conda/lib/python3.12/asyncio/events.py", "asyncio/events.py"),
        ("/job/7/src/model.py", "src/model.py"),
        ("/elsewhere/tool.py", "/elsewhere/tool.py"),
        ("/code/scripts/part.py", "part.py"),
        ("/tmp/torchinductor_root/ab/cabxyz.py", "torchinductor/cabxyz.py"),
        (f"/scratch/7/ab/c{'d2' * 25}e.py", f"torchinductor/c{'d2' * 25}e.py"),
        ("/usr/lib/x86_64-linux-gnu/libnccl.so.2", "libnccl.so.2"),
        ("<string>", "<string>"),
        ("model.py", "model.py"),
        ("", ""),
    ],
)
def test_paths_lose_what_is_of_the_machine(file: str, expected: str) -> None:
    assert normalised_file(file, "/job/7", "/code/scripts") == expected


def test_a_file_of_a_repository_is_named_from_its_root(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "src").mkdir()
    file = str(tmp_path / "src" / "model.py")
    assert normalised_file(file, str(tmp_path / "src"), "") == "src/model.py"


def test_the_folder_of_the_program_is_found_in_its_command_line() -> None:
    assert script_folder("python -u scripts/train.py --lr 1", "/job") == "/job/scripts"
    assert script_folder("python /code/train.py", "/job") == "/code"
    assert script_folder("python -m train", "/job") == ""


def test_hashes_are_signed_and_stay_what_they_are() -> None:
    # Tables that exist are joined by them: another value would need another schema version.
    assert stable_hash("torch/nn/linear.py", 134, "Linear.forward") == FIXED_HASH
    numbers = [stable_hash("a", i) for i in range(1000)]
    assert len(set(numbers)) == 1000
    assert min(numbers) < 0 < max(numbers)
    assert all(-(2**63) <= one < 2**63 for one in numbers)
    assert stable_hash("a", "bc") != stable_hash("ab", "c")


FIXED_HASH = -1882690677480066067


# git takes no date much before.
START = 1_500_000_000


def git(folder: Path, *words: str, when: int = 0) -> str:
    date = f"{when} +0000"
    environment = {**os.environ, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    who = ["-c", "user.name=n", "-c", "user.email=e@e"]
    command = ["git", "-C", str(folder), *who, *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> tuple[Path, list[str]]:
    """A repository with three commits, 1000, 2000 and 3000 seconds after START."""
    git(tmp_path, "init", "-q", "-b", "main")
    commits = []
    for when in (START + 1000, START + 2000, START + 3000):
        git(tmp_path, "commit", "-q", "--allow-empty", "-m", str(when), when=when)
        commits.append(git(tmp_path, "rev-parse", "HEAD"))
    (tmp_path / "src").mkdir()
    return tmp_path, commits


def test_the_commit_is_the_one_that_was_checked_out_then(
    checkout: tuple[Path, list[str]],
) -> None:
    root, commits = checkout
    source = str(root / "src")
    assert commit_at(source, START + 1500) == commits[0]
    assert commit_at(source, START + 2000) == commits[1]
    assert commit_at(source, START + 9000) == commits[2]
    assert commit_at(source, START + 500) is None
    git(root, "checkout", "-q", commits[1], when=START + 5000)
    assert commit_at(source, START + 4000) == commits[2]
    assert commit_at(source, START + 6000) == commits[1] == git(root, "rev-parse", "HEAD")


@pytest.mark.parametrize("is_packed", [False, True])
def test_without_a_log_it_is_the_commit_of_now(
    checkout: tuple[Path, list[str]], is_packed: bool
) -> None:
    root, commits = checkout
    if is_packed:
        git(root, "pack-refs", "--all")
    (root / ".git" / "logs" / "HEAD").unlink()
    assert commit_at(str(root), START + 9000) == commits[2]
    git(root, "checkout", "-q", "--detach", commits[0], when=START + 5000)
    (root / ".git" / "logs" / "HEAD").unlink(missing_ok=True)
    assert commit_at(str(root), START + 9000) == commits[0]


def test_a_worktree_has_a_commit_of_its_own(
    checkout: tuple[Path, list[str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    root, commits = checkout
    tree = tmp_path_factory.mktemp("trees") / "tree"
    git(root, "worktree", "add", "-q", str(tree), commits[0], when=START + 4000)
    assert commit_at(str(tree), START + 9000) == commits[0] == git(tree, "rev-parse", "HEAD")
    git(tree, "checkout", "-q", "-b", "other", when=START + 5000)
    for log in root.rglob("logs/HEAD"):
        log.unlink()
    assert commit_at(str(tree), START + 9000) == commits[0]


def test_outside_of_a_repository_there_is_no_commit(tmp_path: Path) -> None:
    assert commit_at(str(tmp_path), START + 9000) is None
    assert commit_at("not/here", START + 9000) is None
    assert commit_at("", START + 9000) is None
