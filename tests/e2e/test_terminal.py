"""What `table` and `summary` show on a terminal; the engine's JSON says what must be there."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from lab import ROOT, together
from terminal import Screen, columns_of, on_terminal

TRACE = ROOT / "tests" / "data" / "two_steps.trace"
# Colours of the palette that cannot be read on black, or on white: black, yellow, blue, cyan,
# white and all bright ones.
UNREADABLE = {"30", "33", "34", "36", "37", *map(str, range(90, 98))}
SIZE = r"\d[\d.]* [KMGT]?B"


@pytest.fixture(scope="module")
def trace(lab: Any) -> Path:
    return lab.once("life_training.py").trace


@pytest.fixture(scope="module")
def hostile(lab: Any) -> Path:
    run = lab.once("hostile_names.py")
    assert len(run.said["sizes"]) == 7
    return run.trace


def rows_of(screen: Screen) -> list[list[str]]:
    """Return the cells of the rows below the head, which ends with "Line" or the like."""
    lines = screen.lines
    [head] = [i for i, line in enumerate(lines) if re.match(r" *Held +%", line)]
    found = []
    for line in lines[head + 1 :]:
        if line.startswith(" " * 9):  # what is written at the line before
            continue
        if not re.match(rf" *{SIZE} ", line):
            break
        found.append(re.split(r"  +", line.strip(), maxsplit=lines[head].count("  ")))
    return found


def column_of(lines: list[str], pattern: str) -> set[int]:
    """Return the columns at which the pattern ends in lines that have it."""
    return {columns_of(line[: found.end()]) for line in lines if (found := re.match(pattern, line))}


@pytest.mark.parametrize("columns", [80, 100, 140])
@pytest.mark.parametrize("by", ["line", "function", "category", "stack", "phase"])
def test_no_line_is_longer_than_the_terminal(trace: Path, by: str, columns: int) -> None:
    screen = on_terminal(
        "table", "--by", by, "--top", "0", trace.name, columns=columns, cwd=trace.parent
    )
    assert screen.status == 0
    assert max(map(columns_of, screen.lines)) <= columns


def test_rows_are_those_of_the_engine_in_columns(lab: Any, trace: Path) -> None:
    table = lab.table(trace)
    screen = on_terminal("table", "--top", "0", trace, columns=160)
    rows = rows_of(screen)
    assert len(rows) == table["row_count"]
    for shown, row in zip(rows, table["rows"], strict=True):
        held, percent, running, typical, blocks, *line = shown
        assert percent == f"{100 * row['share']:.1f}"
        assert blocks == f"{row['count']:,}"
        for text, number in (
            (held, row["bytes"]),
            (running, row["cumulative_bytes"]),
            (typical, row["median_bytes"]),
        ):
            assert about(text) == pytest.approx(number, rel=1e-3)
        location = row["location"]
        if location and location["line"]:
            name = Path(location["file"]).name
            assert f"{name}:{location['line']} {location['function']}" in line[0]
        if row["via"] and row["via"][0]["name"]:
            assert line[-1].startswith(f"via {row['via'][0]['name']}")
    numbers = [line for line in screen.lines if re.match(rf" *{SIZE} ", line)]
    assert len(column_of(numbers, rf" *{SIZE}")) == 1
    assert len(column_of(numbers, rf" *{SIZE} +[\d.]+")) == 1


def about(text: str) -> float:
    number, unit = text.split()
    return float(number) * 1024.0 ** ("B", "KB", "MB", "GB", "TB").index(unit)


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_the_path_gives_way_but_never_a_number_nor_the_line(trace: Path, columns: int) -> None:
    wide = on_terminal("table", "--top", "0", trace, columns=200)
    narrow = on_terminal("table", "--top", "0", trace, columns=columns)
    assert max(map(columns_of, narrow.lines[2:-1])) <= columns
    assert len(rows_of(wide)) == len(rows_of(narrow))
    for whole, cut in zip(rows_of(wide), rows_of(narrow), strict=True):
        assert cut[:2] == whole[:2]
        place = re.search(r"[^/ ]+\.py:\d+", whole[5])
        if columns == 80 and place:
            assert place[0] in cut[-1] or place[0] in cut[-2]


def test_the_command_for_the_other_rows_shows_them(tmp_path: Path) -> None:
    copy = tmp_path / "my run.peak"
    copy.write_bytes(TRACE.read_bytes())
    screen = on_terminal("table", "--top", "1", copy.name, "--frame", "leaf", cwd=tmp_path)
    [line] = [line for line in screen.lines if " more rows: " in line]
    assert line.startswith("2 more rows: peakline table ")
    words = shlex.split(line.split("peakline ")[1])
    again = on_terminal(*words, cwd=tmp_path)
    assert len(rows_of(screen)) == 1 and len(rows_of(again)) == 3
    assert "more row" not in again.text
    assert rows_of(again)[0][:2] == rows_of(screen)[0][:2]


def test_what_stands_around_the_rows_stays(lab: Any, tmp_path: Path) -> None:
    cut = tmp_path / "cut.peak"
    cut.write_bytes(TRACE.read_bytes()[:-8])
    literal = lab.report("table", cut).splitlines()
    head = literal.index("Mem, Cumulative Mem, Median, Count, Location")
    around = literal[:head] + literal[head + 4 :]
    assert any("killed" in line for line in around) and len(around) >= 5
    # A long path is broken within, where the terminal ends.
    shown = "".join(on_terminal("table", cut).text.split())
    for line in around:
        assert "".join(line.split()) in shown


def test_a_pipe_and_plain_get_the_literal_form(trace: Path, lab: Any) -> None:
    literal = lab.report("table", trace)
    assert "Mem, Cumulative Mem, Median, Count, Location\n" in literal
    for options in (["--plain"], ["--plain", "--no-color"]):
        screen = on_terminal("table", trace, *options, columns=300, cwd=lab.folder)
        assert screen.written.replace("\r\n", "\n").startswith(literal)
        assert "\x1b" not in screen.written
    assert "\x1b" not in literal
    assert lab.report("table", trace, "--plain", "--no-color") == literal
    stacks = lab.report("table", trace, "--by", "stack")
    assert " <- " in stacks and "├" not in stacks


@pytest.mark.parametrize(
    ("options", "environment"),
    [(["--no-color"], {}), ([], {"NO_COLOR": "1"}), (["--no-color"], {"FORCE_COLOR": "1"})],
)
def test_colours_can_be_turned_off(options: list[str], environment: dict[str, str]) -> None:
    coloured = on_terminal("table", TRACE)
    bare = on_terminal("table", TRACE, *options, environment=environment)
    colours = {str(number) for number in range(30, 50)}
    assert coloured.styles & colours
    assert not bare.styles & colours
    assert len(rows_of(bare)) == 3


def test_colours_are_readable_on_black_and_on_white(tmp_path: Path) -> None:
    cut = tmp_path / "cut.peak"
    cut.write_bytes(TRACE.read_bytes()[:-8])
    for words in (["table", TRACE], ["table", "--by", "stack", cut], ["summary", cut]):
        screen = on_terminal(*words, environment={"COLORTERM": "truecolor"})
        assert screen.styles and not screen.styles & (UNREADABLE | {"38", "48"}), screen.styles


def test_force_color_makes_a_pipe_a_terminal(lab: Any, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "peakline", "table", str(TRACE)]
    forced = {"FORCE_COLOR": "1", "COLUMNS": "80"}
    piped = lab.plain(tmp_path, *command, environment=forced)
    assert piped.status == 0
    assert "\x1b[" in piped.stdout and "Running" in piped.stdout
    literal = lab.plain(tmp_path, *command, "--plain", environment=forced)
    assert "\x1b" not in literal.stdout and "Mem, Cumulative Mem" in literal.stdout


@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "C"},
        {"LC_ALL": "", "LC_CTYPE": "", "LANG": "C"},
        {"PYTHONIOENCODING": "latin-1"},
    ],
)
def test_a_terminal_without_utf8_gets_characters_it_has(
    hostile: Path, environment: dict[str, str]
) -> None:
    for words in (["table"], ["table", "--by", "stack"], ["summary"]):
        screen = on_terminal(*words, hostile.name, environment=environment, cwd=hostile.parent)
        assert screen.status == 0, screen.written
        assert screen.written.isascii()
        assert "Traceback" not in screen.text
        assert "|-" in screen.text or "stack" not in words
        assert max(map(columns_of, screen.lines)) <= 80


def test_names_cannot_drive_the_terminal(hostile: Path, lab: Any) -> None:
    names = {row["location"]["function"] for row in lab.table(hostile)["rows"] if row["location"]}
    assert any("\x1b[2J" in name for name in names), "the names are hostile"
    for words in (
        ["table"],
        ["table", "--by", "stack"],
        ["table", "--by", "function"],
        ["table", "--plain"],
        ["summary"],
        ["tensors"],
    ):
        screen = on_terminal(*words, hostile.name, columns=100, cwd=hostile.parent)
        assert screen.status == 0
        told = screen.text.replace("\u2068", "").replace("\u2069", "")
        for character in "\x1b\x07\x08\r\x7f\x85\x9b\u202e\u2066\u2028":
            assert character not in told, (words, character)
        assert screen.text.count("\u2068") == screen.text.count("\u2069")
        if "--plain" not in words and words != ["tensors"]:
            assert max(map(columns_of, screen.lines)) <= 100
            assert max(map(len, screen.lines)) <= 400


def test_wide_and_right_to_left_names_keep_the_columns(hostile: Path) -> None:
    screen = on_terminal("table", hostile, columns=120)
    rows = [line for line in screen.lines if re.match(rf" *{SIZE} ", line)]
    assert len(rows) == 7
    assert len(column_of(rows, rf" *{SIZE} +[\d.]+ +{SIZE} +{SIZE} +\d+")) == 1
    [hebrew] = [line for line in rows if "שלום" in line]
    # Each text of its own direction is closed before the next one begins.
    assert re.search("\u2068[^\u2069]*שלום[^\u2068]*\u2069 \u2068שלום\u2069", hebrew)
    assert any("記憶" in line for line in rows)


def test_the_summary_of_stacks_is_a_tree(trace: Path) -> None:
    screen = on_terminal("summary", "--by", "stack", trace, columns=120)
    assert screen.status == 0, screen.text
    tree = on_terminal("table", "--by", "stack", "--top", "5", trace, columns=120)
    assert [row[:2] for row in rows_of(screen)] == [row[:2] for row in rows_of(tree)]


def test_the_tree_of_stacks_adds_up(lab: Any, trace: Path) -> None:
    table = lab.table(trace, "--by", "stack")
    screen = on_terminal("table", "--by", "stack", "--top", "0", trace, columns=200)
    shown = [line for line in screen.lines if re.match(rf" *{SIZE} +[\d.]+ +\d", line)]
    # The nodes beside the edge of the tree are its roots.
    at = min(re.match(rf" *{SIZE} +[\d.]+ +\d[\d,]*  ", line).end() for line in shown)
    tops = [line for line in shown if line[at] not in "│ "]
    roots = [line for line in tops if line[at] in "├└"] or tops[:1]
    sizes = [about(re.match(rf" *({SIZE})", line)[1]) for line in roots]
    assert sum(sizes) == pytest.approx(table["peak_bytes"], rel=2e-3)
    outermost = {row["stack"][-1]["function"] for row in table["rows"] if row["stack"]}
    for function in outermost:
        assert any(f" {function}" in line for line in screen.lines)
    folded = [line for line in screen.lines if re.search(r"… \d+ (to \d+ )?frames? of \w+", line)]
    assert folded and "torch" in " ".join(folded)
    assert not [line for line in screen.lines if "torch/" in line]


def test_the_tree_says_what_is_left_out(trace: Path) -> None:
    screen = on_terminal("table", "--by", "stack", "--top", "2", trace)
    assert re.search(rf"{SIZE} .*… \d+ more", screen.text)
    assert re.search(r"\d+ more rows: peakline table --by stack ", screen.text.replace("\n", " "))


def test_the_end_of_a_run_is_laid_out_on_a_terminal(lab: Any, tmp_path: Path) -> None:
    program = tmp_path / "small.py"
    program.write_text("import torch\nx = torch.zeros(1 << 20, device='cuda')\n")
    options = ["run", "--python", lab.python, "--simulate", "h200", "-f", "-o", "run.peak"]
    done = together(
        {
            "screen": lambda: on_terminal(*options, program, cwd=tmp_path),
            "bare": lambda: on_terminal(
                *options[:-1], "b.peak", program, cwd=tmp_path, environment={"NO_COLOR": "1"}
            ),
        }
    )
    screen = done["screen"]
    assert screen.status == 0, screen.text
    [row] = rows_of(screen)
    assert row[:2] == ["4.000 MB", "100.0"] and "small.py:2 <module>" in row[-2] + row[-1]
    assert "Next: peakline " in screen.text
    assert not done["bare"].styles & {str(number) for number in range(30, 50)}
    assert json.loads(lab.report("table", tmp_path / "run.peak", "--json"))["row_count"] == 1
