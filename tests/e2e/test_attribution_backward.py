"""The forward line behind every byte of the backward pass.

The oracles are anomaly mode, which keeps the forward stack of each node, with torch's counters
around each node, and programs that read torch's counters around each forward line and its
backward pass.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from lab import Lab, Run
from test_attribution_models import MODELS

NOT_BACKWARD = "made outside backward"


def bytes_by_node(lab: Lab, run: Run, by: str) -> dict[str, tuple[int, int]]:
    """Bytes and number of all allocations of the backward pass, by the key of their rows."""
    stats = json.loads(lab.report("stats", run.trace, "--json", "--by", by, "--full-paths"))
    rows = {row["key"]: (row["bytes"], row["count"]) for row in stats["by_bytes"]}
    assert rows.pop(NOT_BACKWARD)[0] > 0
    return rows


def test_every_node_has_the_stack_that_anomaly_mode_records(lab: Lab) -> None:
    pytest.importorskip("transformers")
    pytest.importorskip("torchvision")
    run = lab.once("anomaly_nodes.py")
    said = run.said
    texts = [
        "".join(f" <- {file}:{line} ({name})" for file, line, name in stack)
        for stack in said["stacks"]
    ]
    expected = {name + texts[stack]: (size, n) for name, stack, size, n in said["nodes"]}
    assert len(expected) > 250
    assert with_stacks_of(expected, bytes_by_node(lab, run, "node-stack")) == expected


def with_stacks_of(
    expected: dict[str, tuple[int, int]], found: dict[str, tuple[int, int]]
) -> dict[str, tuple[int, int]]:
    """Cut the stacks of nodes that were made in a backward pass as anomaly mode does.

    It keeps the frames of that thread only; ours go on with the forward stack around them.
    """
    cut: dict[str, tuple[int, int]] = {}
    for key, (size, count) in found.items():
        frames = key.split(" <- ")
        ends = range(len(frames), 1, -1)
        keys = (" <- ".join(frames[:end]) for end in ends)
        known = next((one for one in keys if one in expected), key)
        if known != key:
            assert frames[-1].endswith("(<module>)")
        cut[known] = (cut.get(known, (0, 0))[0] + size, cut.get(known, (0, 0))[1] + count)
    return cut


@pytest.mark.parametrize("model", MODELS)
def test_of_1000_bytes_of_a_backward_pass_999_have_a_forward_line(lab: Lab, model: str) -> None:
    rows = bytes_by_node(lab, lab.once(*MODELS[model]), "node")
    with_line = sum(size for key, (size, _) in rows.items() if " <- " in key)
    assert with_line >= 0.999 * sum(size for size, _ in rows.values()) > 0


def backward_bytes_by_line(lab: Lab, run: Run, by: str) -> dict[int, int]:
    options = ("--by", by, "--device", "all", "--frame", "user", "--at", "end")
    table: dict[str, Any] = lab.table(run.trace, *options, "--measure", "requested")
    rows = [row for row in table["rows"] if row["backward_bytes"]]
    assert [row["bytes"] for row in rows if by == "node"] == [
        row["backward_bytes"] for row in rows if by == "node"
    ]
    found: dict[int, int] = {}
    for row in rows:
        line = row["location"]["line"]
        found[line] = found.get(line, 0) + row["backward_bytes"]
    return found


@pytest.mark.parametrize("device", ["h200", "h200x2"])
def test_gradients_belong_to_the_node_of_their_forward_line(lab: Lab, device: str) -> None:
    run = lab.once("awkward_lines.py", device=device)
    if run.said["devices"] != int(device[5:] or 1):
        pytest.skip("another number of devices")
    expected = {int(line): size for line, size in run.said["gradients"].items()}
    assert len(expected) == 13
    assert backward_bytes_by_line(lab, run, "node") == expected


def test_what_the_engine_makes_has_its_forward_line_and_a_hook_its_own(lab: Lab) -> None:
    run = lab.once("awkward_lines.py", device="h200")
    expected = {int(line): size for line, size in run.said["gradients"].items()}
    for line, size in run.said["of_python"].items():
        expected[int(line)] -= size
    expected = {line: size for line, size in expected.items() if size}
    assert backward_bytes_by_line(lab, run, "line") == expected


def bytes_by_line(lab: Lab, run: Run, *words: str) -> dict[str, int]:
    """Return the bytes of each line, without those of a compilation, which an empty cache needs."""
    rows = json.loads(lab.report("stats", run.trace, *words))["by_bytes"]
    found = {row["key"].rpartition(" (")[0]: row["bytes"] for row in rows}
    return {
        line: size
        for line, size in found.items()
        if not line.startswith(("compilation for ", "autotuning for "))
    }


@pytest.mark.parametrize("options", [(), ("--compile",)])
def test_python_of_libraries_in_the_backward_pass_belongs_to_the_forward_line(
    lab: Lab, options: tuple[str, ...]
) -> None:
    run = lab.once("backward_python.py", *options)
    said = run.said
    words = ("--json", "--by", "line", "--frame", "user", "--full-paths", "--measure", "requested")
    found = bytes_by_line(lab, run, *words)
    expected = {f"{said['file']}:{line}": size for line, size in said["bytes"].items()}
    assert len(expected) == (7 if options else 6)
    assert {line: found[line] for line in expected} == expected
    assert [line for line in found if not line.startswith(said["file"])] == []
    # No line of torch or of what it generates is left without `--frame user`, either.
    files = {
        line.rpartition(":")[0] for line in bytes_by_line(lab, run, *words, "--frame", "caller")
    }
    assert {file.removeprefix("/opt/lib/python3.11/site-packages/") for file in files} == {
        said["file"],
        "fused/ops.py",
    }
    stats = json.loads(lab.report("stats", run.trace, *words, "--frame", "caller"))
    bmm = [
        row
        for row in stats["by_bytes"]
        if row["key"].startswith(f"{said['file']}:{min(map(int, said['bytes']))} ")
    ]
    assert [part["name"] for part in bmm[0]["via"]] == ["aten::bmm"]
    table = lab.table(run.trace, "--at", "end", "--by", "stack", "--frame", "user")
    assert {row["stack"][-1]["function"] for row in table["rows"]} == {"<module>"}
