"""However a run ends, `peakline run` and the readers say truly what happened and what is kept."""

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from checks import check_whole_trace, time_of
from lab import ON_GPU, PROGRAMS, Run, together
from peakline.base.sizes import size_of
from peakline.launch.run_end import RunEnd, count_of, kernel_kills

ENDS_HOW = str(PROGRAMS / "ends_how.py")


@pytest.fixture(scope="module")
def ends(lab: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """One run for every way to end, not quiet, by name."""
    base = tmp_path_factory.mktemp("ends")

    def one(how: str, *options: str) -> Any:
        words = [ENDS_HOW, how, "run.peak"]
        return lambda: lab.recorded(base / how, *words, options=options or ["-o", "run.peak"])

    ways = ["argparse", "interrupt", "live", "replaced", "removes", "oom", "oom-caught", "cpu"]
    return together({**{how: one(how) for how in ways}, "raise": one("raise", "--top", "1")})


def own_lines(run: Run) -> list[str]:
    return [line for line in run.stderr.splitlines() if line.startswith("peakline: ")]


def test_an_error_of_arguments_is_the_programs_and_nothing_was_recorded(
    ends: dict[str, Run],
) -> None:
    run = ends["argparse"]
    assert run.status == 2
    assert "unrecognized arguments: --unknown" in run.stderr
    assert own_lines(run)[-1] == (
        "peakline: nothing was recorded: the program ended with status 2 before it used CUDA"
    )


def test_a_program_without_cuda_is_said_to_have_used_none(ends: dict[str, Run]) -> None:
    run = ends["cpu"]
    assert run.status == 0
    assert own_lines(run)[-1] == "peakline: nothing was recorded: the program did not use CUDA"


def test_an_exception_ends_the_program_as_without_recording(
    lab: Any, ends: dict[str, Run], tmp_path: Path
) -> None:
    run = ends["raise"]
    alone = lab.unrecorded(tmp_path, lab.python, ENDS_HOW, "raise")
    assert run.status == alone.status == 1
    traceback = alone.stderr[alone.stderr.index("Traceback") :].rstrip("\n")
    assert traceback in run.stderr
    assert "peakline: the program ended with status 1; everything up to then was recorded" in (
        run.stderr.splitlines()
    )
    [trace] = run.traces
    check_whole_trace(lab, trace, run.last_said["peak"])


def test_where_it_records_to_is_said_at_the_start_and_the_cost_at_the_end(
    ends: dict[str, Run],
) -> None:
    run = ends["raise"]
    lines = run.stderr.splitlines()
    [trace] = run.traces
    assert str(run.last_said["pid"]) in trace.name  # the default name
    start = lines.index(f"peakline: recording to {trace.name}")
    assert start < lines.index("Traceback (most recent call last):")
    [wrote] = [line for line in lines if line.startswith(f"peakline: wrote {trace.name} (")]
    size = trace.stat().st_size
    events = int(wrote.split(", ")[1].split(" ")[0])
    assert f"({size_of(size)}, " in wrote
    # Three blocks and what torch frees of them.
    assert 3 <= events < 100


def test_an_interrupt_is_called_one_and_all_of_the_run_is_kept(
    lab: Any, ends: dict[str, Run]
) -> None:
    run = ends["interrupt"]
    assert run.status == -signal.SIGINT
    assert "KeyboardInterrupt" in run.stderr
    assert own_lines(run)[-2] == (
        "peakline: the program was interrupted (Ctrl-C); everything up to then was recorded"
    )
    assert "killed?" not in run.stderr
    [trace] = run.traces
    assert lab.table(trace)["peak_bytes"] == run.last_said["peak"]


def test_a_trace_whose_writer_lives_is_not_called_killed(ends: dict[str, Run]) -> None:
    said = ends["live"].said
    table = said["table"]
    assert table["peak_bytes"] == said["peak"]
    assert not table["complete"]
    [problem] = table["problems"]
    assert f"still being written by process {said['pid']}: everything up to t=" in problem


def test_a_file_replaced_under_its_writer_is_whole_and_so_is_the_new_one(
    lab: Any, ends: dict[str, Run]
) -> None:
    run = ends["replaced"]
    assert run.status == 0, run.stderr
    kept = f"run.{run.said['pid']}.peak"
    assert (
        f"run.peak is still being written by process {run.said['pid']}: it goes on in {kept}"
        in (run.said["stderr"])
    )
    assert own_lines(run)[-1].startswith(f"peakline: wrote {kept} (")
    assert [trace.name for trace in run.traces] == [kept, "run.peak"]
    check_whole_trace(lab, run.folder / kept, run.said["peak"])
    [other] = run.said["other"]
    check_whole_trace(lab, run.folder / "run.peak", json.loads(other)["peak"])


def test_a_trace_that_was_removed_is_called_lost(ends: dict[str, Run]) -> None:
    run = ends["removes"]
    assert run.status == 0
    assert run.traces == []
    [note] = run.notes
    assert "run.peak was removed, renamed or replaced" in note
    assert "lost" in note


@pytest.mark.parametrize(("how", "status"), [("oom", 1), ("oom-caught", 0)])
def test_running_out_of_memory_is_said_with_its_line(
    lab: Any, ends: dict[str, Run], how: str, status: int
) -> None:
    run = ends[how]
    assert run.status == status
    line = next(
        number
        for number, text in enumerate(Path(ENDS_HOW).read_text().splitlines(), 1)
        if "1 << 42" in text
    )
    [trace] = run.traces
    table = check_whole_trace(lab, trace, run.last_said["peak"])
    facts = table["out_of_memory"]
    # The program's question is the driver's own answer.
    asked = (facts["count"], facts["requested_bytes"], facts["free_bytes"], facts["device"])
    assert asked == (1, 4 << 42, run.last_said["free"], 0)
    assert facts["location"]["line"] == line
    if how == "oom":  # why it ran out stands in place of the table
        assert "Out of memory: 16.00 TB asked for at " in run.stderr
        assert f"ends_how.py:{line} (<module>), " in run.stderr
        assert "Max mem" not in run.stderr
    else:
        at = time_of(facts["seconds"])
        assert f"Out of memory at t={at}: 16.00 TB asked for at " in run.stderr
        assert f"ends_how.py:{line} (<module>), device 0 had " in run.stderr


def test_a_quiet_run_names_only_its_file(lab: Any, tmp_path: Path) -> None:
    run = lab.recorded(tmp_path, ENDS_HOW, "whole", options=["-q", "-o", "my run.peak"])
    assert run.status == 0, run.stderr
    lines = [line for line in run.stderr.splitlines() if "simulated GPU" not in line]
    [wrote] = lines
    assert wrote.startswith("peakline: wrote my run.peak (")


def test_a_run_that_records_nothing_keeps_the_file_it_would_have_replaced(
    lab: Any, tmp_path: Path
) -> None:
    old = tmp_path / "old.peak"
    old.write_text("an older trace")
    words = ["-c", "raise SystemExit(3)"]
    run = lab.recorded(tmp_path, *words, options=["-q", "-f", "-o", "old.peak"])
    assert run.status == 3
    assert old.read_text() == "an older trace"
    assert list(tmp_path.iterdir()) == [old]


@pytest.mark.skipif(ON_GPU, reason="this machine has a GPU")
def test_without_a_gpu_the_way_on_is_a_simulated_one(lab: Any, tmp_path: Path) -> None:
    if (
        subprocess.run(["sh", "-c", "ldconfig -p | grep -q libcuda.so.1"], check=False).returncode
        == 0
    ):
        pytest.skip("this machine has an NVIDIA driver")
    under = [lab.python, "-m", "peakline", "run"]
    runs = together(
        {
            "run": lambda: lab.plain(tmp_path / "run", *under, ENDS_HOW, "a b"),
            "report": lambda: lab.plain(tmp_path / "report", lab.python, ENDS_HOW, "report"),
        }
    )
    assert runs["run"].status == 1
    assert runs["run"].stderr.splitlines()[-3:] == [
        "peakline: nothing was recorded: the program ended with status 1 before it used CUDA;"
        " this machine has no NVIDIA driver",
        f"Next: peakline run --simulate h200 {ENDS_HOW} 'a b'  on a simulated GPU",
        f"      peakline run --cpu {ENDS_HOW} 'a b'            CPU tensors instead",
    ]
    assert runs["report"].status == 0, runs["report"].stderr
    assert runs["report"].stdout.startswith(
        "No CUDA memory was allocated: this machine has no NVIDIA driver"
    )


def test_a_kill_names_who_may_have_done_it(lab: Any, tmp_path: Path) -> None:
    script = "import os, torch; torch.ones(9, device='cuda'); os.kill(os.getpid(), 9)"
    run = lab.recorded(tmp_path, "-c", script, options=["-o", "run.peak"])
    assert run.status == -signal.SIGKILL
    [said] = [line for line in own_lines(run) if "SIGKILL" in line]
    assert "by the kernel of a machine whose host memory ran out" in said


@pytest.mark.parametrize(("status", "who"), [(-9, "ended it"), (1, "ended one of its processes")])
def test_a_kill_by_the_kernel_is_told_apart_from_a_full_device(status: int, who: str) -> None:
    how = RunEnd(status, False, ["train.py"], kernel_kills=1).how()
    assert how.startswith("host memory ran out, not the device's")
    assert how.endswith(who)
    assert "host memory" not in RunEnd(0, False, ["train.py"], kernel_kills=1).how()


def test_the_kernels_kills_are_counted_as_the_kernel_does(tmp_path: Path) -> None:
    events = tmp_path / "memory.events"
    events.write_text("low 0\noom 4\noom_kill 3\noom_group_kill 0\n")
    assert count_of(events, "oom_kill") == 3
    assert count_of(tmp_path / "missing", "oom_kill") == 0
    vmstat = Path("/proc/vmstat").read_text().split()
    assert kernel_kills() >= int(vmstat[vmstat.index("oom_kill") + 1])
