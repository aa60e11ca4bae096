"""The worked examples of the reference: each runs on the recordings that its pages show."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from functools import partial
from pathlib import Path

import pytest
from lab import ON_GPU, ROOT, Lab, Run, together

sys.path.insert(0, str(ROOT / "docs" / "site"))

import worked  # noqa: E402

pytestmark = pytest.mark.skipif(ON_GPU, reason="the examples name a simulated device")
# A sign of the answer, in the output of each example.
SIGNS = {
    "advise": "Values are kept on the device from pass to pass",
    "diff": "train.py:",
    "fleet": "Which jobs hold devices they do not need?",
    "fragmentation": "free: pinned beside blocks in their segments",
    "holders": "in the graph of losses[0] of main",
    "import": "actions of 1 device",
    "layers": "0.down",
    "leaks": "held: saved by AddmmBackward0",
    "ledger": "libcublas",
    "oom": "does not fit on this device",
    "ranks": "2 of 2 ranks on 1 host",
    "tensors": "float32 [512, 1024]",
    "whatif": "out of memory; needs",
}


@pytest.fixture(scope="module")
def folder(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recordings; the two ranks come from a launcher, so that they take warm processes."""
    folder = tmp_path_factory.mktemp("reference")
    shutil.copy(worked.PROGRAM, folder)

    def record(words: str, **environment: str) -> Run:
        command = [sys.executable, "-m", "peakline", *shlex.split(words)]
        return lab.plain(folder, *command, environment=environment)

    *single, ranks = worked.RECORDINGS
    of_rank = ranks.replace(" --world 2 --ranks 0,1", "")
    assert of_rank != ranks
    jobs = {words: partial(record, words) for words in single}
    launcher = {"WORLD_SIZE": "2", "TORCHELASTIC_RUN_ID": "job"}
    jobs |= {rank: partial(record, of_rank, RANK=rank, **launcher) for rank in ("0", "1")}
    runs = together(jobs)
    assert not [run.stderr for run in runs.values() if run.status]
    return folder


@pytest.fixture(autouse=True)
def working_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    for variable in [one for one in os.environ if one.startswith("PEAKLINE_")]:
        monkeypatch.delenv(variable)


@pytest.mark.parametrize("name", worked.WORKED)
def test_the_worked_example_of_a_command_runs(name: str) -> None:
    example = worked.WORKED[name]
    for module in example.needs:
        pytest.importorskip(module)
    if name in worked.BEFORE:
        assert worked.output_of(shlex.split(worked.BEFORE[name]))[0] == 0
    status, output = worked.output_of(shlex.split(example.words))
    assert status == example.status, output
    assert output
    assert SIGNS.get(name, "") in worked.shown(output, lines=100)


def test_a_page_shows_no_name_of_this_machine() -> None:
    _, output = worked.output_of(["summary", "train.peak"])
    assert sys.executable in output
    shown = worked.shown(output, lines=20)
    assert sys.executable not in shown
    assert "Command:         python train.py\nHost:            HOST\n" in shown
    assert worked.shown(output, lines=2).endswith("\n...")


def test_every_command_has_the_same_duration() -> None:
    seconds = json.loads(worked.output_of(["summary", "--json", "train.peak"])[1])
    expected = f"ended after {seconds['duration_seconds']:.1f} s"
    for command in ("live --once", "report"):
        assert expected in worked.output_of([*command.split(), "train.peak"])[1]
