"""What is allocated outside the traced range is `untraced`; the table's text has a fixed form."""

from __future__ import annotations

from checks import without_device
from lab import PROGRAMS, Lab

PROGRAM = PROGRAMS / "traced_range.py"


def line_of(text: str) -> int:
    """The number of the first line of the program that has this text."""
    lines = PROGRAM.read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


INSIDE = f"{PROGRAM}:{line_of('return torch.empty')} (allocate)  via aten::empty"
PEAK = f"""\
Max mem: 80.00 MB
Total mem allocated: 72.00 MB
Mem, Cumulative Mem, Median, Count, Location
42.00 MB  42.00 MB  12.00 MB  3  {INSIDE}
30.00 MB  72.00 MB  30.00 MB  1  {PROGRAM}:{line_of("passing =")} (<module>)  via aten::empty
8.000 MB  80.00 MB  4.000 MB  2  untraced
"""
END = f"""\
Max mem: 80.00 MB
Total mem allocated: 72.00 MB
Live at the end: 547.0 MB
Mem, Cumulative Mem, Median, Count, Location
505.0 MB  505.0 MB  252.5 MB  2  untraced
42.00 MB  547.0 MB  12.00 MB  3  {INSIDE}
"""


def test_the_program_prints_its_own_table_without_the_preload(each_lab: Lab) -> None:
    said = each_lab.run("traced_range.py", "report", recorded=False).stdout
    assert without_device(said) == PEAK


def test_what_was_made_before_start_and_after_stop_is_untraced(lab: Lab) -> None:
    assert without_device(lab.run("traced_range.py", recorded=False).stdout) == END


def test_the_programs_own_table_is_that_of_the_trace_file(each_lab: Lab) -> None:
    run = each_lab.run("traced_range.py", "under-run", "report")
    assert without_device(run.stdout) == PEAK
    assert without_device(each_lab.report("table", run.trace, "--top", "0")) == PEAK
