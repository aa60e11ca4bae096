"""Fixtures around the test library and the interpreters, see interpreters.py."""

import functools
import json
import re
import shutil

import pytest
from interpreters import INTERPRETERS, ROOT, build_library, find_interpreter, run_with


@pytest.fixture(scope="session")
def capture_library(tmp_path_factory):
    return build_library(tmp_path_factory.mktemp("pyhook") / "libcapture_test.so")


def copy_with_layout(folder, row, changed):
    """Copies pyhook/ with another python_layout.h."""
    copy = folder / "pyhook"
    ignored = shutil.ignore_patterns("peakline", "__pycache__")
    shutil.copytree(ROOT / "pyhook", copy, ignore=ignored)
    layout = copy / "frames" / "python_layout.h"
    text, count = re.subn(row, changed, layout.read_text(), flags=re.DOTALL)
    assert count == 1
    layout.write_text(text)
    return copy


@pytest.fixture
def wrong_layout_library(tmp_path):
    """A library that believes frames of 3.11 keep their code eight bytes further on."""
    wrong = copy_with_layout(tmp_path, r"(kLayout311 = .*?\.frame_code = )32", r"\g<1>40")
    return build_library(tmp_path / "libwrong.so", folder=wrong, optimisation="-O0")


@pytest.fixture
def unknown_version(tmp_path):
    """A copy of pyhook/ whose table has no row for 3.11."""
    return copy_with_layout(tmp_path, r"(LayoutList<.*?)kLayout311, ", r"\1")


@pytest.fixture(params=INTERPRETERS)
def interpreter(request):
    path = find_interpreter(request.param)
    if path is None:
        pytest.skip(f"no Python {request.param} on this machine")
    return path


@pytest.fixture
def run_program(capture_library, interpreter):
    """run_with() for this interpreter and the library under test."""
    return functools.partial(run_with, interpreter, capture_library)


@pytest.fixture
def run_json(run_program):
    """Runs a program that must succeed and returns what it printed, as JSON."""

    def run(name, *arguments, timeout=300):
        done = run_program(name, *arguments, timeout=timeout)
        assert done.returncode == 0, done.stderr[-4000:]
        return json.loads(done.stdout)

    return run
