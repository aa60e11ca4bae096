"""Recorded stacks are those that `traceback` sees, frame for frame."""

from __future__ import annotations

from collections import Counter

from lab import Lab

# file, line, function of each frame, leaf first.
Stack = tuple[tuple[str, int, str], ...]
ENGINE_CALL = "_engine_run_backward"


def test_stacks_are_those_of_traceback_in_every_kind_of_code(each_lab: Lab) -> None:
    run = each_lab.once("known_frames.py")
    expected_bytes: Counter[Stack] = Counter()
    expected_count: Counter[Stack] = Counter()
    for size, frames in run.said["stacks"]:
        names = [name for _, _, name in frames]
        end = names.index(ENGINE_CALL) if ENGINE_CALL in names else len(names)
        stack = tuple(tuple(frame) for frame in frames[:end])
        expected_bytes[stack] += size
        expected_count[stack] += 1
    table = each_lab.table(
        run.trace, "--at", "end", "--by", "stack", "--measure", "requested", "--top", "0"
    )
    # In the backward pass traceback sees the frames of that thread; in ours the forward stack of
    # the node follows them from where the engine called.
    found_bytes: Counter[Stack] = Counter()
    found_count: Counter[Stack] = Counter()
    continued = []
    for row in table["rows"]:
        stack = tuple((frame["file"], frame["line"], frame["function"]) for frame in row["stack"])
        ends = range(len(stack), 0, -1)
        seen = next((stack[:end] for end in ends if stack[:end] in expected_bytes), stack)
        found_bytes[seen] += row["bytes"]
        found_count[seen] += row["count"]
        continued += [stack] if seen != stack else []
    found = {stack: (found_bytes[stack], found_count[stack]) for stack in found_bytes}
    assert len(continued) >= 8
    assert {stack[-1][2] for stack in continued} == {"<module>"}
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
