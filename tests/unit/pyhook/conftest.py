"""Fixtures around the test library and the interpreters, see interpreters.py."""

import functools
import json
import shutil

import pytest
from interpreters import INTERPRETERS, ROOT, build_library, find_interpreter, run_with


@pytest.fixture(scope="session")
def capture_library(tmp_path_factory):
    return build_library(tmp_path_factory.mktemp("pyhook") / "libcapture_test.so")


@pytest.fixture
def wrong_layout_library(tmp_path):
    """A library that believes frames of 3.11 keep their code eight bytes further on."""
    wrong = tmp_path / "pyhook"
    shutil.copytree(
        ROOT / "pyhook", wrong, ignore=shutil.ignore_patterns("peakline", "__pycache__")
    )
    layout = wrong / "frames" / "python_layout.h"
    text = layout.read_text()
    start = text.index("kLayout311")
    end = text.index("kLayout312")
    row = text[start:end].replace(".frame_code = 32", ".frame_code = 40")
    assert row != text[start:end]
    layout.write_text(text[:start] + row + text[end:])
    return build_library(tmp_path / "libwrong.so", folder=wrong)


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
