"""Every way to start a recording gives the same exact trace; every wrong way says what to do."""

import re
import venv
from pathlib import Path
from typing import Any

import pytest
from checks import check_whole_trace, table_rows
from lab import ON_GPU, PROGRAMS, ROOT, Run, together

SCRIPT = str(PROGRAMS / "life_training.py")
IMPORTABLE = {"PYTHONPATH": f"{ROOT / 'pyhook'}:{PROGRAMS}"}
DEVELOPMENT = {"PYTHONMALLOC": "debug", "PYTHONWARNINGS": "ignore"}
FIRST = str(PROGRAMS / "life_import_first.py")
PHASE_PROGRAM = str(PROGRAMS / "life_api_under_run.py")

WAYS = (
    "script",
    "module",
    "code",
    "shell script",
    "preload by hand",
    "virtual environment",
    "isolated mode",
    "development mode",
)


def make_virtual_environment(lab: Any, folder: Path) -> str:
    """Return the Python of a fresh environment that sees the torch of the lab."""
    builder = venv.EnvBuilder(with_pip=False, symlinks=True)
    builder.create(folder)
    python = folder / "bin" / "python"
    question = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    theirs = lab.plain(folder, lab.python, "-c", question).stdout.strip()
    ours = lab.plain(folder, str(python), "-c", question).stdout.strip()
    Path(ours, "torch.pth").write_text(theirs + "\n")
    return str(python)


