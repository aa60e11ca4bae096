"""The preloaded library does nothing in programs that do not use CUDA: not a byte, not a file."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lab import PROGRAMS, Run, together

PYTHON_CODE = "import sys, json, threading; print(json.dumps([1, 2])); sys.exit(3)"
COMMANDS = {
    "bash": ["bash", "-c", "echo $((6 * 7)); (exit 4); echo $? >&2; exit 9"],
    "git": ["git", "--version"],
    "ls": ["ls", "-l", "SOURCE"],
    "compiler": ["g++", "-std=c++17", "-pthread", "-o", "leave", "SOURCE"],
    "a pipeline": ["sh", "-c", "seq 1000 | sort -r | head -3"],
    "python that forks": [
        sys.executable,
        "-c",
        "import os; pid = os.fork(); pid or os._exit(5); print(os.waitpid(pid, 0)[1])",
    ],
    "torch without CUDA": [
        "TORCH",
        "-c",
        "import torch; print(torch.ones(3).sum().item(), torch.cuda.memory_allocated())",
    ],
}


def other_pythons() -> list[str]:
    """Every other interpreter that is installed here."""
    beside = Path(sys.base_prefix).parent.glob("*/bin/python3")
    found = {str(path.resolve()) for path in beside if os.access(path, os.X_OK)}
    system = shutil.which("python3", path="/usr/bin:/bin")
    return sorted(found | ({system} if system else set()))


def with_and_without(lab: Any, folder: Path, words: list[str]) -> tuple[Run, Run]:
    preload = {"LD_PRELOAD": lab.preload_library(), "PEAKLINE_OUTPUT": "run.peak"}
    runs = {
        "without": lambda: lab.plain(folder / "without", *words),
        "with": lambda: lab.plain(folder / "with", *words, environment=preload),
    }
    done = together(runs)
    return done["without"], done["with"]


def outcome(run: Run, ignore: Callable[[str], str] = str) -> tuple[int, str, str]:
    return run.status, ignore(run.stdout), run.stderr


def assert_the_same(without: Run, with_preload: Run) -> None:
    assert outcome(with_preload) == outcome(without)
    names = [sorted(p.name for p in run.folder.rglob("*")) for run in (without, with_preload)]
    assert names[0] == names[1]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_program_without_cuda_notices_nothing(lab: Any, tmp_path: Path, command: str) -> None:
    source = str(PROGRAMS / "life_underscore_exit.cpp")
    named = {"SOURCE": source, "TORCH": lab.python}
    words = [named.get(word, word) for word in COMMANDS[command]]
    if shutil.which(words[0]) is None:
        pytest.skip(f"no {words[0]} here")
    assert_the_same(*with_and_without(lab, tmp_path, words))


@pytest.mark.parametrize("python", other_pythons())
def test_no_interpreter_notices_the_preloaded_library(
    lab: Any, tmp_path: Path, python: str
) -> None:
    without, with_preload = with_and_without(lab, tmp_path, [python, "-c", PYTHON_CODE])
    assert without.status == 3
    assert_the_same(without, with_preload)


def test_leaving_by_underscore_exit_keeps_the_exit_status(lab: Any, tmp_path: Path) -> None:
    program = tmp_path / "leave"
    source = PROGRAMS / "life_underscore_exit.cpp"
    subprocess.run(["g++", "-std=c++17", "-pthread", "-o", program, source], check=True)
    without, with_preload = with_and_without(lab, tmp_path, [str(program)])
    assert without.status == 7
    assert_the_same(without, with_preload)


def test_a_program_that_finds_no_gpu_fails_as_it_would_without_us(lab: Any, tmp_path: Path) -> None:
    code = "import torch; torch.ones(1, device='cuda')"
    without, with_preload = with_and_without(lab, tmp_path, [lab.python, "-c", code])
    if without.status == 0:
        pytest.skip("there is a GPU here")
    assert_the_same(without, with_preload)
    assert with_preload.status == 1
