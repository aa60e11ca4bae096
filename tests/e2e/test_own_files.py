"""The program keeps its descriptors, its files and its signals, whatever happens to the trace.

The oracle is the same program without recording.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from lab import ON_GPU, PROGRAMS, Lab, Run

# Fails every call on a file of this name from the tenth on, as a file server does that is gone.
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>
#include <stdio.h>
static int fails(int file) {
    static atomic_int calls;
    char link[64], name[4096];
    snprintf(link, sizeof link, "/proc/thread-self/fd/%d", file);
    ssize_t length = readlink(link, name, sizeof name - 1);
    name[length > 0 ? length : 0] = 0;
    if (strstr(name, "run.peak") == NULL || atomic_fetch_add(&calls, 1) < 10) return 0;
    errno = atoi(getenv("FILE_ERROR"));
    return 1;
}
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
int fallocate(int f, int m, off_t o, off_t n) {
    return fails(f) ? -1 : REAL(fallocate)(f, m, o, n); }
int ftruncate(int f, off_t n) { return fails(f) ? -1 : REAL(ftruncate)(f, n); }
ssize_t pwrite(int f, const void* p, size_t n, off_t o) {
    return fails(f) ? -1 : REAL(pwrite)(f, p, n, o); }
ssize_t pwritev(int f, const struct iovec* v, int n, off_t o) {
    return fails(f) ? -1 : REAL(pwritev)(f, v, n, o); }
"""


def both(lab: Lab, folder: Path, *words: str, **environment: str) -> tuple[Run, Run]:
    recorded = lab.recorded(folder / "with", "--", *words, environment=environment)
    return recorded, lab.unrecorded(folder / "without", *words, environment=environment)


# All of 0, 1 and 2 are the program's own in the last one.
@pytest.mark.parametrize(("seed", "lowest"), [(1, 3), (2, 3), (3, 0)])
def test_random_numbers_are_the_programs_own(
    lab: Lab, tmp_path: Path, seed: int, lowest: int
) -> None:
    program = str(PROGRAMS / "own_numbers.py")
    runs = both(lab, tmp_path, lab.python, program, str(seed), "3000", str(lowest))
    assert [run.status for run in runs] == [0, 0]
    recorded, plain = [json.loads((run.folder / "result.json").read_text()) for run in runs]
    assert recorded == plain
    assert len(plain["files"]) == 20
    assert runs[0].trace.stat().st_size > 500_000  # it was written to throughout
    assert lab.table(runs[0].trace)["peak_bytes"] > 0


def test_standard_descriptors_that_are_closed_stay_closed(lab: Lab, tmp_path: Path) -> None:
    code = (
        "import os, torch\n"
        "torch.empty(1, device='cuda')\n"
        "for size in range(50_000): torch.empty(size + 1, dtype=torch.uint8, device='cuda')\n"
        "seen = []\n"
        "for number in (0, 1, 2):\n"
        "    try: os.fstat(number); seen.append('open')\n"
        "    except OSError as error: seen.append(error.errno)\n"
        "open('seen', 'w').write(repr(seen))\n"
    )
    script = 'exec "$0" -c "$1" <&- >&- 2>&-'
    runs = both(lab, tmp_path, "sh", "-c", script, lab.python, code)
    assert [run.status for run in runs] == [0, 0]
    seen = [(run.folder / "seen").read_text() for run in runs]
    assert seen[0] == seen[1]
    assert runs[0].trace.exists()


def test_a_program_at_the_limit_of_open_files_ends_alike(lab: Lab, tmp_path: Path) -> None:
    code = (
        "import resource, torch\n"
        "torch.empty(1, device='cuda')\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))\n"
        "files = []\n"
        "def fill():\n"
        "    try:\n"
        "        while True: files.append(open('/dev/null'))\n"
        "    except OSError as error: print(len(files), files[-1].fileno(), error.errno)\n"
        "fill()\n"
        "for size in range(60_000): torch.empty(size + 1, dtype=torch.uint8, device='cuda')\n"
        "fill()\n"
        "print(torch.cuda.max_memory_allocated())\n"
    )
    recorded, plain = both(lab, tmp_path, lab.python, "-c", code)
    assert (recorded.status, recorded.stdout) == (plain.status, plain.stdout)
    peak = int(plain.stdout.split()[-1])
    assert lab.table(recorded.trace)["peak_bytes"] == peak


LOSSES = {
    "truncated": "truncated",
    "cut": "truncated",
    "removed": "removed, renamed or replaced",
    "renamed": "removed, renamed or replaced",
    "replaced": "removed, renamed or replaced",
    "folder removed": "removed, renamed or replaced",
    "limited": "File too large",
}


@pytest.mark.parametrize("how", LOSSES)
def test_a_program_whose_trace_is_lost_ends_as_alone(lab: Lab, tmp_path: Path, how: str) -> None:
    # Alone the program has no trace: all but the limit is the same to it.
    alone = how if how == "limited" else "truncated"
    plain = lab.once("loses_its_trace.py", alone, "none", recorded=False)
    trace = tmp_path / "traces" / "run.peak"
    trace.parent.mkdir()
    words = [lab.python, str(PROGRAMS / "loses_its_trace.py"), how, str(trace)]
    options = ["-q", "-o", str(trace)]
    recorded = lab.recorded(tmp_path / "with", "--", *words, options=options)
    assert (recorded.status, recorded.stdout) == (plain.status, plain.stdout)
    notes = [note for note in recorded.notes if LOSSES[how] in note]
    assert len(notes) == 1, recorded.stderr
    if how == "replaced":
        assert trace.read_text() == "another program's\n"
    if how in ("renamed", "limited"):
        found = trace if how == "limited" else trace.with_name("run.peak.renamed")
        assert 0 < lab.table(found)["peak_bytes"] <= plain.said["peak"]


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("shim")
    source, library = folder / "shim.c", folder / "shim.so"
    source.write_text(SHIM)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"], check=True)
    return str(library)


@pytest.mark.skipif(ON_GPU, reason="the driver's own files would fail, too")
@pytest.mark.parametrize("error", [5, 116], ids=["EIO", "ESTALE"])
def test_a_file_server_that_is_gone_ends_the_trace_only(
    lab: Lab, tmp_path: Path, shim: str, error: int
) -> None:
    words = ("loses_its_trace.py", "not at all", "none")
    plain = lab.once(*words, recorded=False)
    recorded = lab.run(*words, environment={"LD_PRELOAD": shim, "FILE_ERROR": str(error)})
    assert (recorded.status, recorded.stdout) == (plain.status, plain.stdout)
    assert len([note for note in recorded.notes if "recording to it stopped" in note]) == 1
    assert 0 < lab.table(recorded.trace)["peak_bytes"] <= plain.said["peak"]