@pytest.fixture(scope="module")
def started(lab: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """Every way in, by name."""
    base = tmp_path_factory.mktemp("ways")
    (base / "run.sh").write_text(f"set -e\n{lab.python} {SCRIPT}\n")
    inside = make_virtual_environment(lab, base / "venv")
    python = lab.python
    to_run_peak = {"PEAKLINE_OUTPUT": "run.peak"}

    def recorded_in(name: str, *words: str, **how: Any) -> Any:
        return lambda: lab.recorded(base / name, *words, **how)

    return together(
        {
            "script": recorded_in("script", SCRIPT),
            "module": recorded_in("module", "-m", "life_training", environment=IMPORTABLE),
            "code": recorded_in(
                "code", "-c", "import life_training as p; p.main()", environment=IMPORTABLE
            ),
            "shell script": recorded_in("shell", "--", "bash", str(base / "run.sh")),
            "preload by hand": lambda: lab.preloaded(
                base / "preload", python, SCRIPT, environment=to_run_peak
            ),
            "virtual environment": recorded_in("in-venv", "--", inside, SCRIPT),
            "isolated mode": recorded_in("isolated", "--", python, "-I", SCRIPT),
            "development mode": recorded_in(
                "development", "--", python, "-X", "dev", SCRIPT, environment=DEVELOPMENT
            ),
            "with a table": recorded_in("table", PHASE_PROGRAM, options=["-o", "run.peak"]),
            "bare": lambda: lab.unrecorded(base / "bare", python, SCRIPT),
            "too late": lambda: lab.unrecorded(
                base / "late", python, str(PROGRAMS / "life_api_too_late.py")
            ),
            "api": lambda: lab.unrecorded(
                base / "api", python, str(PROGRAMS / "life_api.py"), str(base / "api")
            ),
            # Without a device nothing else of C++ is loaded before us; see private_libunwind.py.
            "first": lambda: lab.plain(base / "first", python, FIRST, "none"),
            "first recorded": lambda: lab.unrecorded(
                base / "first recorded", python, FIRST, "run.peak"
            ),
            "api under run": recorded_in("under", PHASE_PROGRAM),
            "api after preload": lambda: lab.preloaded(
                base / "both", python, PHASE_PROGRAM, environment=to_run_peak
            ),
        }
    )


@pytest.mark.parametrize("way", WAYS)
def test_every_way_in_records_the_exact_peak(lab: Any, started: dict[str, Run], way: str) -> None:
    run = started[way]
    assert (run.status, run.notes) == (0, []), run.stderr
    assert [trace.name for trace in run.traces] == ["run.peak"]
    check_whole_trace(lab, run.traces[0], run.said["peak"])


@pytest.mark.parametrize("way", WAYS)
def test_the_program_counts_the_same_memory_with_and_without_recording(
    started: dict[str, Run], way: str
) -> None:
    assert started[way].said["peak"] == started["bare"].said["peak"]


def test_without_peakline_no_file_is_written(started: dict[str, Run]) -> None:
    assert started["bare"].traces == []
    assert started["bare"].notes == []


def test_switch_allocator_after_cuda_was_initialised_observes_and_says_so(
    started: dict[str, Run],
) -> None:
    run = started["too late"]
    assert run.status == 0, run.stderr
    assert run.said["backend"] == "observe"
    assert run.said["note"] == "CUDA was already initialised: torch's allocator is observed"
    assert run.said["peak"] == 2 * (4 << 20)
    [note] = run.notes
    assert note.endswith("4.000 MB that were already allocated are reported as untraced")


def test_without_a_recorder_stop_tracing_says_what_to_call_first(
    started: dict[str, Run],
) -> None:
    refusal = started["api"].said["before"]
    assert "stop_tracing()" in refusal
    assert "call peakline.start_tracing() first" in refusal


def test_switch_allocator_without_the_preload_uses_the_delegating_allocator(
    started: dict[str, Run],
) -> None:
    run = started["api"]
    assert (run.status, run.notes) == (0, []), run.stderr
    assert run.said["backend"] == "delegate"
    status = run.said["status"]
    assert status["has_python_stacks"]
    assert status["records_dropped"] == 0
    assert status["unknown_frees"] == 0


@pytest.mark.parametrize("way", ["first", "first recorded"])
def test_exceptions_of_torch_are_caught_where_peakline_was_imported_before_it(
    started: dict[str, Run], way: str
) -> None:
    run = started[way]
    assert (run.status, run.notes) == (0, []), run.stderr
    assert "is invalid for input of size 2" in run.said["view"]
    assert way == "first" or "out of memory" in run.said["too large"]


def test_switch_allocator_before_torch_is_imported_records_the_exact_peak(
    lab: Any, started: dict[str, Run]
) -> None:
    run = started["first recorded"]
    assert run.said["backend"] == "delegate"
    check_whole_trace(lab, run.traces[0], run.said["peak"])


def test_the_peak_of_repeated_ranges_is_the_highest_one_and_nothing_between_counts(
    started: dict[str, Run],
) -> None:
    said = started["api"].said
    assert said["ranges"] == [mebibytes << 20 for mebibytes in (28, 48, 38)]
    for name in ("report", "report_after_smaller_range"):
        assert "Max mem: 48.00 MB" in said[name].splitlines(), said[name]


def test_report_stats_prints_the_table_with_the_untraced_row(
    started: dict[str, Run],
) -> None:
    rows = {where: mem for mem, where in table_rows(started["api"].said["report"])}
    assert rows.pop("untraced") == "8.000 MB"
    [(location, size)] = rows.items()
    assert re.fullmatch(r".*/life_api\.py:\d+ \(hold\)", location)
    assert size == "40.00 MB"


def test_two_trace_blocks_in_sequence_write_two_whole_files(
    lab: Any, started: dict[str, Run]
) -> None:
    run = started["api"]
    assert run.said["files"] == ["first.peak", "second.peak"]
    for name in ("first", "second"):
        [path] = [path for path in run.traces if path.stem == name]
        table = check_whole_trace(lab, path, run.said[name])
        assert table["untraced_bytes"] == 8 << 20
        assert table["total_allocated_bytes"] == 40 << 20


def test_trace_refuses_to_overwrite_and_says_how_to(started: dict[str, Run]) -> None:
    refusal = started["api"].said["existing"]
    assert "first.peak" in refusal
    assert "overwrite" in refusal


@pytest.mark.parametrize(("phase", "mebibytes"), [("forward", 28), ("backward", 33)])
def test_phases_select_a_moment_of_the_trace(
    lab: Any, started: dict[str, Run], phase: str, mebibytes: int
) -> None:
    [path] = [path for path in started["api"].traces if path.stem == "first"]
    assert lab.table(path, "--at", phase)["total_bytes"] == mebibytes << 20


@pytest.mark.parametrize("way", ["api under run", "api after preload"])
def test_under_a_recording_a_trace_block_becomes_a_phase_of_it(
    lab: Any, started: dict[str, Run], way: str
) -> None:
    run = started[way]
    assert run.status == 0, run.stderr
    assert not run.said["inner_exists"]
    assert Path(run.said["path"]).name == "run.peak"
    assert len(run.notes) == 1
    assert "inner.peak becomes a phase of it" in run.notes[0]
    [trace] = run.traces
    check_whole_trace(lab, trace, run.said["peak"])
    assert lab.table(trace, "--at", "inner.peak")["total_bytes"] == 12 << 20


def test_the_table_after_the_run_shows_the_peak_and_the_way_on(
    started: dict[str, Run],
) -> None:
    run = started["with a table"]
    mem, where = table_rows(run.stderr)[0]
    assert mem == "12.00 MB"
    assert re.fullmatch(rf"{PHASE_PROGRAM}:\d+ \(<module>\)", where)
    assert "peakline: wrote run.peak (" in run.stderr
    assert "peakline table --by category run.peak" in run.stderr
    assert ON_GPU or "simulated" in run.stderr.lower()


def test_a_static_python_of_the_system_can_record(lab: Any, tmp_path: Path) -> None:
    system = "/usr/bin/python3"
    question = "import sys; print(*sys.version_info[:2])"
    if not Path(system).exists():
        pytest.skip("no system Python here")
    pythons = (lab.python, system)
    versions = {lab.plain(tmp_path, python, "-c", question).stdout for python in pythons}
    if len(versions) != 1:
        pytest.skip("the system Python is of another version than the one with torch")
    question = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    packages = lab.plain(tmp_path, lab.python, "-c", question).stdout.strip()
    environment = {"PYTHONPATH": f"{ROOT / 'pyhook'}:{packages}"}
    command = lab.recording_command("--", system, SCRIPT, options=["-q", "-o", "run.peak"])
    run = lab.plain(tmp_path, *command, environment=environment)
    assert (run.status, run.notes) == (0, []), run.stderr
    check_whole_trace(lab, run.traces[0], run.said["peak"])


def test_peakline_preload_names_an_existing_library(lab: Any) -> None:
    assert Path(lab.preload_library()).name == "libpeakline_preload.so"
    assert Path(lab.preload_library()).is_file()
