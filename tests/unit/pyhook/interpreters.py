"""The test library and the interpreters the tests run it in."""

import os
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
FLAGS = [
    *("-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow"),
    *("-Werror", "-fvisibility=hidden", "-fno-exceptions", "-fPIC", "-shared", f"-I{ROOT}"),
]


# The extension module, the search for holders and the registration with capture are tested with
# the whole library.
CAPTURE_ROOMS = ("", "frames", "code", "interpreter")


def capture_sources(folder):
    found = [path for room in CAPTURE_ROOMS for path in sorted((folder / room).glob("*.cpp"))]
    return [path for path in found if path.name != "register.cpp"]


RECORDER_SOURCES = [
    "record/tables/stack_table.cpp",
    "record/tables/raw_stack_cache.cpp",
    "capture/memo/words_hash.cpp",
    "capture/libraries/got_patch.cpp",
    "capture/threads/thread_state.cpp",
]
PYENV = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
INTERPRETERS = ["3.10", "3.11", "3.12", "3.13", "3.14", "system"]


def build_library(output, folder=ROOT / "pyhook", optimisation="-O2"):
    """Compiles the capture in `folder` with the test functions around it."""
    sources = [HERE / "capture_library.cpp"]
    sources += capture_sources(folder)
    sources += [ROOT / "allocator" / name for name in RECORDER_SOURCES]
    own = f"-I{folder.parent}"  # before those of the project
    command = [
        "g++",
        own,
        optimisation,
        *FLAGS,
        *map(str, sources),
        "-o",
        str(output),
        "-ldl",
        "-pthread",
    ]
    subprocess.run(command, check=True)
    return output


def find_interpreter(version):
    """The program, or None when this machine does not have it."""
    if version == "system":
        candidates = [Path("/usr/bin/python3")]
    else:
        candidates = sorted(PYENV.glob(f"{version}.*/bin/python3"))
    return next((path for path in candidates if path.exists()), None)


def run_with(interpreter, library, name, *arguments, timeout=300):
    """Runs a program of programs/ and returns the finished process."""
    environment = dict(os.environ, PEAKLINE_TEST_LIBRARY=str(library))
    environment.update(PYTHONIOENCODING="utf-8", PYTHONDONTWRITEBYTECODE="1")
    program = HERE / "programs" / name
    command = [str(interpreter), "-W", "ignore", str(program), *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=timeout)
