"""`peakline advise --try`: each change is measured in a run of its own, against mended programs."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from lab import PROGRAMS, ROOT

PROGRAM = str(PROGRAMS / "could_save.py")


def tried(lab: Any, *words: str, case: str) -> list[dict[str, Any]]:
    """Return what the JSON document says was tried."""
    command = ("advise", "--try", PROGRAM, "--simulate", "h200", "--python", lab.python)
    result = lab.peakline(*command, "--json", *words, "--", case)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)["tried"]


@pytest.mark.parametrize(
    ("case", "change"),
    [
        ("zero_grad_late", "zero-grad-early"),
        ("optimizer_temporaries", "fused"),
        ("checkpoint_layers", "checkpoint=h.*"),
    ],
)
def test_a_change_does_what_the_edit_does(lab: Any, case: str, change: str) -> None:
    [trial] = tried(lab, "--change", change, case=case)
    assert trial["ok"] and trial["applied"]
    assert trial["change"] == change
    assert trial["peak_bytes_before"] == lab.once("could_save.py", case).said[case]
    mended = lab.once("could_save.py", "mended", recorded=False).said[case]
    assert trial["peak_bytes_after"] == pytest.approx(mended, abs=1024)


def test_what_the_recording_suggests_is_tried_and_all_that_helps_together(lab: Any) -> None:
    trials = tried(lab, case="zero_grad_keeps")
    alone = [one["change"] for one in trials if ";" not in one["change"]]
    assert alone == ["set-to-none", "expandable-segments"]
    mended = lab.once("could_save.py", "mended", recorded=False).said["zero_grad_keeps"]
    assert trials[0]["peak_bytes_after"] == pytest.approx(mended, abs=1024)
    helping = [one for one in trials if ";" not in one["change"] and falls(one) >= 0.01]
    together = [one for one in trials if ";" in one["change"]]
    assert len(together) == (1 if len(helping) > 1 else 0)
    for one in together:
        assert one["change"].split("; ") == [single["change"] for single in helping]


def falls(trial: dict[str, Any]) -> float:
    """Return the larger part by which the peak or the device's use fell."""
    return max(
        1 - trial[f"{level}_bytes_after"] / trial[f"{level}_bytes_before"]
        for level in ("peak", "device")
    )


def test_a_change_that_finds_nothing_is_said(lab: Any, tmp_path: Path) -> None:
    program = tmp_path / "plain.py"
    program.write_text("import torch\ntorch.ones(1 << 20, device='cuda')\n")
    command = ("advise", "--try", str(program), "--simulate", "h200", "--python", lab.python)
    text = lab.peakline(*command, "--change", "checkpoint=blocks.*").stdout
    assert re.search(r"^checkpoint=blocks\.\* +nothing to change$", text, re.MULTILINE)


def test_a_program_that_a_change_breaks_is_said_to_fail(lab: Any, tmp_path: Path) -> None:
    program = tmp_path / "breaks.py"
    program.write_text(
        "import torch\n"
        "model = torch.nn.Linear(64, 64).cuda()\n"
        "optimizer = torch.optim.AdamW(model.parameters())\n"
        "assert not optimizer.defaults['fused'], 'no fused step here'\n"
        "model(torch.ones(4, 64, device='cuda')).sum().backward()\n"
        "optimizer.step()\n"
    )
    command = ("advise", "--try", str(program), "--simulate", "h200", "--python", lab.python)
    result = lab.peakline(*command, "--change", "fused")
    assert result.returncode == 1
    assert "fused: the program ended with 1:" in result.stdout
    assert "AssertionError: no fused step here" in result.stdout


def test_models_are_compiled_before_their_first_call(lab: Any, tmp_path: Path) -> None:
    program = tmp_path / "calls.py"
    program.write_text(
        "import os, torch\n"
        "import torch._functorch.config as functorch\n"
        "class Model(torch.nn.Linear):\n"
        "    calls, compiled_at = 0, []\n"
        "    def compile(self):\n"
        "        self.compiled_at.append(self.calls)\n"
        "    def forward(self, x):\n"
        "        self.calls += 1\n"
        "        return super().forward(x)\n"
        "model = Model(64, 64).cuda()\n"
        "for _ in range(2):\n"
        "    model(torch.ones(4, 64, device='cuda'))\n"
        "is_tried = 'PEAKLINE_TRY' in os.environ and os.environ['PEAKLINE_TRY'] != ''\n"
        "assert model.calls == 2\n"
        "assert model.compiled_at == ([0] if is_tried else [])\n"
        "assert functorch.activation_memory_budget == (0.25 if is_tried else 1.0)\n"
    )
    command = ("advise", "--try", str(program), "--simulate", "h200", "--python", lab.python)
    result = lab.peakline(*command, "--json", "--change", "compile=0.25")
    assert result.returncode == 0, result.stderr
    [trial] = json.loads(result.stdout)["tried"]
    assert trial["ok"] and trial["applied"], trial["last_words"]
    assert trial["steady_peak_bytes_after"] == trial["peak_bytes_after"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--try",), "--try names no program"),
        (("--try", "missing.py"), "missing.py does not exist"),
        (("--try", PROGRAM, "--change", "smaller"), "no change is called 'smaller'"),
        (("--try", PROGRAM, "--change", "checkpoint"), "checkpoint needs the path of modules"),
        (("--try", PROGRAM, "--change", "compile=2"), "compile takes a part, from 0 to 1"),
    ],
)
def test_bad_use_is_said(lab: Any, words: tuple[str, ...], message: str) -> None:
    result = lab.peakline("advise", *words)
    assert result.returncode == 2
    assert message in result.stderr


def test_every_change_that_rules_name_can_be_applied() -> None:
    """The names stand in the rules of the engine, in the command and in the startup folder."""
    from peakline.trials.trying import CHANGES

    sys.path.append(str(ROOT / "pyhook/peakline/startup"))
    import _peakline_changes

    header = (ROOT / "report/views/advice/rules/attempts.h").read_text()
    named = set(re.findall(r' = "([a-z-]+)";', header))
    assert "checkpoint" in named
    assert named <= set(CHANGES)
    assert set(CHANGES) == {*_peakline_changes._WITH_VALUE, *_peakline_changes._CHANGES}
