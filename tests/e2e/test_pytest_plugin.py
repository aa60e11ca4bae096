"""The plugin for pytest: limits, the tests with the highest peaks, workers of pytest-xdist."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from lab import ON_GPU
from pytest_runs import PytestRuns, plugin_words, summary_of

TESTS = """
import os
import pytest
import torch

MB = 1 << 20

def take(count):
    return torch.empty(count * MB, dtype=torch.uint8, device="cuda")

@pytest.mark.limit_gpu_memory("100 MB")
def test_within():
    take(80)

@pytest.mark.limit_gpu_memory("100 MB")
def test_above():
    first = take(60)
    second = take(70)  # too much
    assert torch.cuda.max_memory_allocated() == 130 * MB

def test_without_limit():
    take(200)

@pytest.mark.limit_gpu_memory("100 MB")
def test_fails_by_itself():
    take(300)
    raise KeyError("its own")

def test_uses_no_gpu():
    print("seen")
    assert os.environ["ORACLE"]
"""


@pytest.fixture
def run(run_pytest: PytestRuns) -> PytestRuns:
    run_pytest.write(test_memory=TESTS)
    return run_pytest


def test_a_test_above_its_limit_fails_with_the_lines_that_hold_it(run: PytestRuns) -> None:
    done = run("--peakline", "--peakline-most", "2", "test_memory.py")
    assert done.returncode == 1, done.stderr
    out = done.stdout
    assert "2 failed, 3 passed" in out
    assert "wrote" not in done.stderr  # the recording is gone
    assert "130.0 MB of GPU memory were in use, 100.0 MB are allowed:" in out
    assert "70.00 MB  test_memory.py:9 (take)" in out or "130.0 MB  test_memory.py:9 (take)" in out
    assert "KeyError: 'its own'" in out
    assert summary_of(done) == [
        "300.0 MB  test_memory.py::test_fails_by_itself",
        "    1 allocation",
        "    300.0 MB  test_memory.py:9 (take)",
        "200.0 MB  test_memory.py::test_without_limit",
        "    1 allocation",
        "    200.0 MB  test_memory.py:9 (take)",
        "2 of 4 tests that used the GPU (--peakline-most 0: all)",
    ]


def test_traces_are_kept_on_request(run: PytestRuns, tmp_path: Path) -> None:
    words = ("--peakline", "--peakline-traces", "kept", "-k", "within", "test_memory.py")
    done = run(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list((tmp_path / "kept").glob("*.peak"))) == 1
    assert "peakline: wrote " in done.stderr
    assert not [file for file in tmp_path.iterdir() if "peakline-pytest" in file.name]


def test_workers_report_their_tests(run: PytestRuns) -> None:
    pytest.importorskip("xdist")
    done = run("--peakline", "-n", "2", "-k", "without_limit or within", "test_memory.py")
    assert done.returncode == 0, done.stdout + done.stderr
    summary = summary_of(done)
    assert summary[0] == "200.0 MB  test_memory.py::test_without_limit"
    assert summary[3] == "80.00 MB  test_memory.py::test_within"


def test_the_status_is_pytests_own(run: PytestRuns) -> None:
    assert run("--peakline", "-k", "nothing_like_it", "test_memory.py").returncode == 5
    done = run("--peakline", "-k", "uses_no_gpu", "-s", "test_memory.py")
    assert done.returncode == 0
    assert "seen" in done.stdout
    assert "No test used the GPU." in done.stdout


def test_without_the_option_nothing_happens(run: PytestRuns) -> None:
    done = run("-k", "uses_no_gpu", "test_memory.py")
    assert done.returncode == 0
    assert "GPU memory (peakline)" not in done.stdout
    assert "simulated GPU" not in done.stderr
    assert "@pytest.mark.limit_gpu_memory(size, " in run("--markers").stdout


def test_without_option_and_marker_nothing_is_loaded(run: PytestRuns) -> None:
    run.write(
        conftest="""
import sys

def pytest_terminal_summary():
    unwanted = ("_recorder", "_report", "recording", "api.holding", "pytest_plugin.measuring")
    print("LOADED", {f"peakline.{name}" for name in unwanted} & set(sys.modules))
