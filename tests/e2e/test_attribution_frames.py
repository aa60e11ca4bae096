"""Recorded stacks are those that `traceback` sees, frame for frame."""

from __future__ import annotations

from collections import Counter

from lab import Lab

# file, line, function of each frame, leaf first.
Stack = tuple[tuple[str, int, str], ...]


def test_stacks_are_those_of_traceback_in_every_kind_of_code(each_lab: Lab) -> None:
    run = each_lab.once("known_frames.py")
    expected_bytes: Counter[Stack] = Counter()
    expected_count: Counter[Stack] = Counter()
    for size, frames in run.said["stacks"]:
        stack = tuple(tuple(frame) for frame in frames)
        expected_bytes[stack] += size
        expected_count[stack] += 1
    table = each_lab.table(
        run.trace, "--at", "end", "--by", "stack", "--measure", "requested", "--top", "0"
    )
    found = {
        tuple((frame["file"], frame["line"], frame["function"]) for frame in row["stack"]): (
            row["bytes"],
            row["count"],
        )
        for row in table["rows"]
    }
    expected = {stack: (expected_bytes[stack], expected_count[stack]) for stack in expected_bytes}
    assert len(expected) > 60
    assert found == expected


def test_a_gradient_belongs_to_the_line_of_its_forward(each_lab: Lab) -> None:
    run = each_lab.once("forward_lines.py")
    table = each_lab.table(
        run.trace, "--at", "end", "--frame", "user", "--measure", "requested", "--top", "0"
    )
    found = {
        str(row["location"]["line"]): row["backward_bytes"]
        for row in table["rows"]
        if row["backward_bytes"]
    }
    assert found == run.said["gradients"]


def test_what_backward_did_not_allocate_is_not_called_backward(each_lab: Lab) -> None:
    run = each_lab.once("known_sizes.py")
    table = each_lab.table(run.trace)
    assert [row["backward_bytes"] for row in table["rows"]] == [0] * len(table["rows"])
