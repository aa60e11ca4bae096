"""The words of --hold when the program ended before the step that it names."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "pyhook"))

from peakline.torch_objects.holding import Holding  # noqa: E402

REASONS = ("HOLD", "OUT_OF_MEMORY", "LAST_LOOK", "OPTIMIZER_STEP", "UNTRACED_STEP", "STEP_MARK")
REASONS += ("NEXT_BATCH", "LOOK")


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        ([], "no step was seen: of an optimizer, by peakline.step(), or a batch of a DataLoader"),
        (["OPTIMIZER_STEP"], "its optimizers made 1 step"),
        (["STEP_MARK", "STEP_MARK"], "it marked 2 steps"),
    ],
)
def test_a_program_that_ends_early_names_the_steps_that_count(
    monkeypatch: pytest.MonkeyPatch, seen: list[str], words: str
) -> None:
    monkeypatch.setenv("PEAKLINE_HOLD", "5")
    monkeypatch.delenv("RANK", raising=False)
    bits = {name: 1 << number for number, name in enumerate(REASONS)}
    messages: list[str] = []
    recorder = SimpleNamespace(**bits, HOLD_STEP=1, HOLD_MARK=2, say=messages.append)
    holding = Holding(recorder, lambda: None)  # type: ignore[arg-type]
    for name in [*seen, "LAST_LOOK"]:
        holding.look(bits[name])
    [message] = messages
    assert message.startswith("--hold 5: the program ended before, ")
    assert words in message