""",
        test_plain="def test_plain(tmp_path): pass",
    )
    assert "LOADED set()" in run.fresh("test_plain.py").stdout


def test_a_failing_test_says_what_held_the_memory(run: PytestRuns) -> None:
    done = run("--peakline", "-k", "fails_by_itself", "test_memory.py")
    section = done.stdout.partition("- GPU memory (peakline) -")[2].splitlines()
    assert section[1:3] == ["300.0 MB were in use:", "    300.0 MB  test_memory.py:9 (take)"]
    assert "FAILED test_memory.py::test_fails_by_itself - KeyError: 'its own'" in done.stdout


def test_a_test_above_its_limit_is_shown_as_such(run: PytestRuns) -> None:
    done = run("--peakline", "-k", "above or itself", "test_memory.py")
    assert "test_memory.py MF" in done.stdout
    assert "\nGPU MEMORY test_memory.py::test_above - Failed: 130.0 MB of GPU mem" in done.stdout
    verbose = run("--peakline", "-v", "-k", "above", "test_memory.py").stdout
    assert "test_memory.py::test_above GPU MEMORY" in verbose


def test_how_much_a_failure_shows(run: PytestRuns) -> None:
    run.write(
        test_lines="import pytest, torch\nheld = []\n"
        '@pytest.mark.limit_gpu_memory("1 KB")\ndef test_lines():\n'
        + '    held.append(torch.empty(1, device="cuda"))\n'
        * 12
    )
    lines = [f"    512 B  test_lines.py:{5 + i} (test_lines)" for i in range(12)]

    def shown(*words: str) -> list[str]:
        out = run("--peakline", "--peakline-hide-summary", *words, "test_lines.py").stdout
        begin = out.index("6.000 KB of GPU memory were in use, 1.000 KB are allowed")
        return out[begin:].partition("\n==")[0].splitlines()[1:]

    assert sorted(shown()) == sorted([*shown()[:-1], "    ... and 2 more"])
    assert len(shown()) == 11
    assert sorted(shown("-vv")) == sorted(lines)
    assert shown("-qq") == []
    assert len(shown("-o", "verbosity_peakline=2")) == 12


def test_stacks_and_native_frames(run: PytestRuns) -> None:
    words = ("--peakline", "-k", "within", "test_memory.py", "--peakline-stacks")
    assert summary_of(run(*words, "2"))[2:4] == [
        "    80.00 MB  test_memory.py:9 (take)",
        "              test_memory.py:13 (test_within)",
    ]
    native = summary_of(run(*words, "40", "--peakline-native"))[2:]
    assert native[0].endswith(".so)")
    assert "              test_memory.py:9 (take)" in native


def test_settings_of_the_file_are_those_of_the_command_line(run: PytestRuns) -> None:
    (run.folder / "pytest.ini").write_text(
        "[pytest]\npeakline = true\npeakline_most = 1\npeakline_stacks = 2\n"
        "peakline_traces = kept\npeakline_traces_prefix = mine\n"
    )
    done = run("test_memory.py", "-p", "no:cacheprovider")
    assert summary_of(done) == [
        "300.0 MB  test_memory.py::test_fails_by_itself",
        "    1 allocation",
        "    300.0 MB  test_memory.py:9 (take)",
        "              test_memory.py:26 (test_fails_by_itself)",
        "1 of 4 tests that used the GPU (--peakline-most 0: all)",
    ]
    [trace] = (run.folder / "kept").iterdir()
    assert trace.name.startswith("mine.")
    phases = run.lab.report("phases", trace)
    assert "test_memory.py::test_above" in phases
    all_of_them = summary_of(run("--peakline-most", "0", "test_memory.py"))
    assert len([line for line in all_of_them if "::" in line]) == 4
    assert "(peakline) ==" not in run("--peakline-hide-summary", "test_memory.py").stdout
    (run.folder / "pytest.ini").write_text("[pytest]\npeakline_hide_summary = true\n")
    assert "(peakline) ==" not in run("--peakline", "test_memory.py").stdout


@pytest.mark.skipif(pytest.version_tuple < (9,), reason="needs [tool.pytest]")
def test_settings_may_have_types(run: PytestRuns) -> None:
    (run.folder / "pyproject.toml").write_text(
        "[tool.pytest]\npeakline = true\npeakline_most = 1\n"
    )
    assert summary_of(run("test_memory.py"))[-1].startswith("1 of 4 tests that used the GPU")


def test_an_option_that_has_no_such_value_is_told(run: PytestRuns) -> None:
    done = run("--peakline", "--peakline-most", "many")
    assert done.returncode == 4
    assert "ERROR: --peakline-most takes a number from 0, not 'many'" in done.stderr
    done = run("--peakline-stacks", "0")
    assert "ERROR: --peakline-stacks takes a number from 1, not '0'" in done.stderr
    done = run("--peakline-traces-prefix", "a/b")
    assert "'a/b' cannot begin the name of a file" in done.stderr


def test_where_torch_is_missing_the_tests_run(run: PytestRuns) -> None:
    start = "import sys; sys.modules['torch'] = None; import pytest; sys.exit(pytest.main())"
    run.write(test_plain="def test_plain(): pass")
    done = run.program("-c", start, *plugin_words(), "--peakline", "test_plain.py")
    assert done.returncode == 0
    assert "Nothing was recorded: torch is not installed here" in done.stdout
    assert "1 passed" in done.stdout


@pytest.mark.skipif(ON_GPU, reason="needs a machine without a GPU")
def test_where_no_gpu_can_be_simulated_the_tests_run(run: PytestRuns) -> None:
    words = ("--peakline", "-k", "uses_no_gpu", "test_memory.py")
    done = run(*words, PATH="/nowhere", PEAKLINE_CACHE_DIR=str(run.folder))
    assert done.returncode == 0
    [line] = [line for line in done.stdout.splitlines() if line.startswith("Nothing was recorded")]
    assert "the simulated GPU cannot be built for torch" in line
    assert "1 passed" in done.stdout


def test_without_the_plugin_its_option_is_unknown(run: PytestRuns) -> None:
    assert run("-p", "no:peakline", "-k", "uses_no_gpu", "test_memory.py").returncode == 0
    done = run("-p", "no:peakline", "--peakline", "test_memory.py")
    assert done.returncode == 4
    assert "unrecognized arguments: --peakline" in done.stderr


def test_tests_of_forked_children_are_measured(run: PytestRuns) -> None:
    run.write(
        conftest="""
