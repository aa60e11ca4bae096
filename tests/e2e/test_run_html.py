"""`peakline run --html` writes the page of the run, whatever becomes of the program."""

from __future__ import annotations

from pathlib import Path

from lab import Lab


def test_the_page_lies_beside_the_trace(lab: Lab) -> None:
    run = lab.run("ends_how.py", "oom", options=["--html"])
    assert run.status == 1
    page = run.trace.with_suffix(".html")
    assert f"peakline: wrote {page} (" in run.stderr
    assert "peakline</title>" in page.read_text()


WRITES_A_PAGE = """
from pathlib import Path
import torch
Path("run.html").write_text("mine")
torch.empty(1000, device="cuda")
"""


def test_a_page_that_cannot_be_written_is_no_failure(lab: Lab, tmp_path: Path) -> None:
    program = tmp_path / "writes_a_page.py"
    program.write_text(WRITES_A_PAGE)
    run = lab.run(program, options=["--html"])
    assert run.status == 0
    page = run.trace.with_suffix(".html")
    assert f"peakline: no page was written: {page} exists" in run.stderr
    assert page.read_text() == "mine"
    assert run.trace.exists()


def test_without_a_recording_there_is_nothing_to_show(lab: Lab) -> None:
    run = lab.run("ends_how.py", "whole", options=["--html"], recorded=False)
    assert run.status == 2
    assert "--html shows what was recorded: leave --no-record out" in run.stderr
