"""Callbacks for trainers: the programs of docs/trainers.md run, and log what torch counted."""

from __future__ import annotations

import importlib.util
import itertools
import json
import struct
from pathlib import Path
from typing import Any

import pytest
from lab import ON_GPU, PROGRAMS, Lab, Run
from trainer_stores import PREFIX, check_stores, documented, environment, figures_of, with_stores

COUNTED = ("peak_bytes", "held_bytes", "reserved_bytes")
Logs = list[dict[str, Any]]


class Trained:
    """A program of the page that has run, and what it logged and counted."""

    def __init__(
        self, lab: Lab, folder: Path, trainer: str, *, recorded: bool, has_stores: bool = True
    ) -> None:
        pytest.importorskip(trainer, reason=f"pip install {trainer}")
        self.has_stores = has_stores
        program = folder / "train.py"
        program.write_text(with_stores(trainer) if has_stores else documented(trainer))
        self.run = lab.run(
            "trainers/documented.py",
            trainer,
            str(program),
            recorded=recorded,
            environment={"PYTHONWARNINGS": "ignore", **environment(folder)},
        )
        self.said = said_by(self.run)
        self.counted: list[dict[str, int]] = self.said["counted"]
        self.steps = [one["step"] for one in self.counted]
        [self.trace] = self.run.traces

    def check(self, lab: Lab, logs: Logs) -> None:
        """The logs have what torch counted, the lines of the trace, and stand in every store."""
        check_figures(logs, self.counted)
        check_lines(lab, figures_of(logs[-1]), self.trace)
        page = self.trace.with_name(f"{self.trace.name.removesuffix('.peak')}.training.html")
        assert "peakline</title>" in page.read_text()
        assert f"the page of the training is {page}" in self.run.stderr
        if self.has_stores:
            check_stores(self.run.folder, logs)

    def scalars(self, name: str) -> list[list[float]]:
        """A figure in TensorBoard: steps and 32-bit numbers."""
        logged: list[list[float]] = self.said["tensorboard"][name]
        return logged


def said_by(run: Run) -> Any:
    assert run.status == 0, run.stderr
    return json.loads((run.folder / "said.json").read_text())


def in_32_bits(size: float) -> float:
    return struct.unpack("f", struct.pack("f", size))[0]


def check_figures(logs: Logs, counted: list[dict[str, int]]) -> None:
    """The figures of each log are those that torch counted since the log before."""
    peaks = [one["peak_bytes"] for one in counted]
    assert any(later < earlier for earlier, later in itertools.pairwise(peaks))
    last = None
    for log, of_torch in zip(map(figures_of, logs), counted, strict=True):
        assert {name: log[name] for name in COUNTED} == {name: of_torch[name] for name in COUNTED}
        expected = None
        if last is not None:
            more = of_torch["held_bytes"] - last["held_bytes"]
            expected = more / (of_torch["step"] - last["step"])
        assert log.get("growth_bytes_per_step") == expected
        last = of_torch


def check_lines(lab: Lab, log: dict[str, Any], trace: Path) -> None:
    """The lines of a log are those of the table, at the peak."""
    sizes: dict[str, int] = {}
    for row in lab.table(trace, "--top", "0")["rows"]:
        where = row["location"]
        name = f"{Path(where['file']).name}_L{where['line']}" if where else row["key"]
        sizes[name] = sizes.get(name, 0) + row["bytes"]
    lines = {name.rpartition("/")[2]: size for name, size in log.items() if "at_peak/" in name}
    assert len(lines) >= min(5, len(sizes))
    assert lines == {name: sizes.get(name, 0) for name in lines}
    assert max(sizes.values()) in lines.values()


def check_phases(lab: Lab, trace: Path) -> None:
    phases = json.loads(lab.report("phases", trace, "--json"))
    assert phases["step_source"] == "marks"
    assert {"epoch 1", "epoch 2"} <= {one["name"] for one in phases["named"]}
    steps = [one["name"] for one in phases["steps"]]
    assert steps == [f"step {number}" for number in range(1, len(steps) + 1)]
    assert len(steps) > 4


