"""What a newcomer types: words in the wrong place, names that cannot be written, no name at all."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import NEEDS_ENGINE, ROOT, TRACE

sys.path.insert(0, str(ROOT / "pyhook"))

pytestmark = NEEDS_ENGINE


@pytest.fixture
def typed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Any:
    """Runs a command in this process, in a folder with a script; returns status, out and err."""
    from peakline.commands import main

    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.py").write_text("import nothing_that_exists\n")
    (tmp_path / "adir").mkdir()
    os.mkfifo(tmp_path / "pipe")

    def run(*words: str | Path) -> tuple[int, str, str]:
        try:
            status = main([str(word) for word in words])
        except SystemExit as error:
            status = int(error.code or 0)
        return (status, *capsys.readouterr())

    return run


def trace_in(folder: Path, name: str = "run.peak") -> Path:
    path = folder / name
    path.write_bytes(TRACE.read_bytes())
    return path


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("g.peak", "g.peak is a trace: peakline table g.peak"),
        ("new.py --epochs 1", "peakline run new.py --epochs 1"),
        ("prog.py", "peakline run prog.py"),
        ("adir", "peakline table adir"),
        ("tabl g.peak", "there is no command 'tabl'; did you mean table?"),
        ("moon", "there is no command 'moon'; peakline --help lists them"),
        ("--simulate h200 run x.py", "peakline run --simulate h200 x.py"),
        ("run --simulate prog.py --epochs 1", "'prog.py' is a program, and a device comes first"),
        ("run --simulate h2000 prog.py", "called 'h2000'; known are: h200, "),
        ("run --simulate h2000 prog.py", "; did you mean h200?"),
        ("run --simulate a10-40:20GiB prog.py", "; did you mean a100-40?"),
        ("run --simulate rtx4071x2:8GiB prog.py", "; did you mean rtx4070?"),
        ("run --simulate h100:1g.11gb prog.py", "known are: h100:1g.10gb, h100:1g.20gb, "),
        ("run --simulate h100:1g.11gb prog.py", "; did you mean h100:1g.10gb?"),
        ("run --simulate t4:1g.5gb prog.py", "no slices of t4 are known, but of h200, "),
        ("run --simulate h100x2:1g.10gb prog.py", "a program sees one slice of a GPU"),
        ("run prog.py --lr 1 --simulate h200", "peakline run --simulate h200 prog.py --lr 1"),
        ("run -m pkg --simulate=h200x2 -v", "peakline run --simulate h200x2 -m pkg -v"),
        ("run --device h2000 prog.py", "did you mean h200?"),
        ("fit --simulate h2000 prog.py", "did you mean h200?"),
        ("advise --try prog.py --simulate h2000", "did you mean h200?"),
        ("run adir", "adir is a folder without __main__.py"),
        ("run -o prog.py prog.py", "prog.py exists: name another file with -o, or add --force"),
        ("run -o prog.py/x.peak prog.py", "cannot write prog.py/x.peak: prog.py is no folder"),
        ("run -o /proc/x/y.peak prog.py", "cannot write /proc/x/y.peak: "),
        ("run -f -o pipe prog.py", "pipe is no regular file"),
        (f"run -o {'x' * 300}.peak prog.py", "File name too long"),
        ("run --mode 0755 prog.py", "'0755' is no mode"),
        ("run run.peak", "run.peak is a trace; to show it: peakline table run.peak"),
        ("--simulate h200", "options follow a command, as in peakline run --simulate ..."),
        ("--simulate h200 prog.py", "peakline run --simulate h200 prog.py"),
        ("--by category run.peak", "peakline table --by category run.peak"),
        ("export run.peak", "the format comes first: peakline export speedscope run.peak"),
        ("table ruin.peak", "ruin.peak does not exist; did you mean run.peak?"),
        ("events ruin.peak", "ruin.peak does not exist; did you mean run.peak?"),
        ("table prog.py", "prog.py is a program, no trace; to record it: peakline run prog.py"),
        ("table --frame usr run.peak", "'usr' (choose from"),
        ("table --frame usr run.peak", "; did you mean user?"),
        ("table --measure alocated run.peak", "; did you mean allocated?"),
        ("tree run.peak run.peak", "a tree is of one trace"),
    ],
)
def test_words_in_the_wrong_place_are_named_with_what_to_type(
    typed: Any, tmp_path: Path, words: str, told: str
) -> None:
    trace_in(tmp_path)
    status, out, err = typed(*words.split())
    assert (status, out) == (2, "")
    assert err.splitlines()[-1].startswith("peakline: error: ")
    assert told in err.splitlines()[-1]


def test_help_of_a_command_is_asked_for_in_two_ways(typed: Any) -> None:
    for words in (["table"], ["run"], []):
        assert typed("help", *words) == typed(*words, "--help")
    status, _, err = typed("help", "tabl")
    assert status == 2
    assert "did you mean table?" in err


def test_without_a_name_a_report_is_of_the_newest_run_here(typed: Any, tmp_path: Path) -> None:
    status, _, err = typed("table")
    assert status == 2
    assert "there is no trace in this folder" in err
    assert "peakline run SCRIPT.py" in err
    trace_in(tmp_path)
    named = typed("table", "--top", "1", "run.peak")
    status, out, err = typed("table", "--top", "1")
    assert (status, out) == named[:2]
    assert err == "peakline: run.peak:\n" + named[2]


def test_a_tree_and_events_and_a_page_take_the_newest_run_here(typed: Any, tmp_path: Path) -> None:
    trace_in(tmp_path)
    for words in (["tree", "--plain"], ["events", "--top", "3"]):
        named = typed(*words, "run.peak")
        assert typed(*words) == (0, named[1], "peakline: run.peak:\n" + named[2])
    status, _, err = typed("html")
    assert (status, (tmp_path / "run.html").is_file()) == (0, True)
    assert err.startswith("peakline: run.peak:\n")


def test_a_refused_word_has_a_short_usage(typed: Any) -> None:
    assert typed("table", "--jsn")[2].splitlines() == [
        "usage: peakline table [options] [FILE ...]    (peakline table --help shows them)",
        "peakline: error: peakline table has no option --jsn; did you mean --json?",
    ]


def test_every_command_works_twice_in_a_process(typed: Any, tmp_path: Path) -> None:
    from peakline.commands import all_commands, commands_for
    from peakline.commands.shared.reports import REPORTS

    trace_in(tmp_path)
    for command in all_commands():
        assert commands_for([command.name]) == [command]  # nothing else is imported
        assert typed(command.name, "--help") == typed(command.name, "--help")
    for report in REPORTS:
        first = typed(report.name, "run.peak")
        assert first[0] in (0, 2)
        assert typed(report.name, "run.peak") == first


@pytest.mark.parametrize(
    "command", ["html", "pack", "export speedscope", "export csv", "export torch-snapshot", "plot"]
)
def test_what_cannot_be_written_is_said_in_one_line(
    typed: Any, tmp_path: Path, command: str
) -> None:
    trace = trace_in(tmp_path)
    os.mkfifo(tmp_path / "pipe.png")  # a name that plot takes
    (tmp_path / "folder.png").mkdir()
    (tmp_path / "old.png").touch()
    for output, options, why in (
        ("prog.py/out.png", [], "prog.py/"),  # also for root no folder
        ("pipe.png", ["--force"], "pipe.png is no regular file"),
        ("folder.png", ["--force"], "folder.png is a folder"),
        ("old.png", [], "old.png exists"),
    ):
        status, out, err = typed(*command.split(), trace, "-o", output, *options)
        assert (status, out) == (2, ""), output
        [line] = err.splitlines()
        assert line.startswith("peakline: error: ")
        assert why in line
    assert (tmp_path / "pipe.png").is_fifo()


def test_a_short_text_is_no_trace_and_a_short_trace_is_cut(typed: Any, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("hello\n")
    (tmp_path / "cut.peak").write_bytes(TRACE.read_bytes()[:11])
    for name, why in (("text.txt", "is not a peakline trace"), ("cut.peak", "was the copy cut")):
        status, _, err = typed("table", name)
        assert status == 2
        assert why in err


def test_a_trace_is_not_imported_but_shown(typed: Any, tmp_path: Path) -> None:
    trace_in(tmp_path)
    status, _, err = typed("import", "run.peak")
    assert status == 2
    assert err == "peakline: error: run.peak is a trace already: peakline table run.peak\n"


def test_one_process_is_not_compared(typed: Any, tmp_path: Path) -> None:
    trace_in(tmp_path)
    status, out, _ = typed("ranks", "run.peak")
    assert status == 0
    assert out == "run.peak is the only process of its run: there is nothing to compare\n"


def test_a_misspelt_phase_is_corrected(typed: Any, tmp_path: Path) -> None:
    trace_in(tmp_path)
    for word, meant in (("fforward", "forward"), ("backwrd@1", "backward"), ("paek", "peak")):
        status, _, err = typed("table", "run.peak", "--at", word)
        assert status == 2
        assert f"phase '{word}' is not in this trace; did you mean {meant}?" in err


def test_next_commands_are_no_wider_than_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    from peakline.base import next_commands

    commands = [("table run.peak", "a" * 40), ("html run.peak", "")]
    wide = "Next: peakline table run.peak  " + "a" * 40 + "\n      peakline html run.peak"
    for columns, text in (
        (0, wide),
        (71, wide),
        (70, wide.replace("run.peak  a", "run.peak\n          a")),
    ):
        monkeypatch.setattr(next_commands, "terminal_width", lambda _, columns=columns: columns)
        assert next_commands.next_commands(commands) == text.split("\n")


def test_a_wide_next_command_is_broken_between_words(monkeypatch: pytest.MonkeyPatch) -> None:
    from peakline.base import next_commands

    monkeypatch.setattr(next_commands, "terminal_width", lambda _: 60)
    command = "run --simulate h200 '/data/my runs/long name/train.py' --epochs 1"
    lines = next_commands.next_commands([(command, "on a simulated GPU, " * 4)])
    assert lines == [
        "Next: peakline run --simulate h200 \\",
        "          '/data/my runs/long name/train.py' --epochs 1",
        "          on a simulated GPU, on a simulated GPU, on a",
        "          simulated GPU, on a simulated GPU,",
    ]
    joined = "\n".join(lines[:2]).removeprefix("Next: ").replace("\\\n", "")
    assert shlex.split(joined) == shlex.split(f"peakline {command}")


@pytest.mark.parametrize(
    ("verdicts", "suggested"),
    [
        (["fits", "fits", "too small"], "peakline run --simulate h100 train.py --batch 16"),
        (["fits", "too small", "skipped"], "peakline run --simulate h100 train.py --batch 8"),
        (["too small", "skipped", "skipped"], "peakline run --simulate h100 train.py --batch 24"),
    ],
)
def test_fit_suggests_the_largest_run_that_fits(verdicts: list[str], suggested: str) -> None:
    from peakline.trials.fit_report import report
    from peakline.trials.fitting import Attempt, Outcome

    values = ["8", "16", "24"]
    attempts = [Attempt("h100", value, ["train.py", "--batch", value]) for value in values]
    outcomes = [
        Outcome("h100", value, verdict) for value, verdict in zip(values, verdicts, strict=True)
    ]
    *_, last = report("batch", attempts, outcomes, {})
    assert last.startswith(f"Next: {suggested}  ")


def test_names_of_traces_are_absolute_and_found_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from peakline.launch.output_name import absolute_template, with_slash
    from peakline.launch.trace_files import folders_of, shown_name

    here = tmp_path / "50%e"
    (here / "runs").mkdir(parents=True)
    monkeypatch.chdir(here)
    folder = str(here).replace("%", "%%")
    assert absolute_template("") == f"{folder}/"
    assert absolute_template("x-%p.peak") == f"{folder}/x-%p.peak"
    assert absolute_template("/y/%h.peak") == "/y/%h.peak"
    assert with_slash("runs") == with_slash("runs/") == "runs/"
    assert with_slash("new.peak") == "new.peak"
    for output, folders in (
        ("", [Path()]),
        ("./x.peak", [Path()]),
        ("runs/", [Path("runs")]),
        ("../50%%e/runs/%p.peak", [Path("../50%e/runs")]),
        (f"{folder}/x.peak", [here]),
    ):
        assert list(folders_of(output)) == folders, output
    name = shown_name("runs/", ["train.py"], None, "12345678", of_ranks=False)
    assert name.startswith("runs/peakline-train.")
    assert name.endswith(".*.peak")


def test_options_behind_the_program_are_told_when_nothing_was_recorded() -> None:
    from peakline.commands.running.misplaced_options import misplaced
    from peakline.launch.run_end import RunEnd

    words = ["prog.py", "--keep", "peak", "--epochs=1", "--html"]
    assert misplaced(words, ["--keep", "--html", "-o"]) == ["--keep", "--html"]
    assert misplaced(["--", *words], ["--keep"]) == []
    assert misplaced(["prog.py", "--help"], ["--help"]) == []
    text = RunEnd(1, True, words, misplaced=["--keep"]).why_nothing()
    assert text.splitlines()[1] == (
        "The program got --keep: options of peakline run stand before the program"
    )
    alone = RunEnd(0, False, words, has_torch=False).why_nothing()
    assert "simulate" not in alone


def test_options_behind_a_script_that_does_not_name_them_are_told_before_it_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from peakline.commands.running.misplaced_options import hint_of_options_behind, misplaced

    def hint_of(*program: str) -> str:
        behind = misplaced(program, ["--keep", "--no-command", "--help"])
        return hint_of_options_behind(program, behind)

    monkeypatch.chdir(tmp_path)
    Path("prog.py").write_text("class Arguments:\n    no_command: bool\n")
    hint = hint_of("prog.py", "--keep", "peak", "--no-command")
    assert "prog.py gets --keep, which it does not name" in hint
    assert "peakline run --keep ... prog.py" in hint
    for program in (["prog.py", "--no-command"], ["prog.py", "--help"], ["-m", "x", "--keep"]):
        assert hint_of(*program) == ""
