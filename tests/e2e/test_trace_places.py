"""Traces stand where they were asked for, under their own name, with nothing that is secret."""

import os
import stat
from pathlib import Path
from typing import Any

import pytest
from checks import check_whole_trace
from lab import PROGRAMS, Run, together

PROGRAM = str(PROGRAMS / "changes_folder.py")
NAME = "peakline-changes_folder."
SECRETS = ["--api-key=abcd1234", "--hub-token", "wxyz", "WANDB_API_KEY=q9", "hf_abcdefgh1234"]


@pytest.fixture(scope="module")
def runs(lab: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    base = tmp_path_factory.mktemp("places")
    (base / "folder" / "there").mkdir(parents=True)

    def run(name: str, *words: str, options: Any = (), **environment: str) -> Any:
        return lambda: lab.recorded(
            base / name, PROGRAM, *words, options=options, environment=environment
        )

    def preloaded(name: str, *words: str, **environment: str) -> Any:
        command = (lab.python, PROGRAM, *words)
        return lambda: lab.preloaded(base / name, *command, environment=environment)

    return together(
        {
            "relative": run("relative", "child", options=["-o", "new/%p.peak"]),
            "folder": run("folder", options=["-q", "-o", "there"], RANK="../../x"),
            "spawn": run("spawn", "spawn", options=["--no-command"]),
            "preload": preloaded("preload", "child", PEAKLINE_OUTPUT="new/%p.peak"),
            "preload without a name": preloaded("without", PEAKLINE_FILE_MODE="0640"),
            "no trace": preloaded("none", PEAKLINE_OUTPUT=os.devnull),
            "secrets": run("secrets", *SECRETS, options=["-q", "--mode", "0644"]),
        }
    )


def check_each(lab: Any, run: Run, count: int) -> None:
    """A trace of each process, whole."""
    peaks = {said["pid"]: said["peak"] for said in run.documents}
    assert (run.status, len(peaks), len(run.traces)) == (0, count, count), run.stderr
    for trace in run.traces:
        process = next(one for one in peaks if str(one) in trace.name)
        check_whole_trace(lab, trace, peaks[process])


def test_a_program_that_changes_its_folder_has_its_traces_where_it_was_started(
    lab: Any, runs: dict[str, Run]
) -> None:
    run = runs["relative"]
    check_each(lab, run, 2)
    assert {trace.parent for trace in run.traces} == {run.folder / "new"}
    assert [line for line in run.stderr.splitlines() if "wrote new/" in line] != []
    assert "nothing was recorded" not in run.stderr


def test_the_preloaded_library_alone_knows_where_a_process_was_started(
    lab: Any, runs: dict[str, Run]
) -> None:
    check_each(lab, runs["preload without a name"], 1)
    assert runs["preload without a name"].traces[0].parent == runs["preload without a name"].folder
    run = runs["preload"]
    check_each(lab, run, 2)
    # The child was started in the folder that its parent had gone to.
    first, second = run.documents
    own = run.folder / "new" / f"{first['pid']}.peak"
    assert own in run.traces
    [other] = [trace for trace in run.traces if trace != own]
    assert other.name == f"{second['pid']}.peak"
    assert lab.noted(own)["working_directory"] == str(run.folder.resolve())


def test_a_folder_gets_the_usual_name_and_no_value_leads_out_of_it(runs: dict[str, Run]) -> None:
    run = runs["folder"]
    [trace] = run.traces
    assert trace.is_relative_to(run.folder / "there")
    assert str(trace.relative_to(run.folder)) in run.stderr


def test_a_spawned_process_is_named_after_its_program(lab: Any, runs: dict[str, Run]) -> None:
    run = runs["spawn"]
    check_each(lab, run, 1)
    [trace] = run.traces
    assert trace.name.startswith(NAME)
    # Its number is not known before: the announced name says so.
    assert f"peakline: recording to {NAME}" in run.stderr
    assert ".*.peak\n" in run.stderr


def test_the_null_device_means_no_trace(runs: dict[str, Run]) -> None:
    run = runs["no trace"]
    assert run.status == 0
    assert run.traces == []
    assert f"peakline: {os.devnull} is not a regular file: no trace is written" in run.stderr
    assert not Path(f"{os.devnull}.2").exists()


def test_secrets_of_the_command_line_are_in_no_trace(lab: Any, runs: dict[str, Run]) -> None:
    [trace] = runs["secrets"].traces
    command = lab.noted(trace)["argv"]
    assert "--api-key=*** --hub-token *** WANDB_API_KEY=*** ***" in command
    content = trace.read_bytes()
    for secret in (b"abcd1234", b"wxyz", b"=q9", b"abcdefgh"):
        assert secret not in content
    assert trace.name.startswith(NAME)


def test_a_command_line_is_left_out_on_request(lab: Any, runs: dict[str, Run]) -> None:
    [trace] = runs["spawn"].traces
    info = lab.noted(trace)
    assert "argv" not in info
    assert info["script"] == "changes_folder"
    assert b"--multiprocessing-fork" not in trace.read_bytes()


def test_a_trace_is_its_owners_unless_asked(runs: dict[str, Run]) -> None:
    def modes(name: str) -> set[int]:
        return {stat.S_IMODE(trace.stat().st_mode) for trace in runs[name].traces}

    assert modes("relative") == {0o600}
    assert modes("preload without a name") == {0o640}
    assert modes("secrets") == {0o644}
