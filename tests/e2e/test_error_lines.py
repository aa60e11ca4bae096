"""No error becomes a traceback, and a part of a trace that is faulty costs that part alone."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lab import ROOT

sys.path.insert(0, str(ROOT / "pyhook"))

import peakline  # noqa: E402
from peakline import _report  # noqa: E402
from peakline.base import faults  # noqa: E402
from peakline.commands import main  # noqa: E402
from peakline.commands.running import after_run  # noqa: E402
from peakline.commands.shared.reports import REPORTS  # noqa: E402
from peakline.exports import FORMATS  # noqa: E402
from peakline.launch.run_end import RunEnd  # noqa: E402

MIB = 1 << 20
UNKNOWN = 999


@pytest.fixture(autouse=True)
def _without_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PEAKLINE_TRACEBACK", raising=False)


def begin(path: Path, settings: str = "") -> Any:
    writer = _report.TraceWriter(str(path), 1_700_000_000_000_000_000)
    if settings:
        writer.meta("allocator_settings", settings)
    writer.mark(0, 1, 0)
    return writer


def allocate(writer: Any, tick: int = 1, line: int = 1) -> int:
    context = writer.context(writer.node(0, "/a/model.py", line, "forward"), 0)
    return writer.alloc(tick, context, 0, 0, 500, 512, 1 << 30)


@pytest.fixture
def strange(tmp_path: Path) -> Path:
    """A trace whose events name what nothing defines."""
    path = tmp_path / "strange.peak"
    writer = begin(path)
    writer.segment(1, 1, 0, UNKNOWN, 1 << 30, 2 * MIB)
    writer.segment(1, 1, 1 << 40, 0, 1 << 30, 2 * MIB)
    allocate(writer)
    for kind in (3, 4, 5, 6):
        writer.mark(2, kind, UNKNOWN)
    writer.alloc(3, UNKNOWN, 0, UNKNOWN, 500, 512, (1 << 30) + 512)
    writer.oom(4, UNKNOWN, 0, MIB, 0)
    writer.oom(4, 0, 1 << 40, MIB, 0)
    writer.mark(5, 8, 0)
    writer.finish()
    return path


def commands(path: Path, folder: Path) -> Iterator[list[str]]:
    for one in REPORTS:
        yield [one.name, str(path)]
        yield [one.name, str(path), "--json"]
    for name in FORMATS:
        yield ["export", name, str(path), "-o", str(folder / name)]
    yield ["html", str(path), "-o", str(folder / "page.html")]
    yield ["events", str(path)]
    yield ["advise", str(path)]
    yield ["live", "--once", str(path)]
    yield ["diff", str(path), str(path)]


def test_ids_that_nothing_defines_are_named_once_and_cost_nothing_else(
    strange: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = []
    for words in commands(strange, tmp_path):
        status = main(words)
        err = capsys.readouterr().err
        assert status in (0, 2), words
        assert "fault of peakline" not in err, words
        if status == 0:
            done.append(words[0])
    assert done.count("export") == len(FORMATS)
    table = peakline.open(strange).document("table", top=0)
    problems = "\n".join(table["problems"])
    assert "events name a thread, stream, context or text that is not defined" in problems
    assert "2 events name a device that cannot be" in problems
    assert table["peak_bytes"] == 1024


@pytest.mark.parametrize("settings", ["b'max_split_size_mb:400'", "new_setting:1", "\x1b[31m:x"])
def test_allocator_settings_that_cannot_be_read_cost_no_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], settings: str
) -> None:
    path = tmp_path / "settings.peak"
    writer = begin(path, settings)
    writer.segment(1, 1, 0, 0, 1 << 30, 2 * MIB)
    allocate(writer)
    writer.oom(4, 0, 0, MIB, 0)
    writer.finish()
    refused = {"whatif"}  # is about the settings
    for words in commands(path, tmp_path):
        status = main(words)
        err = capsys.readouterr().err
        if words[0] in refused:
            assert status == 2
            assert "allocator settings" in err
        elif words[0] in ("html", "map", "fragmentation", "oom", "export", "table"):
            assert (status, words) == (0, words), err
    assert "map" in (tmp_path / "page.html").read_text()
    main(["fragmentation", str(path), "--json"])
    assert "torch's defaults" in json.loads(capsys.readouterr().out)["settings_fault"]


def test_what_peakline_did_not_expect_is_one_line_and_status_2(
    strange: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> int:
        raise KeyError("requested\nof a trace")

    monkeypatch.setattr("peakline.commands.events.run", fail)
    assert main(["events", str(strange)]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("peakline: error: this is a fault of peakline (KeyError:")
    assert "please report it" in line
    assert "PEAKLINE_TRACEBACK=1 shows where" in line
    monkeypatch.setenv("PEAKLINE_TRACEBACK", "1")
    with pytest.raises(KeyError):
        main(["events", str(strange)])


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MemoryError(), "memory ran out"),
        (PermissionError(13, "Permission denied", "/x/y"), "/x/y: Permission denied"),
        (_report.TraceError("a.peak: cut"), "a.peak: cut"),
        (RecursionError("deep"), "fault of peakline (RecursionError: deep"),
    ],
    ids=["memory", "file", "trace", "other"],
)
def test_an_error_is_a_sentence(error: Exception, words: str) -> None:
    assert words in faults.sentence_of(error)


def test_a_command_can_be_given_twice_in_a_process(
    strange: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [main(["timeline", str(strange)]) for _ in range(2)] == [0, 0]
    assert capsys.readouterr().err.count("Next:") == 2


def test_the_end_of_a_run_goes_on_behind_a_part_that_fails(
    strange: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **_options: object) -> None:
        raise _report.TraceError("the table of today is broken")

    monkeypatch.setattr(after_run, "show_report", fail)
    monkeypatch.setattr(after_run, "growth_lines", fail)
    monkeypatch.setattr(after_run, "fault_line", fail)
    cut = strange.with_name("cut.peak")
    cut.write_bytes(b"no trace")
    after_run.report([strange, cut], RunEnd(0, True, ["x.py"]), 5)
    said = capsys.readouterr().err
    assert "peakline: the table is missing: the table of today is broken" in said
    assert "peakline: what grows is not known: the table of today is broken" in said
    assert "peakline: what could be mended is not known: the table of today is broken" in said
    assert f"peakline: a trace cannot be read: {cut}" in said
    assert f"peakline: wrote {strange}" in said
    assert f"peakline table --by category {strange}" in said


def test_a_program_keeps_its_status_whatever_becomes_of_the_report(
    lab: Any, tmp_path: Path
) -> None:
    # torch takes this; peakline reads it as a setting that it does not know.
    program = tmp_path / "settings.py"
    program.write_text(
        "import torch\n"
        "torch.cuda.memory._set_allocator_settings(b'max_split_size_mb:400')\n"
        "x = torch.empty(1000, device='cuda')\n"
        "try:\n"
        "    torch.empty(1 << 50, device='cuda')\n"
        "except torch.OutOfMemoryError:\n"
        "    pass\n"
    )
    run = lab.recorded(tmp_path, str(program), options=["--html"])
    assert run.status == 0, run.stderr
    assert "Traceback" not in run.stderr
    assert "peakline: wrote " in run.stderr
    assert list(tmp_path.glob("*.html"))