import json
import os
from _pytest.runner import runtestprotocol

def pytest_runtest_protocol(item, nextitem):
    read, write = os.pipe()
    hook = item.config.hook
    if os.fork() == 0:
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        plain = [hook.pytest_report_to_serializable(config=item.config, report=r) for r in reports]
        with open(write, "w") as pipe:
            json.dump(plain, pipe)
        os._exit(0)
    os.close(write)
    with open(read) as pipe:
        plain = json.load(pipe)
    os.wait()
    for one in plain:
        report = hook.pytest_report_from_serializable(config=item.config, data=one)
        hook.pytest_runtest_logreport(report=report)
    return True
"""
    )
    done = run("--peakline", "test_memory.py")
    assert "2 failed, 3 passed" in done.stdout
    assert "130.0 MB of GPU memory were in use, 100.0 MB are allowed" in done.stdout
    assert [line for line in summary_of(done) if "::" in line] == [
        "300.0 MB  test_memory.py::test_fails_by_itself",
        "200.0 MB  test_memory.py::test_without_limit",
        "130.0 MB  test_memory.py::test_above",
        "80.00 MB  test_memory.py::test_within",
    ]


def test_every_run_of_a_test_is_held_to_its_limits(run: PytestRuns) -> None:
    run.write(
        conftest="""
from _pytest.runner import runtestprotocol

def pytest_runtest_protocol(item, nextitem):
    for _ in range(3):
        runtestprotocol(item, nextitem=nextitem, log=True)
        item._initrequest()
    return True
""",
        test_runs="""
import pytest
import torch

runs = []

@pytest.mark.limit_gpu_memory("3 MB")
@pytest.mark.limit_gpu_leaks("1 MB")
def test_runs():
    runs.append(torch.empty((5, 1, 2)[len(runs)] << 20, dtype=torch.uint8, device="cuda"))
    runs[0] = None
""",
    )
    done = run("--peakline", "-v", "test_runs.py")
    shown = re.findall(r"test_runs (GPU MEMORY|PASSED|FAILED)", done.stdout)
    assert shown == ["GPU MEMORY", "PASSED", "PASSED", "GPU MEMORY"]
    # The second left as much as it may, the third more.
    assert "2.000 MB of GPU memory were left allocated, 1.000 MB are allowed" in done.stdout
    assert [line for line in summary_of(done) if "::" in line] == [
        "5.000 MB  test_runs.py::test_runs"
    ]


def test_sys_path_is_that_of_the_command(run: PytestRuns) -> None:
    (run.folder / "tests").mkdir()
    (run.folder / "module_beside.py").write_text("")
    (run.folder / "tests" / "test_path.py").write_text("import module_beside\ndef test(): pass")
    script = str(Path(sys.executable).parent / "pytest")
    for start, works in ((("-m", "pytest"), True), ((script,), False)):
        for words in ((), ("--peakline",)):
            done = run.program(*start, *plugin_words(), "-p", "no:cacheprovider", *words, "tests")
            assert (done.returncode == 0) == works, done.stdout


def test_an_interrupted_run_has_its_summary(run: PytestRuns) -> None:
    run.write(
        test_stops=TESTS
        + """
def test_waits():
    import pathlib, time
    pathlib.Path("waits").touch()
    time.sleep(100)
"""
    )
    command = run.command("--peakline", "-k", "within or waits", "test_stops.py")
    process = subprocess.Popen(
        ["env", "--default-signal=INT", *command],  # it may be ignored where tests run unattended
        cwd=run.folder,
        env=run.lab.environment(None),
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while not (run.folder / "waits").exists() and process.poll() is None:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate()
    assert process.returncode == 2
    assert "80.00 MB  test_stops.py::test_within" in out
    assert "KeyboardInterrupt" in out