def test_transformers_logs_what_torch_counts(lab: Lab, tmp_path: Path) -> None:
    trained = Trained(lab, tmp_path, "transformers", recorded=False)
    logs = [one for one in trained.said["history"] if "loss" in one]
    trained.check(lab, logs)
    check_phases(lab, trained.trace)
    assert not [one for one in trained.said["history"] if "loss" not in one and figures_of(one)]
    for name in COUNTED:
        logged = [[one["step"], in_32_bits(one[name])] for one in trained.counted]
        assert trained.scalars(f"train/{PREFIX}{name}") == logged


def test_lightning_logs_what_torch_counts_under_peakline_run(lab: Lab, tmp_path: Path) -> None:
    trained = Trained(lab, tmp_path, "lightning", recorded=True)
    rows = trained.said["rows"]
    logs = [one for one in rows if figures_of(one)]
    trained.check(lab, logs)
    check_phases(lab, trained.trace)
    # With the steps of Lightning's own metrics.
    assert trained.steps == [one["step"] for one in logs]
    assert trained.steps == [one["step"] for one in rows if "loss" in one]


def test_accelerate_logs_what_torch_counts(lab: Lab, tmp_path: Path) -> None:
    trained = Trained(lab, tmp_path, "accelerate", recorded=False)
    trained.check(lab, trained.said["logs"])
    assert [step for step, _ in trained.scalars("loss")] == trained.steps
    for name in COUNTED:
        logged = [[one["step"], in_32_bits(one[name])] for one in trained.counted]
        assert trained.scalars(f"{PREFIX}{name}") == logged


def test_ignite_has_what_torch_counts_among_its_metrics(lab: Lab, tmp_path: Path) -> None:
    trained = Trained(lab, tmp_path, "ignite", recorded=False, has_stores=False)
    trained.check(lab, trained.said["logs"])
    check_phases(lab, trained.trace)
    for name in COUNTED:
        logged = [[one["step"], in_32_bits(one[name])] for one in trained.counted]
        assert trained.scalars(f"train/{PREFIX}{name}") == logged


def test_composer_logs_what_torch_counts(lab: Lab, tmp_path: Path) -> None:
    trained = Trained(lab, tmp_path, "composer", recorded=False, has_stores=False)
    trained.check(lab, trained.said["logs"])
    check_phases(lab, trained.trace)


def test_a_program_that_ends_while_it_trains_leaves_a_whole_trace(lab: Lab) -> None:
    run = lab.run("trainers/ends_in_training.py", recorded=False)
    assert run.status == 3
    logged, counted = run.last_said
    assert logged == counted
    assert not run.notes
    assert "Error" not in run.stderr
    [trace] = run.traces
    table = lab.table(trace)
    assert (table["peak_bytes"], table["problems"]) == (counted, [])


@pytest.mark.skipif(ON_GPU, reason="sums on a GPU differ from run to run")
def test_without_a_gpu_a_training_computes_the_same(lab: Lab, tmp_path: Path) -> None:
    sources = {
        "transformers": documented("transformers"),
        "pytorch_lightning": documented("lightning").replace(
            "lightning.pytorch", "pytorch_lightning"
        ),
    }
    programs = [tmp_path / f"{name}.py" for name in sources if importlib.util.find_spec(name)]
    if not programs:
        pytest.skip("pip install transformers pytorch_lightning")
    for program in programs:
        program.write_text(sources[program.stem])
    runner = PROGRAMS / "trainers" / "with_and_without.py"
    run = lab.plain(tmp_path / "cpu", lab.python, str(runner), *map(str, programs))
    for without, with_callback in said_by(run).values():
        assert with_callback == without
        assert without["logs"]
    said = [note for note in run.notes if "nothing is recorded: " in note]
    assert len(said) == len(run.notes) == len(programs)
    assert not run.traces
