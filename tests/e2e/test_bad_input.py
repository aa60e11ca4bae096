"""Bad files, bad options and bad places: one clear line, exit code 2, and the program unharmed."""

import os
import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from checks import check_whole_trace
from lab import PROGRAMS, Run, together

TRAINING = str(PROGRAMS / "life_training.py")
MAJOR_OFFSET = 8
CUTS = (1, 50, 103, 104, 4095, 4096, 4200, 5000, 10_000, 270_000)
FLIPS = (0, 3, 8, 12, 40, 60, 100, 4096, 4104, 4120, 4300, 9000, 266_240, 266_300, 267_000)


@pytest.fixture(scope="module")
def good(lab: Any) -> bytes:
    """The bytes of a whole trace."""
    return lab.once("life_training.py").trace.read_bytes()


@pytest.fixture
def damaged(tmp_path: Path, good: bytes) -> Path:
    path = tmp_path / "damaged.peak"
    path.write_bytes(good)
    return path


def assert_one_clear_line(result: subprocess.CompletedProcess[str], *words: str) -> None:
    assert (result.returncode, result.stdout) == (2, ""), result.stderr
    [line] = result.stderr.splitlines()
    assert line.startswith("peakline: error: ")
    for word in words:
        assert word in line


def assert_read_or_refused(lab: Any, path: Path) -> None:
    """A damaged trace is either refused in one line, or read with word of what is missing."""
    result = lab.peakline("table", str(path))
    assert result.returncode in (0, 2), result.stderr
    if result.returncode == 2:
        assert_one_clear_line(result, path.name)
    else:
        assert "Max mem: " in result.stdout
        assert path.name in result.stdout + result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("command", ["table", "summary", "stats"])
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, ["No such file", "peakline run"]),
        (b"", ["is empty"]),
        (b"#!/bin/sh\n" * 100, ["is not a peakline trace"]),
        (b"\x89PKL\n\x1a\n" + bytes(200), ["binary mode"]),
    ],
    ids=["missing", "empty", "a script", "a text-mode copy"],
)
def test_what_is_not_a_trace_is_refused_in_one_line(
    lab: Any, tmp_path: Path, command: str, content: bytes | None, words: list[str]
) -> None:
    path = tmp_path / "bad.peak"
    if content is not None:
        path.write_bytes(content)
    assert_one_clear_line(lab.peakline(command, str(path)), "bad.peak", *words)


def test_a_directory_is_refused_in_one_line(lab: Any, tmp_path: Path) -> None:
    assert_one_clear_line(lab.peakline("table", str(tmp_path)), "directory")


def test_another_major_version_is_refused_and_says_what_to_use(lab: Any, damaged: Path) -> None:
    with damaged.open("r+b") as file:
        file.seek(MAJOR_OFFSET)
        file.write(struct.pack("<H", 9))
    assert_one_clear_line(
        lab.peakline("table", str(damaged)), "version 9", "use the peakline that recorded it"
    )


@pytest.mark.parametrize("size", CUTS)
def test_a_cut_trace_is_read_as_far_as_it_is_whole(lab: Any, damaged: Path, size: int) -> None:
    os.truncate(damaged, size)
    assert_read_or_refused(lab, damaged)


@pytest.mark.parametrize("offset", FLIPS)
def test_a_flipped_byte_is_noticed(lab: Any, damaged: Path, good: bytes, offset: int) -> None:
    assert offset < len(good)
    with damaged.open("r+b") as file:
        file.seek(offset)
        file.write(bytes([good[offset] ^ 0x55]))
    assert_read_or_refused(lab, damaged)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--by", "nonsense"], ["nonsense", "line", "function"]),
        (["--at", "nonsense"], ["nonsense", "phase"]),
        (["--device", "7"], ["device 7"]),
        (["--device", "x"], ["'x'"]),
    ],
    ids=" ".join,
)
def test_a_bad_option_is_refused_in_one_line(
    lab: Any, damaged: Path, options: list[str], words: list[str]
) -> None:
    assert_one_clear_line(lab.peakline("table", str(damaged), *options), *words)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "nothing to run"),
        (["--"], "nothing to run"),
        (["--no-record", TRAINING], "--no-record needs --simulate"),
        (["--simulate", "banana", TRAINING], "banana"),
        (["--python", "missing-python", TRAINING], "missing-python"),
        (["missing.py", "--steps", "3"], "missing.py does not exist"),
    ],
    ids=["nothing", "dashes", "no-record alone", "unknown device", "no python", "no script"],
)
def test_run_refuses_bad_arguments_before_running(lab: Any, words: list[str], told: str) -> None:
    result = lab.peakline("run", *words)
    assert result.returncode == 2
    [line] = [line for line in result.stderr.splitlines() if not line.startswith("usage: ")]
    assert line.startswith("peakline: error: ")
    assert told in line


