"""Figures that may mislead, as the public asks about them: what is said beside them, and where."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from asking import PROGRAMS, Thread, cause_of, judge
from peakline._report import Trace

TOO_LOW = "The peak may be too low: 8 sizes were read from the simulated GPU as 0"
ROUNDED = r"280\.0 MB were asked for, 512\.0 MB given: torch rounds"

THREADS = (
    Thread("experts_by_value", (TOO_LOW, r"{cause}.*aten::nonzero")),
    Thread("twin_experts_even", (r"wrote .*run\.peak",), never=("too low",)),
)


@pytest.mark.parametrize("thread", THREADS, ids=lambda one: one.program)
def test_the_end_of_the_run_says_so(lab: Any, thread: Thread) -> None:
    judge(lab, thread)


REPORTS = (
    *("table", "summary", "stats", "phases", "layers", "ops", "stages", "tensors"),
    *("leaks", "advise", "whatif", "fragmentation", "map", "timeline", "ledger"),
)
COMMANDS = (
    ("check", "--max-peak", "70GB"),
    ("diff", "TRACE"),
    ("ranks", "--json"),
)


@pytest.mark.parametrize("program", ["experts_by_value", "twin_experts_even"])
def test_every_command_that_states_a_size_says_so(lab: Any, program: str) -> None:
    trace = recorded(lab, program)
    is_low = program == "experts_by_value"
    opened = Trace(str(trace))
    for name in REPORTS:
        for json_form in (False, True):
            assert (TOO_LOW in opened.report(name, json=json_form)) is is_low, (name, json_form)
    for command, *words in COMMANDS:
        asked = [str(trace) if word == "TRACE" else word for word in words]
        done = lab.peakline(command, *asked, str(trace))
        assert done.returncode == 0, (command, done.stderr)
        assert (TOO_LOW in done.stdout) is is_low, (command, done.stdout)
    page = trace.with_suffix(".html")
    assert lab.peakline("html", "-o", str(page), str(trace)).returncode == 0
    assert (f"<p class=warn>{TOO_LOW}" in page.read_text()) is is_low


def test_the_list_has_the_cause(lab: Any) -> None:
    document = json.loads(lab.report("summary", recorded(lab, "experts_by_value"), "--json"))
    assert document["sizes_read_as_zero"] == 8
    reads = document["table"]["value_reads"]
    sizes = {read["key"].split(" (")[0] for read in reads if read["effect"] == "size"}
    assert {Path(one).name for one in sizes} == {cause_of(PROGRAMS / "experts_by_value.py")}


def test_a_killed_run_says_so_too(lab: Any, tmp_path: Path) -> None:
    program = tmp_path / "killed.py"
    source = (PROGRAMS / "experts_by_value.py").read_text()
    program.write_text(source + "\nimport os\nos.kill(os.getpid(), 9)\n")
    run = lab.recorded(tmp_path, str(program))
    assert run.status in (-9, 137)
    assert TOO_LOW in lab.report("whatif", run.trace)


def recorded(lab: Any, program: str) -> Path:
    """Return the trace of a program, which runs once."""
    folder = lab.folder / f"figures-{program}"
    trace = folder / "run.peak"
    if not trace.exists():
        run = lab.recorded(folder, str(PROGRAMS / f"{program}.py"))
        assert run.status == 0, run.stderr
    return trace


@pytest.mark.parametrize(
    ("program", "asked"), [("pinned_powers", 280 << 20), ("twin_pinned_exact", 256 << 20)]
)
def test_pinned_memory_shows_its_rounding(lab: Any, program: str, asked: int) -> None:
    trace = recorded(lab, program)
    is_rounded = program == "pinned_powers"
    table = lab.table(trace, "--device", "pinned")
    given = 512 << 20 if is_rounded else asked
    assert table["pinned"] == {
        "given_bytes": given,
        "least_asked_bytes": asked,
        "most_asked_bytes": asked,
    }
    assert table["total_bytes"] == given
    if is_rounded:
        key = table["rows"][0]["key"].split(" (")[0]
        assert key.endswith(cause_of(PROGRAMS / f"{program}.py"))
    text = lab.report("table", trace, "--device", "pinned")
    assert ("280.0 MB were asked for, 512.0 MB given: torch rounds" in text) is is_rounded
    assert lab.table(trace)["pinned"] is None
    line = next(
        line for line in lab.report("summary", trace).splitlines() if line.startswith("Pinned peak")
    )
    assert "in blocks that torch rounds up to powers of two" in line
    assert "requested" not in line
