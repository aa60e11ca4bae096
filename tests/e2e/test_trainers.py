"""Callbacks for trainers: the programs of docs/trainers.md run, and log what torch counted."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from lab import ROOT, Lab, Run

PAGE = (ROOT / "docs/trainers.md").read_text()
COUNTED = ("peak_bytes", "held_bytes", "reserved_bytes")
PREFIX = "peakline/"


def documented(heading: str) -> str:
    """The first program below a heading of the page."""
    text = PAGE.partition(f"\n## {heading}\n")[2]
    return re.search(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)[1]


class Trained:
    """A program of the page that has run, in each of the ways to record it."""

    def __init__(self, lab: Lab, folder: Path, trainer: str, source: str = "") -> None:
        self.lab = lab
        self.trainer = trainer
        self.program = folder / "train.py"
        self.program.write_text(source or documented(trainer))

    def run(self, environment: Mapping[str, str] | None = None, **how: Any) -> Run:
        return self.lab.run(
            "trainers/documented.py",
            self.trainer,
            str(self.program),
            environment={"PYTHONWARNINGS": "ignore", **(environment or {})},
            **how,
        )


@pytest.fixture
def trained(lab: Lab, tmp_path: Path) -> Any:
    return lambda *words, **named: Trained(lab, tmp_path, *words, **named)


def said_by(run: Run) -> Any:
    assert run.status == 0, run.stderr
    return json.loads((run.folder / "said.json").read_text())


def ours(logged: Mapping[str, Any]) -> dict[str, Any]:
    return {name.removeprefix(PREFIX): one for name, one in logged.items() if PREFIX in name}


def shortened(size: int) -> float:
    """TensorBoard's form of a number: 32 bits."""
    return struct.unpack("f", struct.pack("f", size))[0]


def check_figures(
    logs: list[dict[str, Any]],
    counted: list[dict[str, int]],
    written: Callable[[float], float] = float,
) -> None:
    """What was logged at each step is what torch counted since the log before."""
    assert len({one["peak_bytes"] for one in counted}) > 1  # peaks came and went
    assert len(logs) == len(counted)
    for log, of_torch in zip(map(ours, logs), counted, strict=True):
        for name in COUNTED:
            assert log[name] == written(of_torch[name])
    held = [one["held_bytes"] for one in counted]
    steps = [one["step"] for one in counted]
    for i, log in enumerate(map(ours, logs)):
        growth = log.get("growth_bytes_per_step")
        expected = (held[i] - held[i - 1]) / (steps[i] - steps[i - 1]) if i else None
        assert growth == (None if expected is None else written(expected))


def check_lines(lab: Lab, log: dict[str, Any], trace: Path) -> None:
    """The lines of a log are those of the table, at the peak."""
    rows = lab.table(trace, "--top", "0")["rows"]
    sizes: dict[str, int] = {}
    for row in rows:
        where = row["location"]
        name = f"{Path(where['file']).name}_L{where['line']}" if where else row["key"]
        sizes[name] = sizes.get(name, 0) + row["bytes"]
    lines = {n.rpartition("/")[2]: size for n, size in ours(log).items() if "at_peak/" in n}
    assert len(lines) >= 5
    assert lines == {name: sizes.get(name, 0) for name in lines}
    assert max(sizes.values()) in lines.values()


def check_page(run: Run, trace: Path) -> None:
    page = trace.with_name(f"{trace.name.removesuffix('.peak')}.training.html")
    assert "peakline</title>" in page.read_text()
    assert f"the page of the training is {page}" in run.stderr


def check_phases(lab: Lab, trace: Path, *names: str) -> None:
    named = json.loads(lab.report("phases", trace, "--json"))
    assert named["step_source"] == "marks"
    assert set(names) <= {one["name"] for one in named["named"]}
    steps = [one["name"] for one in named["steps"]]
    assert steps == [f"step {number}" for number in range(1, len(steps) + 1)]
    assert len(steps) > 4


class TestTransformers:
    """transformers' Trainer."""

    @pytest.fixture(autouse=True)
    def _needs_the_library(self) -> None:
        pytest.importorskip("transformers", reason="pip install transformers")

    @pytest.mark.parametrize("is_recorded", [False, True], ids=["alone", "under peakline run"])
    def test_figures_lines_page_and_phases(self, lab: Lab, trained: Any, is_recorded: bool) -> None:
        run = trained("transformers").run(recorded=is_recorded)
        said = said_by(run)
        logs = [one for one in said["history"] if "loss" in one]
        check_figures(logs, said["counted"])
        assert not [one for one in said["history"] if "loss" not in one and ours(one)]
        [trace] = run.traces
        check_lines(lab, logs[-1], trace)
        check_page(run, trace)
        for name in COUNTED:
            logged = said["logged"][f"train/{PREFIX}{name}"]
            assert logged == [[one["step"], shortened(one[name])] for one in said["counted"]]
        check_phases(lab, trace, "epoch 1", "epoch 2")


@pytest.mark.parametrize("package", ["lightning", "pytorch_lightning"])
def test_lightning_logs_figures_lines_page_and_phases(lab: Lab, trained: Any, package: str) -> None:
    pytest.importorskip(package, reason=f"pip install {package}")
    source = documented("lightning")
    if package != "lightning":
        source = source.replace("lightning.pytorch", "pytorch_lightning")
    run = trained("lightning", source=source).run(recorded=package != "lightning")
    said = said_by(run)
    history = [one for one in said["history"] if ours(one)]
    check_figures(history, said["counted"])
    steps = [one["step"] for one in history]
    assert steps == [one["step"] for one in said["history"] if "loss" in one]
    assert steps == [one["step"] for one in said["counted"]]
    [trace] = run.traces
    check_lines(lab, history[-1], trace)
    check_page(run, trace)
    check_phases(lab, trace, "epoch 1", "epoch 2")


def test_accelerate_logs_figures_lines_and_page(lab: Lab, trained: Any) -> None:
    pytest.importorskip("accelerate", reason="pip install accelerate")
    run = trained("accelerate").run(recorded=False)
    said = said_by(run)
    steps = [one["step"] for one in said["counted"]]
    history: list[dict[str, Any]] = [{} for _ in steps]
    for tag, scalars in said["logged"].items():
        for step, value in scalars:
            history[steps.index(step)][tag] = value
    assert all("loss" in log for log in history)
    check_figures(history, said["counted"], shortened)
    [trace] = run.traces
    check_lines(lab, history[-1], trace)
    check_page(run, trace)
