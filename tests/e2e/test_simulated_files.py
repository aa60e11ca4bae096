"""What a simulated run leaves of its files. The oracle is the same program with --allow-writes in
an equal folder: what it sees there, and the files of its own that it leaves."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from lab import ON_GPU, PROGRAMS

pytestmark = pytest.mark.skipif(ON_GPU, reason="about the simulated GPU")

PROGRAM = str(PROGRAMS / "saves_every_way.py")
OWN = ["old.bin", "own.pkl", "config.json", "new.bin", "new.pkl", "odd\nname.bin", "appended.pt"]
OWN += ["mixed/log.txt", "child.txt"]


def contents(folder: Path) -> dict[str, bytes | str | None]:
    """Everything below a folder, by path: the bytes of a file, the target of a link."""
    found: dict[str, bytes | str | None] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = str(path.readlink())
        else:
            found[name] = path.read_bytes() if path.is_file() else None
    return found


@pytest.fixture(scope="module")
def before(lab: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as a real run left it."""
    folder = tmp_path_factory.mktemp("before")
    assert lab.plain(folder, lab.python, PROGRAM, "prepare").status == 0
    return folder


def run(lab: Any, before: Path, folder: Path, *options: str, mode: str = "run") -> Any:
    shutil.copytree(before, folder, symlinks=True)
    options = ("-q", "--no-record", *options)
    return lab.recorded(folder, PROGRAM, mode, options=options)


@pytest.fixture(scope="module")
def guarded(lab: Any, before: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return run(lab, before, tmp_path_factory.mktemp("guarded") / "run")


@pytest.fixture(scope="module")
def unguarded(lab: Any, before: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return run(lab, before, tmp_path_factory.mktemp("unguarded") / "run", "--allow-writes")


def test_the_program_sees_its_files_as_without_the_guard(guarded: Any, unguarded: Any) -> None:
    assert guarded.said == unguarded.said


def test_own_files_are_as_without_the_guard(guarded: Any, unguarded: Any) -> None:
    left, expected = contents(guarded.folder), contents(unguarded.folder)
    assert {name: left.get(name) for name in OWN} == {name: expected[name] for name in OWN}
    assert "gone.txt" not in left
    assert "empty" in left


def test_checkpoints_are_as_before_and_nothing_else_is_left(before: Path, guarded: Any) -> None:
    def others(found: dict[str, bytes | str | None]) -> dict[str, bytes | str | None]:
        own = {*OWN, "gone.txt", "empty", "mixed"}
        return {name: content for name, content in found.items() if name not in own}

    assert others(contents(guarded.folder)) == others(contents(before))
    assert any(note.endswith("would resume from it") and "mixed" in note for note in guarded.notes)


def test_killed_with_its_parent_it_has_changed_no_checkpoint(
    lab: Any, before: Path, tmp_path: Path
) -> None:
    killed = run(lab, before, tmp_path / "run", mode="killed")
    assert killed.status == -9
    left = contents(tmp_path / "run")
    real = {name: content for name, content in contents(before).items() if name not in OWN}
    del real["gone.txt"]
    moved = {name for name in real if name.startswith("ck/moved")}
    assert {name: left.get(name) for name in real.keys() - moved} == {
        name: content for name, content in real.items() if name not in moved
    }
    assert left["ck/moved.old/model.pt"] == real["ck/moved/model.pt"]


def test_a_second_run_finds_no_step_of_the_first(lab: Any, tmp_path: Path) -> None:
    code = (
        "import os, torch\n"
        "x = torch.zeros(8, device='cuda')\n"
        "steps = os.listdir('ck') if os.path.isdir('ck') else []\n"
        "os.makedirs('ck/step1', exist_ok=True)\n"
        "torch.save({'x': x.cpu()}, 'ck/step1/model.pt')\n"
        "print(steps, os.listdir('ck'), os.listdir('ck/step1'), flush=True); os._exit(0)"
    )
    for _ in range(2):
        done = lab.recorded(tmp_path, "-c", code, options=["-q", "--no-record"])
        assert done.stdout == "[] ['step1'] ['model.pt']\n", done.stderr
    assert list(tmp_path.iterdir()) == []


def test_ranks_that_write_one_checkpoint_share_it(lab: Any, before: Path, tmp_path: Path) -> None:
    shutil.copy(before / "old.pt", tmp_path)
    real = contents(tmp_path)
    words = ["--", lab.python, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    words.append(str(PROGRAMS / "saves_in_ranks.py"))
    done = lab.recorded(tmp_path, *words, options=["-q", "--no-record"], device="h200x2")
    assert done.status == 0, done.stderr
    assert done.stdout.splitlines() == ["[5.0, 2]", "[5.0, 2]"]
    assert contents(tmp_path) == real
    assert done.stderr.count("exists and stays unchanged") == 1


def test_a_program_that_is_not_simulated_is_not_guarded(lab: Any, tmp_path: Path) -> None:
    code = (
        "import ctypes, sys, torch\n"
        "torch.save({'x': torch.ones(3)}, 'model.pt')\n"
        "print(hasattr(ctypes.CDLL(None), 'peakline_guard_begin_save'))\n"
        "print(torch.save.__code__.co_filename == torch.load.__code__.co_filename)"
    )
    options = ["-m", "peakline", "run", "-q", "--python", lab.python, "-c", code]
    done = lab.plain(tmp_path, lab.python, *options)
    assert (done.status, done.stdout) == (0, "False\nTrue\n"), done.stderr
    assert (tmp_path / "model.pt").exists()


def test_the_guard_needs_libc_only() -> None:
    library = PROGRAMS.parents[1] / "pyhook" / "peakline" / "_native" / "libpeakline_guard.so"
    listed = subprocess.run(
        ["readelf", "-d", str(library)], capture_output=True, text=True, check=True
    )
    needed = {line.split("[")[1] for line in listed.stdout.splitlines() if "(NEEDED)" in line}
    assert needed <= {"libc.so.6]", "libdl.so.2]", "libpthread.so.0]", "ld-linux-x86-64.so.2]"}
