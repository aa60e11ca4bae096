"""What the search for holders reads of CPython's objects, in every interpreter of this machine."""

import os
import subprocess
import sysconfig

import pytest
from interpreters import FLAGS, HERE, ROOT, run_with


@pytest.fixture(scope="session")
def holders_library(tmp_path_factory):
    output = tmp_path_factory.mktemp("holders") / "libholders_test.so"
    holders = ROOT / "pyhook" / "holders"
    parts = ("object_layout.cpp", "frame_layout.cpp")
    sources = [HERE / "holders_library.cpp", *(holders / part for part in parts)]
    flags = [flag for flag in FLAGS if flag != "-Wpedantic"]  # Python.h does not pass it
    flags += ["-DPy_LIMITED_API=0x030A0000", "-DPY_SSIZE_T_CLEAN"]
    include = ["-isystem", sysconfig.get_paths()["include"]]
    subprocess.run(
        ["g++", *flags, *include, *map(str, sources), "-o", str(output), "-ldl"], check=True
    )
    return output


def test_attributes_and_variables_are_those_of_python(holders_library, interpreter):
    done = run_with(interpreter, holders_library, "object_layout.py")
    assert (done.returncode, done.stdout) == (0, "good\n"), done.stderr[-2000:] or os.strerror(1)