def test_a_missing_script_ends_as_python_ends(lab: Any, tmp_path: Path) -> None:
    result = lab.plain(tmp_path, lab.python, "-m", "peakline", "run", "-q", "missing.py")
    assert result.status == 2
    assert "missing.py" in result.stderr
    assert "Traceback" not in result.stderr


# The exit codes of a shell, of env, nice and time where the system refuses to run it.
@pytest.mark.parametrize(
    ("program", "statuses"), [("folder", [2]), ("no-such-command", [126, 127])]
)
def test_what_cannot_be_run_is_told_in_one_line(
    lab: Any, tmp_path: Path, program: str, statuses: list[int]
) -> None:
    (tmp_path / "folder").mkdir()
    words = [lab.python, "-m", "peakline", "run", "-q", f"./{program}"]
    result = lab.plain(tmp_path, *words)
    assert result.status in statuses
    [line] = result.stderr.splitlines()
    assert line.startswith("peakline: error: ")
    assert program in line


def cache_without_torch_part(lab: Any, folder: Path) -> Path:
    """A cache folder that has the simulated GPU and nothing else."""
    question = "from peakline.builds.build_cache import cache_folder; print(cache_folder())"
    real = Path(lab.plain(folder, lab.python, "-c", question).stdout.strip())
    empty = folder / "cache"
    empty.mkdir()
    for simulated in real.glob("simgpu-*"):
        (empty / simulated.name).symlink_to(simulated)
    return empty


# The first chunk alone takes 256 KiB: the small disk is full at once, the larger one later.
DISKS = {"small": "128k", "larger": "5m"}


