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
    "arrays": 1000 * 100 * 8 + 100 * 100 * 50 * 4,
    "host": 0,
    "entry": 22_000_023,
}
# All that was ever given, where it is more than that.
GIVEN = {"threads": 200 * WAYS["threads"], "arrays": WAYS["arrays"] + 1000 * 100 * 8}
# The ways that end with other things than they began with.
RESET = 9_000_009
SHARED = 8_000_008
Start = Callable[..., Run]


@pytest.fixture(scope="module")
def start(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Start:
    folder = tmp_path_factory.mktemp("driver")
    source = str(PROGRAMS / "uses_the_driver.cpp")
    compile_it = ["g++", "-std=c++17", "-pthread", "-O1"]
    subprocess.run([*compile_it, "-o", str(folder / "looks-up"), source, "-ldl"], check=True)
    lines = ["-g", "-O2", "-o", str(folder / "with-lines"), source, "-ldl"]
    subprocess.run([*compile_it, *lines], check=True)
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
    ledger = peakline.open(trace).ledger(at="end").document
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
    assert given == GIVEN.get(way, WAYS[way])
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


def line_of(text: str) -> int:
    lines = (PROGRAMS / "uses_the_driver.cpp").read_text().splitlines()
    [number] = [i for i, line in enumerate(lines, start=1) if text in line]
    return number


def test_a_program_with_debug_information_has_a_table_by_line(lab: Lab, start: Start) -> None:
    finished = start("with-lines", "dlsym", "mapped")
    table = lab.table(finished.traces[0])
    found = {Path(row["location"]["file"]).name: row["location"] for row in table["rows"]}
    assert set(found) == {"uses_the_driver.cpp"}
    lines = {row["location"]["line"]: row["bytes"] for row in table["rows"]}
    # Functions of one call are put into their callers: the line is that of the call all the same.
    asks = line_of("alloc(&address, bytes), way)")
    creates = line_of('"cuMemCreate")(')
    assert lines[asks] == WAYS["dlsym"]
    [mapped] = [bytes for line, bytes in lines.items() if creates <= line <= creates + 2]
    assert mapped == WAYS["mapped"]
    stacks = lab.table(finished.traces[0], "--by", "stack")["rows"]
    [keeps] = [row["stack"] for row in stacks if row["bytes"] == WAYS["dlsym"]]
    with_lines = [frame["function"] for frame in keeps if frame["line"]]
    assert with_lines == ["keep", "take", "main"]
    text = lab.report("table", finished.traces[0])
    assert f"uses_the_driver.cpp:{asks} (keep)" in text


def test_memory_of_the_host_stands_beside(start: Start) -> None:
    ledger = check(start("looks-up", "host", "dlsym"), WAYS["dlsym"])
    beside = {part["kind"]: part["bytes"] for part in ledger["beside"]}
    assert beside == {"pinned": 1_000_001, "registered": 3_000_003, "managed": 4_000_004}


def test_memory_of_another_process_is_not_of_this_one(start: Start) -> None:
    finished = start("looks-up", "shared")
    assert finished.status == 0, finished.stderr
    opener, owner = finished.documents
    ledgers = [peakline.open(trace).ledger(at="end").document for trace in finished.traces]
    held = {ledger["device_used_bytes"]: ledger for ledger in ledgers}
    for said, bytes in ((opener, 1_000_009), (owner, SHARED)):
        libraries = [
            part for part in held[said["used_bytes"]]["parts"] if part["kind"] == "library"
        ]
        assert sum(part["bytes"] for part in libraries) == said["asked_bytes"] == bytes
        assert ON_GPU or held[said["used_bytes"]]["unexplained_bytes"] == 0


def test_a_graph_holds_what_its_nodes_need_at_one_time(start: Start) -> None:
    ledger = check(start("looks-up", "dlsym", "graph"), WAYS["dlsym"])
    graphs = sum(part["bytes"] for part in ledger["parts"] if part["kind"] == "graphs")
    assert graphs > 20 << 20 if ON_GPU else graphs == 20 << 20


def test_a_reset_of_the_device_ends_all_of_it(start: Start) -> None:
    check(start("looks-up", "dlsym", "arrays", "reset"), RESET)


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


# The runtime that nvcc puts into a program keeps the name of cudaMalloc; what that calls is named
# by checksums.
LINKED_RUNTIME = """
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
typedef unsigned long long Address;
int inner(Address* address, size_t bytes) __asm__("libcudart_static_5382377d5c772c9d");
__attribute__((noinline)) int inner(Address* address, size_t bytes) {
    int (*alloc)(Address*, size_t) = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuMemAlloc_v2");
    int error = alloc(address, bytes);
    return error + 0 * printf("%d", error);
}
__attribute__((noinline)) int cudaMalloc(Address* address, size_t bytes) {
    int error = inner(address, bytes);
    return error + 0 * printf("%d", error);
}
"""
HOLDS = """
__attribute__((noinline)) int hold(void) {
    Address address;
    int error = cudaMalloc(&address, 3 << 20);
    return error + 0 * printf("%d", error);
}
"""
BEGIN = """
int begin(void) {
    void* driver = dlopen("libcuda.so.1", RTLD_NOW);
    int (*init)(unsigned) = dlsym(driver, "cuInit");
    int (*retain)(void**, int) = dlsym(driver, "cuDevicePrimaryCtxRetain");
    int (*use)(void*) = dlsym(driver, "cuCtxSetCurrent");
    void* context;
    return init(0) || retain(&context, 0) || use(context);
}
"""
MAIN = "int main(void) { return begin() || hold(); }"
OPENS = """
#include <dlfcn.h>
int main(int count, char** words) {
    void* module = dlopen(words[1], RTLD_NOW);
    return ((int (*)(void))dlsym(module, "begin"))() || ((int (*)(void))dlsym(module, "hold"))();
}
"""


def compiled(folder: Path, name: str, text: str, *options: str) -> str:
    (folder / "source.c").write_text(text)
    made = folder / name
    made.parent.mkdir(parents=True, exist_ok=True)
    words = ["gcc", "-O1", *options, "-o", str(made), str(folder / "source.c"), "-ldl"]
    subprocess.run(words, check=True)
    return str(made)


def test_a_linked_runtime_is_nobodys_name(lab: Lab, tmp_path: Path) -> None:
    program = compiled(tmp_path, "holds", LINKED_RUNTIME + HOLDS + BEGIN + MAIN)
    run = lab.recorded(tmp_path / "run", "--", program)
    assert run.status == 0, run.stderr
    [row] = lab.table(run.traces[0])["rows"]
    assert (row["bytes"], row["location"]["function"]) == (3 << 20, "hold")


def test_a_python_module_has_the_name_it_is_imported_by(lab: Lab, tmp_path: Path) -> None:
    file = "site-packages/package/inner/part.cpython-311-x86_64-linux-gnu.so"
    text = LINKED_RUNTIME + HOLDS + BEGIN
    module = compiled(tmp_path, file, text, "-shared", "-fPIC")
    run = lab.recorded(tmp_path / "run", "--", compiled(tmp_path, "opens", OPENS), module)
    assert run.status == 0, run.stderr
    [row] = lab.table(run.traces[0], "--by", "library")["rows"]
    assert (row["bytes"], row["key"]) == (3 << 20, "package.inner.part")
