"""Every way to the driver's memory is recorded, and once: programs without torch or Python.

The oracle is the program: what it asked for, and what the driver told it is in use at the end.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import peakline
import pytest
from lab import ON_GPU, PROGRAMS, Lab, Run

# Each with what its requests hold in the end.
WAYS = {
    "dlsym": 2_000_001,
    "lookup": 9_000_006,
    "stream": 10_000_003,
    "pitch": 512 * 10,
    "runtime": 4_000_001,
    "threads": 40_000_000,
    "errors": 0,
    "fork": 6_000_001,
    "mapped": 32 << 20,
    "unmapped": 0,
}
Start = Callable[..., Run]


@pytest.fixture(scope="module")
def start(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Start:
    folder = tmp_path_factory.mktemp("driver")
    source = str(PROGRAMS / "uses_the_driver.cpp")
    compile_it = ["g++", "-std=c++17", "-pthread", "-O1"]
    subprocess.run([*compile_it, "-o", str(folder / "looks-up"), source, "-ldl"], check=True)
    # Only for the linker: the program finds the driver of the machine.
    driver = folder / "libcuda.so.1"
    stub = folder / "stub.c"
    stub.write_text("int cuMemAlloc_v2(unsigned long long* a, unsigned long n) { return 3; }\n")
    words = ["gcc", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", str(driver), str(stub)]
    subprocess.run(words, check=True)
    linked = ["-DLINKED", "-o", str(folder / "linked"), source, str(driver), "-ldl"]
    subprocess.run([*compile_it, *linked], check=True)
    driver.unlink()

    runtime = _runtime(lab)

    def run(program: str, *ways: str) -> Run:
        return lab.recorded(
            folder / "-".join([program, *ways]),
            "--",
            str(folder / program),
            *ways,
            environment={"RUNTIME": runtime},
        )

    return run


def _runtime(lab: Lab) -> str:
    code = "import torch; print(torch.version.cuda.split('.')[0])"
    result = subprocess.run([lab.python, "-c", code], capture_output=True, text=True, check=True)
    return f"libcudart.so.{result.stdout.strip()}"


def check(finished: Run, held: int) -> dict[str, Any]:
    assert finished.status == 0, finished.stderr
    said = finished.said
    assert said["asked_bytes"] == held
    (trace,) = finished.traces
    ledger = peakline.ledger(trace, at="end")
    libraries = [part for part in ledger["parts"] if part["kind"] == "library"]
    assert sum(part["bytes"] for part in libraries) == held
    assert sum(part["count"] for part in libraries) == said["asked_count"]
    assert ledger["device_used_bytes"] == said["used_bytes"]
    assert (
        sum(part["bytes"] for part in ledger["parts"]) + ledger["unexplained_bytes"]
        == said["used_bytes"]
    )
    assert ON_GPU or ledger["unexplained_bytes"] == 0
    return ledger


@pytest.mark.parametrize("way", [way for way, held in WAYS.items() if held])
def test_each_way_is_recorded_once(lab: Lab, start: Start, way: str) -> None:
    finished = start("looks-up", way)
    ledger = check(finished, WAYS[way])
    # All that was ever given: what the driver asks of itself is nobody's request.
    given = lab.table(finished.traces[0])["total_allocated_bytes"]
    assert given == WAYS[way] * (200 if way == "threads" else 1)
    names = [part["name"] for part in ledger["parts"] if part["kind"] == "library"]
    assert names == ["looks-up"]


def test_all_ways_in_one_process(start: Start) -> None:
    finished = start("looks-up", *WAYS)
    check(finished, sum(WAYS.values()))


def test_a_program_that_is_linked_to_the_driver(start: Start) -> None:
    check(start("linked", "linked", "lookup", "dlsym"), 1_000_001 + 9_000_006 + 2_000_001)


def test_a_program_without_torch_has_a_table_by_function(lab: Lab, start: Start) -> None:
    finished = start("looks-up", "dlsym", "mapped")
    (trace,) = finished.traces
    table = json.loads(lab.report("table", Path(trace), "--json"))
    assert table["peak_bytes"] == WAYS["dlsym"] + WAYS["mapped"]
    assert sum(row["bytes"] for row in table["rows"]) == table["peak_bytes"]
    assert {row["location"]["function"] for row in table["rows"]} == {"keep", "main"}


def test_memory_that_is_freed_again_is_held_by_nobody(lab: Lab, start: Start) -> None:
    finished = start("looks-up", "dlsym", "unmapped", "errors")
    check(finished, WAYS["dlsym"])


NEXT = """
#define _GNU_SOURCE
#include <dlfcn.h>
int getpid(void) { return ((int (*)(void))dlsym(RTLD_NEXT, "getpid"))() + 1000000; }
"""
ASKS = """
#include <dlfcn.h>
#include <stdio.h>
int getpid(void);
int main(void) {
    void* libc = dlopen("libc.so.6", RTLD_NOW);
    printf("%d %d ", getpid(), dlsym(RTLD_DEFAULT, "getpid") == (void*)getpid);
    printf("%d ", dlsym(libc, "curl_easy_init") == 0);
    puts(dlerror());
}
"""


def test_dlsym_is_asked_in_the_name_of_its_caller(lab: Lab, tmp_path: Path) -> None:
    for name, source, options in (("next.so", NEXT, ["-shared", "-fPIC"]), ("asks", ASKS, [])):
        (tmp_path / f"{name}.c").write_text(source)
        words = ["gcc", *options, "-o", str(tmp_path / name), str(tmp_path / f"{name}.c"), "-ldl"]
        subprocess.run(words, check=True)
    ours, other = lab.preload_library(), str(tmp_path / "next.so")
    for order in ([ours, other], [other, ours]):
        process = subprocess.Popen(
            [str(tmp_path / "asks")],
            env={"LD_PRELOAD": ":".join(order)},
            stdout=subprocess.PIPE,
            text=True,
        )
        said = process.communicate(timeout=60)[0].split(maxsplit=3)
        assert said[:3] == [str(process.pid + 1_000_000), "1", "1"]
        assert "undefined symbol: curl_easy_init" in said[3]


def test_the_preloaded_library_needs_libc_only(lab: Lab) -> None:
    words = ["readelf", "-d", lab.preload_library()]
    text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    assert [line.split("[")[1].rstrip("]") for line in text.splitlines() if "NEEDED" in line] == [
        "libc.so.6"
    ]
