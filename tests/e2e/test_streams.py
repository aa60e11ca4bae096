"""Every block is recorded with the stream that torch says is current, however it was switched."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from lab import Lab

COUNT = "6000"
# Calls torch's function as any extension does: through its own import table.
SWITCHES = """
#define _GNU_SOURCE
#include <dlfcn.h>
void _ZN3c104cuda20setCurrentCUDAStreamENS0_10CUDAStreamE(unsigned long device, long stream);
void use_stream(unsigned long device, long stream) {
    _ZN3c104cuda20setCurrentCUDAStreamENS0_10CUDAStreamE(device, stream);
}
// What numbers the nodes that autograd makes for an extension: whose function is called?
unsigned long _ZN2at15sequence_number17get_and_incrementEv(void);
const char* numbers_library(void) {
    Dl_info info = {0};
    dladdr((void*)_ZN2at15sequence_number17get_and_incrementEv, &info);
    return info.dli_fname;
}
"""


def build_switching_library(python: str, folder: Path) -> Path:
    library = folder / "libswitches.so"
    asked = "import pathlib, torch; print(pathlib.Path(torch.__file__).parent / 'lib')"
    torch_libraries = subprocess.run(
        [python, "-c", asked], capture_output=True, text=True, check=True
    ).stdout.strip()
    used = ["-l:libc10_cuda.so", "-l:libtorch_cpu.so"]
    link = ["-L", torch_libraries, *used, "-Wl,--allow-shlib-undefined"]
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(library), *link],
        input=SWITCHES,
        text=True,
        check=True,
    )
    return library


@pytest.mark.parametrize("backend", ["delegate", "observe"])
def test_blocks_have_the_stream_that_is_current(lab: Lab, tmp_path: Path, backend: str) -> None:
    library = build_switching_library(lab.python, tmp_path)
    run = lab.run(
        "switches_streams.py",
        str(library),
        COUNT,
        device="h200x2",
        options=["--backend", backend],
    )
    # Forward lines of a library loaded in mid-run: known from the next node or allocation on.
    assert Path(run.said["numbers_library"]).name == "libpeakline.so"
    expected = run.said["bytes"]
    assert len(expected) == 2 + 3 * 3  # default streams, and three of each thread
    found = {}
    for device in ("0", "1"):
        table = lab.table(run.trace, "--by", "stream", "--device", device)
        found.update({row["key"]: row["bytes"] for row in table["rows"]})
    assert found == expected
