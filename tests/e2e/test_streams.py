"""Every block is recorded with the stream that torch says is current, however it was switched."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from lab import Lab

COUNT = "6000"
# Calls torch's function as any extension does: through its own import table.
SWITCHES = """
void _ZN3c104cuda20setCurrentCUDAStreamENS0_10CUDAStreamE(unsigned long device, long stream);
void use_stream(unsigned long device, long stream) {
    _ZN3c104cuda20setCurrentCUDAStreamENS0_10CUDAStreamE(device, stream);
}
"""


def build_switching_library(python: str, folder: Path) -> Path:
    library = folder / "libswitches.so"
    asked = "import pathlib, torch; print(pathlib.Path(torch.__file__).parent / 'lib')"
    torch_libraries = subprocess.run(
        [python, "-c", asked], capture_output=True, text=True, check=True
    ).stdout.strip()
    link = ["-L", torch_libraries, "-l:libc10_cuda.so", "-Wl,--allow-shlib-undefined"]
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
    expected = run.said["bytes"]
    assert len(expected) == 2 + 3 * 3  # default streams, and three of each thread
    found = {}
    for device in ("0", "1"):
        table = lab.table(run.trace, "--by", "stream", "--device", device)
        found.update({row["key"]: row["bytes"] for row in table["rows"]})
    assert found == expected
