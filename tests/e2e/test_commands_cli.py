"""The commands: help, doctor, preload, version, options."""

import json
import re
import sys
import venv
from pathlib import Path
from typing import Any

import pytest
from checks import table_rows
from lab import ROOT
from peakline.commands import doctor

COMMANDS = ("run", "table", "summary", "attach", "doctor", "fit")


@pytest.fixture(scope="module")
def trace(lab: Any) -> Path:
    run = lab.once("life_training.py")
    assert run.status == 0, run.stderr
    return run.trace


@pytest.fixture(scope="module")
def peak(lab: Any) -> int:
    return lab.once("life_training.py").said["peak"]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(lab: Any, command: str) -> None:
    result = lab.peakline(command, "--help")
    assert (result.returncode, result.stderr) == (0, "")
    assert f"peakline {command}" in result.stdout
    assert "%" not in re.sub("%[hprlaie]", "", result.stdout)


def test_help_lists_every_command(lab: Any) -> None:
    result = lab.peakline("--help")
    assert result.returncode == 0
    for command in COMMANDS:
        assert f"    {command} " in result.stdout


def test_version_is_told(lab: Any) -> None:
    result = lab.peakline("--version")
    assert (result.returncode, result.stderr) == (0, "")
    version = next(
        line.split('"')[1]
        for line in (ROOT / "pyproject.toml").read_text().splitlines()
        if line.startswith("version = ")
    )
    assert result.stdout == f"peakline {version}\n"


def test_doctor_finds_what_recording_needs(lab: Any) -> None:
    result = lab.peakline("doctor", "--json", "--python", lab.python)
    assert result.returncode == 0, result.stdout
    findings = {finding["subject"]: finding for finding in json.loads(result.stdout)}
    for subject in ("recorder", "compiler", "Python stacks", "torch"):
        assert findings[subject]["ok"], findings[subject]


def test_doctor_says_in_one_line_a_subject_what_it_saw(lab: Any) -> None:
    result = lab.peakline("doctor", "--python", lab.python)
    assert (result.returncode, result.stderr) == (0, "")
    for line in result.stdout.splitlines():
        assert line.startswith(("ok    ", "no    ")), line


def test_doctor_names_the_extra_of_a_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    required = ["rich", 'no-such>=2; extra == "plot"', 'no-such; extra == "test"']
    monkeypatch.setattr(doctor.metadata, "requires", lambda _package: required)
    [finding] = doctor._extras()
    assert (finding.ok, finding.needed) == (False, False)
    assert finding.detail == "no-such missing: pip install 'peakline[plot]'"


def test_doctor_names_a_python_without_torch(lab: Any, tmp_path: Path) -> None:
    venv.EnvBuilder(with_pip=False).create(tmp_path / "empty")
    python = str(tmp_path / "empty" / "bin" / "python")
    result = lab.peakline("doctor", "--python", python)
    assert result.returncode == 1
    [failed] = [line for line in result.stdout.splitlines() if line.startswith("FAIL")]
    assert f"{python} has no torch" in failed


@pytest.mark.parametrize("command", ["run", "preload"])
def test_a_python_without_torch_is_told(lab: Any, tmp_path: Path, command: str) -> None:
    venv.EnvBuilder(with_pip=False).create(tmp_path / "empty")
    python = str(tmp_path / "empty" / "bin" / "python")
    rest = ["-q", "-c", "print('ran')"] if command == "run" else []
    result = lab.peakline(command, "--python", python, *rest)
    assert result.returncode == 0, result.stderr
    [line] = result.stderr.splitlines()
    assert f"{python} has no torch" in line
    assert result.stdout == ("ran\n" if command == "run" else result.stdout)


def test_the_table_has_its_literal_form(lab: Any, trace: Path) -> None:
    rows = table_rows(lab.report("table", trace, "--top", "0"))
    assert len(rows) == lab.table(trace)["row_count"]


def test_top_limits_the_rows_and_shows_that_more_are_left_out(lab: Any, trace: Path) -> None:
    text = lab.report("table", trace, "--top", "2")
    assert len(table_rows(text)) == 2
    assert "..." in text.splitlines(), text


@pytest.mark.parametrize("by", ["line", "function", "file", "stack"])
@pytest.mark.parametrize("frame", ["caller", "leaf", "user"])
def test_every_grouping_sums_to_the_peak(
    lab: Any, trace: Path, peak: int, by: str, frame: str
) -> None:
    table = lab.table(trace, "--by", by, "--frame", frame)
    assert (table["by"], table["frame"], table["peak_bytes"]) == (by, frame, peak)
    assert sum(row["bytes"] for row in table["rows"]) == peak
    keys = [row["key"] for row in table["rows"]]
    assert len(keys) == len(set(keys))


def test_user_frames_are_lines_of_the_program(lab: Any, trace: Path) -> None:
    table = lab.table(trace, "--frame", "user")
    files = {Path(row["location"]["file"]).name for row in table["rows"] if row.get("location")}
    assert files == {"life_training.py"}


def test_requested_bytes_are_less_than_block_bytes(lab: Any, trace: Path, peak: int) -> None:
    requested = lab.table(trace, "--measure", "requested")
    assert requested["measure"] == "requested"
    assert 0 < sum(row["bytes"] for row in requested["rows"]) == requested["peak_bytes"] < peak


def test_hide_passes_over_the_frames_of_a_file(lab: Any, trace: Path) -> None:
    table = lab.table(trace, "--hide", "*/torch/*")
    assert not [row["key"] for row in table["rows"] if "/torch/" in row["key"]]


def test_full_paths_are_absolute(lab: Any, trace: Path) -> None:
    rows = table_rows(lab.report("table", trace, "--full-paths"))
    assert all(where.startswith(("/", "untraced", "<")) for _, where in rows), rows


def test_summary_and_stats_tell_the_run(lab: Any, trace: Path) -> None:
    summary = lab.report("summary", trace)
    assert "Recording:       complete" in summary.splitlines()
    assert "life_training.py" in summary
    stats = json.loads(lab.report("stats", trace, "--json"))
    assert stats["schema_version"] == 1


def test_several_files_are_shown_one_after_the_other(lab: Any, trace: Path) -> None:
    result = lab.peakline("table", str(trace), str(trace))
    assert result.returncode == 0
    assert result.stdout.count("Max mem: ") == 2
    result = lab.peakline("table", "--json", str(trace), str(trace))
    assert len(json.loads(result.stdout)) == 2


def test_a_closed_pipe_ends_a_report_quietly(lab: Any, trace: Path) -> None:
    command = f"{sys.executable} -m peakline table --top 0 {trace} | true"
    result = lab.plain(trace.parent, "bash", "-o", "pipefail", "-c", command)
    assert result.status == 0
    assert "Traceback" not in result.stderr
    assert "BrokenPipe" not in result.stderr
