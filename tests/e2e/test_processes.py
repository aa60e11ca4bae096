"""Every process writes its own trace or none; names never collide; a fork harms nobody."""

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from checks import check_whole_trace
from lab import PROGRAMS, Run, together

TRAINING = str(PROGRAMS / "life_training.py")
STEPS = str(PROGRAMS / "life_steps.py")


@pytest.fixture(scope="module")
def started(lab: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    base = tmp_path_factory.mktemp("processes")

    def program(name: str, *words: str, output: str = "run.peak", **how: Any) -> Any:
        return lambda: lab.recorded(base / name, *words, options=["-q", "-o", output], **how)

    template = "deep/%e-%r.peak"
    done = together(
        {
            "children": program("children", str(PROGRAMS / "life_children.py")),
            "storm": program("storm", str(PROGRAMS / "life_fork_storm.py")),
            "rank": program("names", TRAINING, output=template, environment={"RANK": "3"}),
            "every": program("every", TRAINING, output="%e.%h.%p.%r.%%.peak"),
            "default": lambda: lab.recorded(base / "default", TRAINING, options=["-q"]),
            "leaves": program("leaves", STEPS, "exit"),
            "terminated": lambda: terminated(lab, base / "terminated"),
        }
    )
    (base / "force").mkdir()
    (base / "force" / "run.peak").write_text("old")
    force = ["-q", "--force", "-o", "run.peak"]
    return done | together(
        {
            "rank again": program("names", TRAINING, output=template, environment={"RANK": "3"}),
            "force": lambda: lab.recorded(base / "force", TRAINING, options=force),
        }
    )


def terminated(lab: Any, folder: Path) -> Run:
    """Send SIGTERM to `peakline run` once the program has made five steps."""
    folder.mkdir()
    command = lab.recording_command(STEPS, options=["-q", "-o", "run.peak"])
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, cwd=folder, env=lab.environment(None), stdout=pipe, stderr=pipe, text=True
    ) as process:
        lines = [process.stdout.readline() for _ in range(5)]
        process.send_signal(signal.SIGTERM)
        rest, errors = process.communicate(timeout=120)
    return Run(process.returncode, "".join(lines) + rest, errors, folder)


def traces_by_pid(lab: Any, run: Run) -> dict[int, Path]:
    found = {json.loads(lab.report("summary", t, "--json"))["pid"]: t for t in run.traces}
    assert len(found) == len(run.traces)
    return found


def test_every_child_that_uses_cuda_writes_a_whole_file_and_no_other_does(
    lab: Any, started: dict[str, Run]
) -> None:
    run = started["children"]
    assert (run.status, run.notes) == (0, []), run.stderr
    roles = {said["role"]: said for said in run.documents}
    assert set(roles) == {"parent", "forked before", "spawned", "subprocess"}
    traces = traces_by_pid(lab, run)
    assert set(traces) == {said["pid"] for said in roles.values()}
    for said in roles.values():
        check_whole_trace(lab, traces[said["pid"]], said["peak"])


def test_children_end_as_they_would_without_us(started: dict[str, Run]) -> None:
    statuses = started["children"].documents[-1]["statuses"]
    assert set(statuses.values()) == {0}, statuses


def test_children_of_a_fixed_name_get_numbers(started: dict[str, Run]) -> None:
    names = {trace.name for trace in started["children"].traces}
    assert names == {"run.peak", "run.2.peak", "run.3.peak", "run.4.peak"}


def test_a_storm_of_forks_hangs_nobody_and_leaves_the_parents_file_whole(
    lab: Any, started: dict[str, Run]
) -> None:
    run = started["storm"]
    assert (run.status, run.notes) == (0, []), run.stderr
    assert run.said["statuses"] == [-9, 7] * 30
    [trace] = run.traces
    check_whole_trace(lab, trace, run.said["peak"])


def test_os_exit_leaves_a_whole_file(lab: Any, started: dict[str, Run]) -> None:
    run = started["leaves"]
    assert run.status == 5
    [trace] = run.traces
    check_whole_trace(lab, trace, run.last_said["peak"])


def test_sigterm_reaches_the_program_and_the_trace_stays_readable(
    lab: Any, started: dict[str, Run]
) -> None:
    run = started["terminated"]
    assert run.status == -signal.SIGTERM, run.stderr
    [trace] = run.traces
    table = lab.table(trace)
    assert not table["complete"]
    assert table["peak_bytes"] >= run.last_said["peak"]


def test_rank_and_script_stand_in_the_name_and_folders_are_made(
    started: dict[str, Run],
) -> None:
    run = started["rank"]
    assert (run.status, run.notes) == (0, []), run.stderr
    assert run.folder / "deep" / "life_training-3.peak" in run.traces


def test_a_second_run_with_the_same_template_takes_a_number(
    lab: Any, started: dict[str, Run]
) -> None:
    first, second = started["rank"], started["rank again"]
    assert (second.status, second.notes) == (0, []), second.stderr
    assert [t.name for t in second.traces] == ["life_training-3.2.peak", "life_training-3.peak"]
    traces = traces_by_pid(lab, second)
    for run in (first, second):
        check_whole_trace(lab, traces[run.said["pid"]], run.said["peak"])


def test_every_placeholder_is_replaced(lab: Any, started: dict[str, Run]) -> None:
    run = started["every"]
    [trace] = run.traces
    host = json.loads(lab.report("summary", trace, "--json"))["meta"]["host"]
    pid = run.said["pid"]
    assert trace.name == f"life_training.{host}.{pid}.{pid}.%.peak"


def test_the_default_name_has_script_host_and_process(lab: Any, started: dict[str, Run]) -> None:
    run = started["default"]
    [trace] = run.traces
    host = json.loads(lab.report("summary", trace, "--json"))["meta"]["host"]
    assert trace.name == f"peakline-life_training.{host}.{run.said['pid']}.peak"


def test_a_fixed_name_that_exists_is_refused_before_the_program_runs(
    lab: Any, tmp_path: Path
) -> None:
    (tmp_path / "run.peak").write_text("precious")
    run = lab.recorded(tmp_path, TRAINING)
    assert (run.status, run.stdout) == (2, "")
    assert "run.peak exists" in run.stderr
    assert "--force" in run.stderr
    assert (tmp_path / "run.peak").read_text() == "precious"


def test_force_replaces_an_existing_file(lab: Any, started: dict[str, Run]) -> None:
    run = started["force"]
    assert (run.status, run.notes) == (0, []), run.stderr
    [trace] = run.traces
    check_whole_trace(lab, trace, run.said["peak"])
