"""What is compiled is compiled once, is whole, and is loaded only where nobody else can write."""

from __future__ import annotations

import collections
import ctypes
import fcntl
import os
import re
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from interpreters import ROOT

sys.path.insert(0, str(ROOT / "pyhook"))

from peakline.builds import build_cache, native_build  # noqa: E402
from peakline.builds.build_cache import BuildError, Wanted, ensure_built, find_built  # noqa: E402

PROGRAMS = Path(__file__).parent / "programs"
THING = Wanted("torch-x", "content", "compiler", "a thing")
PROCESSES = 8
# Compiles nothing: notes the source, and makes the file that was asked for.
COMPILER = """#!/bin/sh
source=linked
while [ $# -gt 0 ]; do
    case $1 in
        --version) echo "stub 1.0"; exit ;;
        -o) shift; echo made > "$1" ;;
        -fdump-lang-class=*) source=dumped; cp "$CLASS_DUMP" "${1#*=}" ;;
        *.cpp) [ $source = dumped ] || source=$(basename "$1") ;;
    esac
    shift
done
echo "$source" >> "$LOG"
"""
CLASS_DUMP = """Vtable for peakline::torch_part::Delegate
0     (int (*)(...))peakline::torch_part::Delegate::allocate

"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    build_cache._say_once.cache_clear()
    monkeypatch.setenv("PEAKLINE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))  # where a refused one would lead
    return tmp_path / "cache"


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the lines said so far: pytest's own capture, read meanwhile, loses some of them."""
    lines: list[str] = []
    monkeypatch.setattr(build_cache, "say", lines.append)
    return lines


def fill(folder: Path) -> None:
    (folder / "made.so").write_text("whole")


def never(_folder: Path) -> None:
    raise AssertionError("built again")


def environment_with_torch(folder: Path) -> Path:
    """A site-packages folder of its own with the torch that is installed here."""
    torch = native_build.find_torch()
    folder.mkdir()
    for name in ("torch", "nvidia"):
        (folder / name).symlink_to(torch.site_packages / name)
    for wheel in torch.site_packages.glob("nvidia_*.dist-info"):
        (folder / wheel.name).symlink_to(wheel)
    return folder


