"""What the search for holders reads of CPython's objects, in every interpreter of this machine."""

import os
import subprocess
import sysconfig

import pytest
from interpreters import FLAGS, HERE, ROOT, find_interpreter, run_with


def build_holders(output, pyhook):
    parts = ("object_layout.cpp", "frame_layout.cpp")
    sources = [HERE / "holders_library.cpp", *(pyhook / "holders" / part for part in parts)]
    flags = [flag for flag in FLAGS if flag != "-Wpedantic"]  # Python.h does not pass it
    flags += ["-DPy_LIMITED_API=0x030A0000", "-DPY_SSIZE_T_CLEAN"]
    # The folder's own headers before those of the project.
    include = [f"-I{pyhook.parent}", "-isystem", sysconfig.get_paths()["include"]]
    subprocess.run(
        ["g++", *include, *flags, *map(str, sources), "-o", str(output), "-ldl"], check=True
    )
    return output


@pytest.fixture(scope="session")
def holders_library(tmp_path_factory):
    return build_holders(tmp_path_factory.mktemp("holders") / "libholders_test.so", ROOT / "pyhook")


def test_attributes_and_variables_are_those_of_python(holders_library, interpreter):
    done = run_with(interpreter, holders_library, "object_layout.py")
    assert (done.returncode, done.stdout) == (0, "good\n"), done.stderr[-2000:] or os.strerror(1)


def test_of_an_unknown_version_no_frame_and_no_instance_values_are_read(unknown_version, tmp_path):
    path = find_interpreter("3.11")
    if path is None:
        pytest.skip("no Python 3.11 on this machine")
    library = build_holders(tmp_path / "libunknown.so", unknown_version)
    done = run_with(path, library, "unknown_version.py")
    assert (done.returncode, done.stdout) == (0, "good\n"), done.stderr[-2000:]
