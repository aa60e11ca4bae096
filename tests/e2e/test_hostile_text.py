"""No text that leaves peakline holds a control byte, a mark of direction or a line of a name's.

Commands, formats and options come from the product's own tables: a new one is tested by itself.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hostile import HOSTILE, fill_with_names, problems_of, run_here
from lab import PROGRAMS, ROOT, Lab, Run

sys.path.insert(0, str(ROOT / "pyhook"))

import peakline  # noqa: E402
from peakline.base import files  # noqa: E402
from peakline.base.output import printable  # noqa: E402
from peakline.commands import all_commands  # noqa: E402
from peakline.commands.shared.parser import CommandParser  # noqa: E402
from peakline.exports import FORMATS  # noqa: E402
from peakline.fleet.questions import QUESTIONS  # noqa: E402

COMMANDS = {one.name: one for one in all_commands()}
COLUMNS = 2000  # of a terminal that wraps nothing: a line that begins with FORGED is forged
# Formats whose readers take any text: no terminal shows them.
BINARY = ("pprof", "perfetto", "torch-snapshot", "parquet", "tensorboard", "memory-tracker")
MISSING = f"gone {HOSTILE}.py"
FAILS = "fails.py"  # prints what is hostile, and fails
# What commands are about where it is not a trace. TRACE, TABLES and PICKLE are files.
SUBJECTS: dict[str, list[list[str]]] = {
    "run": [["--simulate", "h200", MISSING]],
    "fit": [[MISSING], ["--device", "h200", FAILS]],
    "advise": [["TRACE"], ["--try", FAILS, "--simulate", "h200"]],
    "diff": [["BASE", "TRACE"], ["--phases", "BASE", "TRACE"], ["--by", "stack", "BASE", "TRACE"]],
    "check": [
        ["--max-peak", "1B", "--max-phase", f"{HOSTILE}=1B", "TRACE"],
        ["--baseline", "BASE", "--github", "--junit", "junit.xml", "TRACE"],
        ["--write-limits", f"{HOSTILE}.toml", "-f", "TRACE"],
        ["--limits", f"{HOSTILE}.toml", "--github", "TRACE"],
    ],
    "leaks": [["TRACE"], ["--measure", "reserved", "TRACE"]],
    "bisect": [[HOSTILE, MISSING, "--", FAILS]],
    "ranks": [["TRACE"], ["TRACE", "BASE"], ["."]],
    "fleet": [
        ["TABLES"],
        *(["TABLES", one] for one in QUESTIONS if not QUESTIONS[one].compares),
        ["TABLES", "--sql", "select * from sites"],
        ["TABLES", "--sql", f"select '{HOSTILE}'"],
    ],
    "export": [
        ["csv", "-f", "-o", "x.csv", "TRACE"],
        ["parquet", "--tables", "-o", HOSTILE, "TRACE"],
    ],
    "import": [["PICKLE"]],
    "pack": [["--summary", "-f", "TRACE"], ["-f", "TRACE"]],
    "html": [["-f", "-o", f"{HOSTILE}.html", "TRACE"]],
    "flamegraph": [["-f", "TRACE"]],
    "plot": [["-f", "TRACE"]],
    "live": [["--once", "TRACE"]],
    "report": [["TRACE"], ["--beside", "TRACE"]],
    "tree": [["--plain", "TRACE"]],
    "plan": [
        ["--budget", "1MiB", "TRACE"],
        ["--sizes", "TRACE", "TRACE", "--at", "batch=4"],
    ],
    "table": [["TRACE"], ["--by", "stack", "TRACE"], ["--by", "module,op", "TRACE"]],
    "timeline": [["TRACE"], ["--where", f"line={HOSTILE}", "TRACE"]],
    "attach": [[MISSING], ["-o", MISSING, "0"]],
    "detach": [[MISSING]],
    "mcp": [[MISSING]],  # its answers are JSON of the protocol
    "doctor": [["--python", MISSING]],
    "preload": [["--python", MISSING]],
    "completion": [["bash"]],
}
# What gives a document where that is something else.
DOCUMENTS = {
    "fit": ["--device", "h200", "-c", "pass"],
    "fleet": ["TABLES", "--sql", "select * from sites"],
    "doctor": [],
}


class Hostile:
    """A folder with a trace that is hostile everywhere, a second one, tables and a pickle."""

    def __init__(self, folder: Path, run: Run) -> None:
        self.folder, self.run = folder, run
        self.files = {"TRACE": f"{HOSTILE}.peak", "BASE": f"base {HOSTILE}.peak"}
        self.files |= {"TABLES": "tables", "PICKLE": f"{HOSTILE}.pickle"}

    def words(self, words: Sequence[str]) -> list[str]:
        return [self.files.get(word, word) for word in words]

    def problems(self, *words: str, columns: int = 0, answers: bool = False) -> list[str]:
        status, written = run_here(self.words(words), columns=columns, cwd=self.folder)
        assert written, words
        assert b"Traceback" not in written, written.decode()
        assert not answers or status in (0, 1), written.decode()
        return problems_of(written, is_terminal=bool(columns))


@pytest.fixture(scope="module")
def hostile(lab: Lab) -> Hostile:
    folder = lab.folder / "hostile"
    program = folder / HOSTILE / f"{HOSTILE}.py"
    program.parent.mkdir(parents=True)
    shutil.copy(PROGRAMS / "hostile_everywhere.py", program)
    options = ("-o", f"{HOSTILE}.peak", "--hold", "3,end", "--frees")
    words = str(program.relative_to(folder))
    run = lab.recorded(folder, words, options=options, environment={"HOSTILE": HOSTILE})
    assert run.status == 0, run.stderr
    made = Hostile(folder, run)
    trace, base = (folder / made.files[name] for name in ("TRACE", "BASE"))
    shutil.copy(trace, base)
    fill_with_names(trace, HOSTILE, keep=("keep", "backend", "frees", "stacks"))
    (folder / FAILS).write_text(f"import sys\nsys.exit({HOSTILE.replace('FORGED', 'QUOTED')!r})\n")
    global_name = f"c{HOSTILE.splitlines()[0]}\nx\u202e\x1b[7777m\n."
    (folder / made.files["PICKLE"]).write_bytes(global_name.encode())
    status, said = run_here(
        made.words(["export", "parquet", "--tables", "-o", "TABLES", "TRACE", "BASE"]), cwd=folder
    )
    assert status == 0, said
    return made


def test_what_run_says_unasked_is_harmless(hostile: Hostile) -> None:
    said = hostile.run.stderr
    assert "peakline: grows " in said
    assert "peakline: wrote " in said
    assert problems_of(said.encode()) == []


def subjects_of(name: str) -> list[list[str]]:
    return SUBJECTS.get(name, [["TRACE"]])


@pytest.mark.parametrize("columns", [0, COLUMNS], ids=["pipe", "terminal"])
@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_writes_what_a_name_holds(
    hostile: Hostile, name: str, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_PROGRESS_FROM_BYTES", 0)
    monkeypatch.setenv("TERM", "xterm-256color")
    for words in subjects_of(name):
        answers = not {MISSING, FAILS, "PICKLE"}.intersection(words)
        assert hostile.problems(name, *words, columns=columns, answers=answers) == [], words
        gone = [MISSING if word in hostile.files else word for word in words]
        assert hostile.problems(name, *gone, columns=columns) == [], gone


def options_of(name: str) -> Iterator[argparse.Action]:
    parser = CommandParser(prog=name)
    COMMANDS[name].add_arguments(parser)
    yield from (one for one in parser._actions if one.option_strings)


@pytest.mark.parametrize("name", COMMANDS)
def test_no_option_is_refused_with_what_it_was_given(hostile: Hostile, name: str) -> None:
    words = [MISSING] if name in ("run", "fit") else subjects_of(name)[0]
    for option in options_of(name):
        word = option.option_strings[-1]
        # What follows -m and -c is the program, which Python itself refuses.
        if option.nargs == 0 or (name == "run" and word in ("-m", "-c")):
            continue
        # `--by` of a report and the like are refused by the engine, and not by the parser.
        assert hostile.problems(name, word, HOSTILE, *words) == [], word
    assert hostile.problems(name, f"--x{HOSTILE}", *words) == []
    assert hostile.problems(name, *words, HOSTILE) == []
    assert hostile.problems(name + HOSTILE) == []


def gives_json(name: str) -> bool:
    # A bisection needs a repository.
    return name != "bisect" and any("--json" in one.option_strings for one in options_of(name))


@pytest.mark.parametrize("name", [one for one in COMMANDS if gives_json(one)])
def test_documents_are_json_with_escapes(hostile: Hostile, name: str) -> None:
    words = DOCUMENTS.get(name, subjects_of(name)[0])
    status, written = run_here(hostile.words([name, "--json", *words]), cwd=hostile.folder)
    assert status in (0, 1), written.decode()
    assert problems_of(written) == []
    is_named = any(HOSTILE in text for text in texts_in(json.loads(written)))
    assert is_named != (name in ("doctor", "fit"))


def texts_in(document: Any) -> Iterator[str]:
    """Yield every text of a document."""
    if isinstance(document, str):
        yield document
    elif isinstance(document, dict):
        for key, value in document.items():
            yield key
            yield from texts_in(value)
    elif isinstance(document, list):
        for value in document:
            yield from texts_in(value)


@pytest.mark.parametrize("name", FORMATS)
def test_no_format_of_text_holds_a_control_byte(hostile: Hostile, name: str) -> None:
    output = hostile.folder / f"exported.{name}"
    words = ["export", name, "-f", "-o", output.name, "TRACE"]
    status, said = run_here(hostile.words(words), cwd=hostile.folder)
    assert status == 0, said.decode()
    data = output.read_bytes()
    if name not in BINARY:
        data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
        assert problems_of(data.replace(b"\r\n", b"\n") if name == "csv" else data) == []


def test_no_written_file_of_text_holds_a_control_byte(hostile: Hostile) -> None:
    for words in (["check", *SUBJECTS["check"][1]], ["pack", *SUBJECTS["pack"][0]]):
        hostile.problems(*words)
    hostile.problems("report", "--beside", "TRACE")
    junit = hostile.folder / "junit.xml"
    # A command without a file reads a running program, which may be that of another test.
    summary = hostile.folder / f"{HOSTILE}.summary.json"
    [text, *_] = hostile.folder.glob("*.txt")
    for file in (junit, summary, text):
        assert problems_of(file.read_bytes()) == [], file
    assert any(HOSTILE in one for one in texts_in(json.loads(summary.read_text())))


def test_no_cell_of_csv_is_a_formula(hostile: Hostile) -> None:
    import csv

    words = ["export", "csv", "-f", "-o", "cells.csv", "TRACE"]
    assert run_here(hostile.words(words), cwd=hostile.folder)[0] == 0
    with (hostile.folder / "cells.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    cells = {cell for row in rows for cell in row}
    assert f"'{printable(HOSTILE)}" in cells
    assert not [cell for cell in cells if cell[:1] in tuple("=+@\t\r")]
    recording = peakline.open(hostile.folder / hostile.files["TRACE"])
    events = list(recording.events())
    level = rows[0].index("allocated_bytes")
    assert [row[level] for row in rows[1:]] == [
        "" if one.allocated_bytes is None else str(one.allocated_bytes) for one in events
    ]


@pytest.mark.parametrize("name", ["table", "summary", "tensors", "leaks", "map", "timeline"])
def test_no_face_of_a_report_holds_a_control_byte(hostile: Hostile, name: str) -> None:
    report = getattr(peakline.open(hostile.folder / hostile.files["TRACE"]), name)()
    for face in (repr(report), report.to_markdown(), report._repr_html_()):
        assert problems_of(face.encode()) == [], name


def test_names_are_text_in_markdown_and_html() -> None:
    from peakline.text.faces import html_of, markdown_of

    name = "<script>&|`*_[a](https://b.c)@d\r\n# e\x1b[7777m</td>"
    table = {"columns": [{"head": name, "align": "left"}], "rows": [{"cells": [name]}]}
    document = {
        "elements": [
            *({"text": name, "tone": tone} for tone in ("plain", "heading", "verbatim")),
            {"text": "1. # no list", "tone": "plain"},
            {"facts": [[name, name]], "is_list": True},
            {"table": {**table, "left_out": [5, name]}},
        ]
    }
    html, markdown = html_of(document), markdown_of(document)
    assert problems_of(html.encode()) == problems_of(markdown.encode()) == []
    tags = {tag.split()[0] for tag in re.findall("</?([^>]*)>", html)}
    assert tags == {"div", "p", "h4", "pre", "b", "table", "tr", "th", "td"}
    assert html.count("&lt;script&gt;&amp;|`*_[a]") == 8
    outside = re.sub("^    .*$", "", markdown, flags=re.MULTILINE)  # but the block of code
    assert not re.search(r"(?<!\\)(?:[`_@\[]|\*(?!\*))|https://|<(?!br>)", outside)
    assert outside.count("|") - outside.count("\\|") == 6
    assert "1\\. \\# no list" in outside


def test_the_view_of_the_tree_shows_names_as_text(hostile: Hostile) -> None:
    status, written = run_here(hostile.words(["tree", "TRACE"]), columns=300, cwd=hostile.folder)
    assert status == 0
    assert b"7777" in written
    assert b"\x1b[7777" not in written
    assert b"\x1b]7777" not in written
    assert "\u202e" not in written.decode()


def test_both_functions_take_the_same_characters_out(tmp_path: Path) -> None:
    from peakline import _report
    from peakline.text.document import facts_of

    codes = [*range(1, 0xD800), *range(0xE000, 0x110000)]
    for begin in range(0, len(codes), 60_000):  # as many as a chunk of a trace holds
        text = "".join(map(chr, codes[begin : begin + 60_000]))
        writer = _report.TraceWriter(str(tmp_path / "part.peak"), 0)
        writer.meta("argv", text)
        writer.mark(0, 1, 0)
        writer.alloc(1, writer.context(writer.node(0, "a.py", 1, "f"), 0), 0, 0, 512, 512, 1 << 30)
        writer.finish()
        facts = facts_of(_report.Trace(str(tmp_path / "part.peak")).document("summary"))
        (tmp_path / "part.peak").unlink()
        assert dict(facts)["Command"] == printable(text)