@pytest.fixture(scope="module")
def disks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with two file systems of a few megabytes."""
    base = tmp_path_factory.mktemp("disks")
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root can mount a small disk")
    for name, size in DISKS.items():
        (base / name).mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(base / name)]
        if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
            pytest.skip("a small disk cannot be mounted here")
    yield base
    for name in DISKS:
        subprocess.run(["umount", "-l", str(base / name)], check=True)


@pytest.fixture(scope="module")
def troubled(lab: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """Runs with something in the way, by name."""
    base = tmp_path_factory.mktemp("troubled")
    (base / "file").write_text("in the way")
    no_compiler = {
        "PEAKLINE_CACHE_DIR": str(cache_without_torch_part(lab, base)),
        "CXX": "missing-compiler",
    }

    def by_hand(name: str, **environment: str) -> Any:
        environment = {"PEAKLINE_OUTPUT": "run.peak", **environment}
        return lambda: lab.preloaded(base / name, lab.python, TRAINING, environment=environment)

    return together(
        {
            "no folder": by_hand("in-file", PEAKLINE_OUTPUT=f"{base}/file/run.peak"),
            "no compiler": lambda: lab.recorded(base / "plain", TRAINING, environment=no_compiler),
            "backend": by_hand("backend", PEAKLINE_BACKEND="nonsense"),
            "stacks": by_hand("stacks", PEAKLINE_STACKS="nonsense"),
            "part": by_hand("part", PEAKLINE_TORCH_PART="/missing/part.so"),
        }
    )


def test_a_trace_that_cannot_be_written_is_told_and_the_program_runs(
    troubled: dict[str, Run],
) -> None:
    run = troubled["no folder"]
    assert run.status == 0, run.stderr
    assert run.said["peak"] > 0
    [note] = run.notes
    assert "file/run.peak" in note
    assert "Not a directory" in note
    assert "-o" in note
    assert "nothing was recorded" not in run.stderr


def test_a_disk_that_is_full_from_the_start_is_told_and_the_program_runs(
    lab: Any, disks: Path, tmp_path: Path
) -> None:
    run = lab.recorded(tmp_path, TRAINING, options=["-q", "-o", f"{disks}/small/run.peak"])
    assert run.status == 0, run.stderr
    assert run.said["peak"] > 0
    [note] = run.notes
    assert "No space left on device" in note
    assert "-o" in note
    assert list((disks / "small").iterdir()) == []


def test_a_disk_that_fills_up_is_told_once_and_the_trace_says_where_it_ends(
    lab: Any, disks: Path, tmp_path: Path
) -> None:
    trace = disks / "larger" / "run.peak"
    program = str(PROGRAMS / "life_full_disk.py")
    run = lab.recorded(tmp_path, program, options=["-q", "-o", str(trace)])
    assert run.status == 0, run.stderr
    [note] = run.notes
    assert "No space left on device" in note
    table = lab.table(trace)
    assert not table["complete"]
    [problem] = table["problems"]
    assert "No space left on device" in problem
    # The program reaches its peak long before the disk is full.
    assert table["peak_bytes"] == run.said["peak"]


def test_a_request_refused_after_the_disk_is_full_ends_as_without_peakline(
    lab: Any, disks: Path, tmp_path: Path
) -> None:
    for other in (disks / "larger").iterdir():
        other.unlink()
    trace = disks / "larger" / "refused.peak"
    program = str(PROGRAMS / "life_full_disk.py")
    run = lab.recorded(tmp_path, program, "refused", options=["-q", "-o", str(trace)])
    assert run.status == 1
    assert (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1048576.00 GiB" in run.stderr
    )
    [note] = run.notes
    assert "No space left on device" in note
    asked = lab.peakline("oom", str(trace))
    assert asked.returncode == 2
    assert "no request was refused" in asked.stderr


def test_without_a_compiler_recording_falls_back_to_observe_and_says_why(
    lab: Any, troubled: dict[str, Run]
) -> None:
    run = troubled["no compiler"]
    assert run.status == 0, run.stderr
    assert "no C++ compiler (missing-compiler)" in run.stderr
    assert "'observe'" in run.stderr
    [trace] = run.traces
    check_whole_trace(lab, trace, run.said["peak"])


@pytest.mark.parametrize(
    ("name", "told"),
    [("backend", "nonsense"), ("stacks", "nonsense"), ("part", "/missing/part.so")],
)
def test_a_bad_variable_is_told_once_and_the_program_is_recorded_all_the_same(
    lab: Any, troubled: dict[str, Run], name: str, told: str
) -> None:
    run = troubled[name]
    assert run.status == 0, run.stderr
    [note] = run.notes
    assert told in note
    [trace] = run.traces
    check_whole_trace(lab, trace, run.said["peak"])


def test_an_unknown_python_is_told_and_the_peak_stays_exact(lab: Any, tmp_path: Path) -> None:
    pretence = tmp_path / "pretence.so"
    source = PROGRAMS / "life_unknown_python.cpp"
    subprocess.run(["g++", "-shared", "-fPIC", "-o", pretence, source], check=True)
    pretended = {"LD_PRELOAD": str(pretence)}
    question = "import sys; print(sys.version)"
    if "3.99" not in lab.plain(tmp_path, lab.python, "-c", question, environment=pretended).stdout:
        pytest.skip("this Python has no shared libpython, its version cannot be replaced")
    run = lab.recorded(tmp_path, TRAINING, environment=pretended)
    assert run.status == 0, run.stderr
    assert run.notes == ["peakline: no Python stacks: Python 3.99.0: this version is not known"]
    check_whole_trace(lab, run.traces[0], run.said["peak"])