def test_eight_processes_of_two_environments_compile_once(tmp_path: Path) -> None:
    compiler = tmp_path / "g++"
    compiler.write_text(COMPILER)
    compiler.chmod(0o755)
    (tmp_path / "dump").write_text(CLASS_DUMP)
    sites = [environment_with_torch(tmp_path / name) for name in ("one", "two")]
    common = {
        **os.environ,
        "CXX": str(compiler),
        "CLASS_DUMP": str(tmp_path / "dump"),
        "LOG": str(tmp_path / "log"),
        "PEAKLINE_CACHE_DIR": str(tmp_path / "cache"),
    }
    started = [
        subprocess.Popen(
            [sys.executable, str(PROGRAMS / "builds_at_once.py")],
            env={**common, "PYTHONPATH": f"{sites[number % 2]}:{ROOT / 'pyhook'}"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(PROCESSES)
    ]
    found = {process.stdout.readline() for process in started}
    assert found == {f"found {site / 'torch'}\n" for site in sites}
    for process in started:
        process.stdin.write("\n")
        process.stdin.flush()
    answers = {process.communicate()[0] for process in started}
    assert [process.returncode for process in started] == [0] * PROCESSES
    assert len(answers) == 1
    part, simulated = map(Path, answers.pop().splitlines())
    assert part.read_text() == "made\n"
    assert (simulated / "preload.txt").exists()
    compiled = collections.Counter((tmp_path / "log").read_text().splitlines())
    sources = {file.name for file in (ROOT / "allocator" / "torch").glob("*.cpp")}
    assert compiled == dict.fromkeys(sources | {"dumped", "linked", "simulated GPU"}, 1)


def test_a_killed_builder_leaves_nothing_and_the_next_one_builds(
    cache: Path, said: list[str]
) -> None:
    command = [sys.executable, str(PROGRAMS / "builds_forever.py")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "pyhook")}
    builder = subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert builder.stdout.readline() == "compiling\n"
    made = []
    waiting = threading.Thread(target=lambda: made.append(ensure_built(THING, fill)), daemon=True)
    waiting.start()
    told = wait_for(said, "waiting for")
    assert f"waiting for process {builder.pid} on " in told
    assert re.search(r"a thing for \d s; if it hangs, kill it, and this one compiles", told)
    builder.send_signal(signal.SIGKILL)
    builder.wait()
    # Its compiler is alive: it ends when its input does.
    waiting.join()
    assert select.select([builder.stdout], [], [], 0)[0] == []
    builder.stdin.close()
    assert builder.stdout.read() == ""
    assert made == [cache / THING.folder]
    assert [file.name for file in made[0].iterdir()] == ["made.so"]


def wait_for(said: list[str], words: str) -> str:
    """Return what was printed once these words are in it."""
    for _ in range(6000):
        told = "\n".join(said)
        if words in told:
            return told
        time.sleep(0.01)
    raise AssertionError(f"nobody says {words!r}: {said}")


def test_those_who_waited_for_a_failure_do_not_repeat_it(cache: Path, said: list[str]) -> None:
    seen, go_on = threading.Event(), threading.Event()
    errors = []

    def fail(folder: Path) -> None:
        (folder / "half.so").write_text("half")
        seen.set()
        go_on.wait()
        raise BuildError("line 1 is wrong")

    def ensure(build) -> None:
        try:
            ensure_built(THING, build)
        except BuildError as error:
            errors.append(str(error))

    first = threading.Thread(target=ensure, args=[fail], daemon=True)
    first.start()
    seen.wait()
    second = threading.Thread(target=ensure, args=[never], daemon=True)
    second.start()
    wait_for(said, "waiting for")
    go_on.set()
    first.join()
    second.join()
    assert errors == ["line 1 is wrong"] * 2
    assert find_built(THING) is None
    assert ensure_built(THING, fill) == cache / THING.folder


def test_a_child_that_is_forked_meanwhile_does_not_keep_the_lock(cache: Path) -> None:
    end, hold = os.pipe()
    child = 0

    def fork(folder: Path) -> None:
        nonlocal child
        child = os.fork()
        if child == 0:
            os.close(hold)
            os.read(end, 1)
            os._exit(0)
        fill(folder)

    ensure_built(THING, fork)
    with (cache / f".{THING.folder}.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(hold)
    assert os.waitpid(child, 0)[1] == 0


def test_other_content_or_another_compiler_is_beside_what_is_there(cache: Path) -> None:
    ensure_built(THING, fill)
    other = Wanted("torch-x", "other", "compiler", "a thing")
    newer = Wanted("torch-x", "content", "newer", "a thing")
    for wanted in (other, newer):
        assert find_built(wanted) is None
        ensure_built(wanted, fill)
    assert ensure_built(THING, never) == cache / THING.folder
    without_compiler = Wanted("torch-x", "content", "", "a thing")
    assert ensure_built(without_compiler, never) in (cache / THING.folder, cache / newer.folder)


@pytest.mark.parametrize("umask", [0, 0o002, 0o077])
def test_what_is_made_can_be_loaded_whatever_the_umask(cache: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        folder = ensure_built(THING, fill)
    finally:
        os.umask(before)
    assert ensure_built(THING, never) == folder
    made = [cache, folder, folder / "made.so"]
    assert [oct(path.stat().st_mode & 0o777) for path in made] == ["0o700", "0o755", "0o755"]


def test_what_is_old_and_not_loaded_is_removed(cache: Path) -> None:
    names = ("old", "loaded", "recent")
    folders = {name: ensure_built(Wanted("torch-x", name, "c", name), fill) for name in names}
    library = folders["loaded"] / "made.so"
    subprocess.run(["cc", "-shared", "-x", "c", "/dev/null", "-o", str(library)], check=True)
    loaded = ctypes.CDLL(str(library))
    left = cache / ".torch-x-killed.abc.part"
    for folder in (left, cache / "mine"):
        folder.mkdir()
    for folder in (folders["old"], folders["loaded"], left, cache / "mine"):
        os.utime(folder, (0, 0))
    ensure_built(THING, fill)
    kept = {path.name for path in cache.iterdir() if path.is_dir()}
    assert kept == {THING.folder, folders["loaded"].name, folders["recent"].name, "mine"}
    del loaded


def test_a_use_makes_it_recent(cache: Path) -> None:
    folder = ensure_built(THING, fill)
    os.utime(folder, (0, 0))
    ensure_built(THING, never)
    ensure_built(Wanted("torch-x", "other", "c", "another"), fill)
    assert folder.is_dir()


@pytest.fixture
def bases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """XDG_CACHE_HOME and HOME that are good; changed by the test."""
    build_cache._say_once.cache_clear()
    monkeypatch.delenv("PEAKLINE_CACHE_DIR", raising=False)
    for name, variable in (("xdg", "XDG_CACHE_HOME"), ("home", "HOME"), ("named", "NAMED")):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(variable, str(tmp_path / name))
    (tmp_path / "xdg" / "peakline").mkdir()
    return tmp_path


def test_the_cache_is_where_the_user_says(bases: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [build_cache.cache_folder()]
    monkeypatch.setenv("PEAKLINE_CACHE_DIR", str(bases / "named"))
    found.append(build_cache.cache_folder())
    monkeypatch.delenv("PEAKLINE_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/is/ignored")
    found.append(build_cache.cache_folder())
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("HOME")
    found.append(build_cache.cache_folder())
    own = Path(f"/tmp/peakline-{os.geteuid()}")
    xdg, named, home = bases / "xdg/peakline", bases / "named", bases / "home/.cache/peakline"
    assert found == [xdg, named, home, own]


def test_a_sticky_folder_of_everybody_is_no_danger(bases: Path) -> None:
    (bases / "xdg").chmod(0o1777)
    assert build_cache.cache_folder() == bases / "xdg" / "peakline"


def give_away(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    os.chown(path, 12345, 12345)


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda xdg: (xdg / "peakline").chmod(0o777), "other users can write to {xdg}/peakline"),
        (lambda xdg: (xdg / "peakline").chmod(0o1777), "other users can write to {xdg}/peakline"),
        (lambda xdg: (xdg / "peakline").chmod(0o775), "other users can write to {xdg}/peakline"),
        (lambda xdg: xdg.chmod(0o777), "other users can replace what is in {xdg} (chmod o-w)"),
        (lambda xdg: give_away(xdg / "peakline"), "{xdg}/peakline belongs to another user"),
    ],
    ids=["world", "sticky", "group", "parent", "owner"],
)
def test_a_cache_that_others_could_fill_is_refused_in_one_sentence(
    bases: Path, capfd: pytest.CaptureFixture[str], spoil, told: str
) -> None:
    spoil(bases / "xdg")
    assert ensure_built(THING, fill).parent == bases / "home/.cache/peakline"
    refusal, compiling = capfd.readouterr().err.splitlines()
    assert refusal.startswith(f"peakline: {told.format(xdg=bases / 'xdg')}")
    assert refusal.endswith(f": what is compiled is in {bases / 'home/.cache/peakline'} instead")
    assert compiling == "peakline: compiling a thing"
    assert (bases / "home/.cache").stat().st_mode & 0o777 == 0o700


def test_what_others_can_change_in_the_cache_is_not_loaded(cache: Path) -> None:
    folder = ensure_built(THING, fill)
    for path in (folder, folder / "made.so"):
        path.chmod(0o777)
        with pytest.raises(BuildError, match=f"other users can write to {path}.*remove {folder}"):
            find_built(THING)
        path.chmod(0o755)
    assert find_built(THING) == folder


def test_a_cache_that_cannot_be_written_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("PEAKLINE_CACHE_DIR", str(tmp_path / "file"))
    with pytest.raises(BuildError, match="cannot be written.*PEAKLINE_CACHE_DIR"):
        ensure_built(THING, fill)
