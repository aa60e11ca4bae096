"""Nearly every byte of a real model's peak has a file, a line and a function."""

from __future__ import annotations

from typing import Any

import pytest
from lab import ROOT, Lab

GPT2 = (str(ROOT / "examples" / "train_gpt2.py"), "--batch", "2", "--length", "256", "--steps", "2")
MODELS = {
    "transformer": ("train_model.py", "transformer"),
    "resnet50": ("train_model.py", "resnet50"),
    "gpt2": ("run_script.py", *GPT2),
}


def has_place(row: dict[str, Any]) -> bool:
    place = row["location"]
    return bool(place and place["file"] and place["line"] and place["function"])


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("frame", ["leaf", "user"])
def test_of_1000_bytes_at_the_peak_999_have_a_line(each_lab: Lab, model: str, frame: str) -> None:
    table = each_lab.table(each_lab.once(*MODELS[model]).trace, "--frame", frame)
    placed = sum(row["bytes"] for row in table["rows"] if has_place(row))
    assert placed >= 0.999 * table["total_bytes"]


@pytest.mark.parametrize("model", MODELS)
def test_lines_of_the_user_are_in_the_users_files(each_lab: Lab, model: str) -> None:
    table = each_lab.table(each_lab.once(*MODELS[model]).trace, "--frame", "user")
    files = {row["location"]["file"] for row in table["rows"] if has_place(row)}
    assert files
    assert all(file.startswith(str(ROOT)) for file in files), files
