"""The code of lines in reports is kept in the trace, and never that of another version."""

from __future__ import annotations

import json
import linecache
import os
from pathlib import Path
from typing import Any

import pytest
from lab import Run
from terminal import on_terminal

PROGRAM = """\
import torch
from torch.nn.functional import dropout

def keep(count):
    return torch.zeros(
        count, device="cuda")  # the call has two lines

if True:
\tkept = keep(1 << 20)
less = dropout(kept)
"""
WRITES_ITSELF = """\
import pathlib, torch
here = pathlib.Path(__file__)
x = torch.zeros(1 << 20, device="cuda")
here.write_text("another = 1\\n" * 3)
"""


def run_text(lab: Any, folder: Path, text: str, *options: str) -> Run:
    program = folder / "small.py"
    program.write_text(text)
    os.utime(program, (1e9, 1e9))
    run: Run = lab.run(program, options=options)
    return run


def change(run_folder: Path) -> None:
    program = run_folder / "small.py"
    program.write_text("this_is_new = 1\n" * 20)
    os.utime(program, (4e9, 4e9))


@pytest.fixture(scope="module")
def changed_later(lab: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("changed")
    run = run_text(lab, folder, PROGRAM)
    change(folder)
    return run.trace


def test_the_code_of_each_line_is_that_of_the_run(lab: Any, tmp_path: Path) -> None:
    """Python's own linecache, read before the change, is the oracle; library lines, too."""
    run = run_text(lab, tmp_path, PROGRAM)
    texts = [
        row["location"]
        for choice in ("caller", "leaf")
        for row in lab.table(run.trace, "--frame", choice)["rows"]
        if row["location"]
    ]
    expected = [linecache.getline(one["file"], one["line"]).strip() for one in texts]
    assert [one["code"] for one in texts] == expected
    assert "return torch.zeros(" in expected
    assert any("site-packages" in one["file"] for one in texts)
    change(tmp_path)
    again = lab.table(run.trace)["rows"]
    first = lab.table(run.trace, "--top", "1")["rows"][0]["location"]
    assert first["code"] in PROGRAM
    assert "this_is_new" not in json.dumps(again)


def test_a_terminal_shows_the_code_below_its_line(changed_later: Path) -> None:
    screen = on_terminal("table", changed_later, columns=80)
    shown = screen.lines
    row = next(i for i, line in enumerate(shown) if "small.py:5" in line)
    assert shown[row + 1].strip() == "return torch.zeros("
    assert all(len(line) <= 80 for line in shown)
    tree = on_terminal("tree", "--plain", changed_later, columns=220).text
    assert "kept = keep(1 << 20)" in tree


def test_without_kept_lines_a_changed_file_is_named(lab: Any, tmp_path: Path) -> None:
    run = run_text(lab, tmp_path, PROGRAM, "--no-source")
    assert "return torch.zeros(" in on_terminal("table", run.trace).text  # the file is unchanged
    change(tmp_path)
    shown = on_terminal("table", run.trace).text
    assert "(the file was changed after the program began)" in shown
    assert "this_is_new" not in shown
    assert lab.table(run.trace)["rows"][0]["location"]["code"] is None


def test_a_file_that_was_changed_while_it_ran_has_no_lines(lab: Any, tmp_path: Path) -> None:
    run = run_text(lab, tmp_path, WRITES_ITSELF)
    os.utime(tmp_path / "small.py", (1e9, 1e9))  # as if it were older
    shown = on_terminal("table", run.trace).text
    assert "(the file was changed after the program began)" in shown
    assert "another = 1" not in shown


def test_a_file_with_hostile_characters_is_safe(lab: Any, tmp_path: Path) -> None:
    text = 'import torch\nx = torch.zeros(1 << 20, device="cuda")  # \x1b[31m \u202e red\n'
    run = run_text(lab, tmp_path, text)
    screen = on_terminal("table", run.trace)
    assert "\x1b[31m" not in screen.written.replace("\x1b[1;31m", "")
    assert "\u202e" not in screen.written
    assert 'x = torch.zeros(1 << 20, device="cuda")  # ' in screen.text
