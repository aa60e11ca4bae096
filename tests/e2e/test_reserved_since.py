"""`peakline leaks --measure reserved --since`: torch's own list of segments is the oracle."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import peakline
import pytest
from lab import PROGRAMS, Lab, Run

PROGRAM = "reserved_grows.py"
LINES = (PROGRAMS / PROGRAM).read_text().splitlines()


def line_of(text: str) -> int:
    return next(number for number, line in enumerate(LINES, 1) if line.strip().startswith(text))


@pytest.fixture(scope="module")
def run(lab: Lab) -> Run:
    run = lab.run(PROGRAM)
    assert run.status == 0, run.stderr
    return run


def explained(lab: Lab, trace: Path, *words: str) -> dict[str, Any]:
    done = lab.peakline("leaks", "--measure", "reserved", "--json", *words, str(trace))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_rows_are_torchs_new_segments_and_sum_to_the_growth(lab: Lab, run: Run) -> None:
    then, now = run.said["then"], run.said["now"]
    found = explained(lab, run.trace, "--since", "step@3")
    assert found["begin_bytes"] == sum(total for total, _ in then.values())
    assert found["end_bytes"] == sum(total for total, _ in now.values())
    assert sum(row["bytes"] for row in found["rows"]) == found["delta_bytes"]
    grown = [row for row in found["rows"] if row["bytes"] > 0]
    # An address may come again with another size.
    new = [now[one] for one in now if one not in then or then[one][0] != now[one][0]]
    assert sum(row["pieces"] for row in grown) == len(new) > 3
    assert sum(row["bytes"] for row in grown) == sum(total for total, _ in new)
    assert sum(row["live_bytes"] for row in grown) == sum(live for _, live in new)
    [gone] = [row for row in found["rows"] if row["bytes"] < 0]
    assert gone["bytes"] == found["delta_bytes"] - sum(total for total, _ in new) == -300 << 20
    assert gone["line"] == "segments from before that returned to the device"
    request, keeper = line_of("temporary = "), line_of("return torch.empty((9 + 4")
    assert {re.search(r":(\d+) ", row["line"])[1] for row in grown} == {str(request)}
    assert {re.search(r":(\d+) ", row["keeper"])[1] for row in grown if row["keeper"]} == {
        str(keeper)
    }
    assert max(row["largest_request_bytes"] for row in grown) == (12 + 4 * 7) << 20


def test_python_has_the_rows_and_the_text_of_the_command(lab: Lab, run: Run) -> None:
    with peakline.open(run.trace) as recording:
        report = peakline.reserved_growth(recording, since="step@3", full_paths=True)
        with pytest.raises(ValueError, match="has no such step"):
            peakline.reserved_growth(recording, since="step@3000")
    told = explained(lab, run.trace, "--since", "step@3")
    assert [asdict(row) for row in report] == told["rows"]
    assert report.document == told
    printed = lab.peakline("leaks", "--measure", "reserved", "--since", "step@3", str(run.trace))
    assert str(report) in printed.stdout


def test_without_a_moment_all_segments_are_new(lab: Lab, run: Run) -> None:
    found = explained(lab, run.trace)
    assert found["begin_bytes"] == 0
    assert sum(row["bytes"] for row in found["rows"]) == found["end_bytes"]
    assert all(row["bytes"] > 0 for row in found["rows"])


def test_growth_of_expandable_segments_sums_as_well(lab: Lab) -> None:
    settings = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
    run = lab.run(PROGRAM, environment=settings)
    then, now = run.said["then"], run.said["now"]
    found = explained(lab, run.trace, "--since", "step@3")
    assert found["begin_bytes"] == sum(total for total, _ in then.values())
    assert found["end_bytes"] == sum(total for total, _ in now.values())
    assert sum(row["bytes"] for row in found["rows"]) == found["delta_bytes"]
    assert "unknown" not in {row["line"] for row in found["rows"]}


def test_the_text_names_request_and_keeper(lab: Lab, run: Run) -> None:
    trace = str(run.trace)
    done = lab.peakline("leaks", "--measure", "reserved", "--since", "step@3", trace)
    lines = done.stdout.splitlines()
    assert re.fullmatch(
        r"Reserved memory of device 0: .* at .*, .* at the end: -?\+?\S+ MB", lines[0]
    )
    assert lines[1].split() == ["Change", "Pieces", "First", "Requested", "at"]
    assert re.search(
        r"kept by blocks of \S*reserved_grows\.py:\d+ \(work\): \S+ MB live", done.stdout
    )


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--since", "3"], "--since needs --measure reserved"),
        (["--measure", "reserved", "--since", "yesterday"], "give seconds, step@N or 2030-"),
        (["--measure", "reserved", "--since", "step@99"], "has no such step"),
        (["--measure", "reserved", "--since", "2001-01-01"], "is before the recording began"),
        (["--measure", "reserved", "--by", "module"], "has rows of lines"),
    ],
)
def test_bad_use_is_refused(lab: Lab, run: Run, words: list[str], error: str) -> None:
    done = lab.peakline("leaks", *words, str(run.trace))
    assert (done.returncode, error in done.stderr) == (2, True), done.stderr
