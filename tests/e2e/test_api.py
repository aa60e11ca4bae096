"""The public names of `peakline`: their examples run, and docs/python.md lists them all."""

from __future__ import annotations

import doctest
import importlib
import inspect
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from lab import ON_GPU, ROOT, Lab, Run

sys.path.insert(0, str(ROOT / "pyhook"))

import peakline  # noqa: E402

PAGE = (ROOT / "docs" / "python.md").read_text()
WITH_EXAMPLES = ("recording.recording", "launch.recorded_run", "differences.reports", "runs.ranks")
PROGRAM = """
import torch

layers = torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)
model = torch.nn.Sequential(*layers).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for step in range(2):
    model(torch.randn(64, 256, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def examples() -> dict[str, doctest.DocTest]:
    modules = [importlib.import_module(f"peakline.{name}") for name in WITH_EXAMPLES]
    found = [one for module in modules for one in doctest.DocTestFinder().find(module)]
    return {one.name.removeprefix("peakline."): one for one in found if one.examples}


EXAMPLES = examples()


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("api") / "train.py"
    path.write_text(PROGRAM)
    return path


@pytest.fixture(scope="module")
def run(lab: Lab, script: Path) -> Run:
    return lab.run(script, fresh=True)


@pytest.mark.skipif(ON_GPU, reason="the examples name a simulated device")
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_of_a_docstring_runs(
    run: Run, script: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in [one for one in os.environ if one.startswith("PEAKLINE_")]:
        monkeypatch.delenv(variable)
    example = EXAMPLES[name]
    example.globs = {
        "peakline": peakline,
        "recording": peakline.open(run.trace),
        "path": run.trace,
        "script": script,
        "folder": tmp_path,
    }
    flags = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    said: list[str] = []
    result = doctest.DocTestRunner(optionflags=flags).run(example, out=said.append)
    assert result.failed == 0, "".join(said)


def test_every_report_has_an_example() -> None:
    with_examples = {name.rpartition(".")[2] for name in EXAMPLES}
    reports = {*rows_of_table("method of `Recording`")} - {"peak_bytes"}
    assert reports | {"open", "run", "simulate", "diff", "check", "ranks"} <= with_examples


def rows_of_table(head: str) -> dict[str, list[str]]:
    """Return the cells of a table of the page, without their first, by the name in it."""
    [table] = re.findall(rf"^\| {head} \|.*\n(?:\|.*\n)+", PAGE, re.MULTILINE)
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    return {re.split(r"[`(]", row[0])[1]: row for row in rows}


def parameters_of(function: Any) -> list[inspect.Parameter]:
    found = inspect.signature(function).parameters.values()
    return [one for one in found if one.name != "self"]


def test_the_page_lists_the_reports_with_their_options() -> None:
    listed = rows_of_table("method of `Recording`")
    own = {name: one for name, one in vars(peakline.Recording).items() if inspect.isfunction(one)}
    assert listed.keys() == own.keys()
    for name, (_, kind, *options) in listed.items():
        assert re.findall(r"`(\w+)`", " ".join(options)) == [
            one.name for one in parameters_of(own[name])
        ], name
        row = kind.strip("`")
        returned = inspect.signature(own[name]).return_annotation
        assert returned in (row, f"Report[rows.{row}]"), name
    inherited = {*dir(peakline.Recording)} - own.keys()
    for name in inherited:
        assert name.startswith("_") or f"recording.{name}" in PAGE or f"`{name}(" in PAGE, name


def test_the_page_lists_the_public_names() -> None:
    listed = rows_of_table("name")
    assert listed.keys() == {*peakline.__all__, "open"}
    assert listed.keys() <= {*dir(peakline)}
    for name, (first, *_) in listed.items():
        if inspect.isfunction(getattr(peakline, name)):
            names = [one.name for one in parameters_of(getattr(peakline, name))]
            assert re.findall(r"\w+", first) == [name, *names]


def test_a_report_has_the_methods_of_the_page() -> None:
    public = {name for name in vars(peakline.Report) if not name.startswith("_")}
    listed = {*re.findall(r"`(\w+)(?:\(\))?`", "".join(rows_cells("of a `Report`")))}
    assert public | {"_repr_html_", "document"} == listed


def rows_cells(head: str) -> list[str]:
    return [row[0] for row in rows_of_table(head).values()]


def test_run_refuses_what_it_cannot_do(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="'steped'"):
        peakline.run("train.py", steped="3")
    with pytest.raises(TypeError, match="'html'"):
        peakline.run("train.py", html=True)
    with pytest.raises(ValueError, match="does not exist"):
        peakline.run(tmp_path / "train.py")
    with pytest.raises(ValueError, match="did you mean h200"):
        peakline.simulate(["-c", "pass"], "h2000")
    assert peakline.run(["-c", "raise SystemExit(3)"], output=tmp_path / "a.peak").status == 3


def test_check_and_ranks_refuse_what_they_cannot_judge(run: Run, tmp_path: Path) -> None:
    recording = peakline.open(run.trace)
    with pytest.raises(ValueError, match="give a limit"):
        peakline.check(recording)
    with pytest.raises(ValueError, match="no phase is called 'none'"):
        peakline.check(recording, max_phase_bytes={"none": 1})
    limits = tmp_path / "limits.toml"
    limits.write_text('peak = "1GB"\n[phase]\nforward = 1\n')
    assert [one.holds for one in peakline.check(recording, limits=limits)] == [True, False]
    limits.write_text("peek = 1\n")
    with pytest.raises(ValueError, match="limits.toml:1: 'peek' is no limit; did you mean peak"):
        peakline.check(recording, limits=limits)
    [over] = peakline.check(recording, max_peak_bytes=1)
    assert not over.holds
    assert over.blamed[0].line > 0
    with pytest.raises(ValueError, match="of 0"):
        peakline.ranks(tmp_path)
