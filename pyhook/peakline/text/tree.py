"""The tree of `--by stack` on a terminal: root first, one row per frame.

A node and its only child with the same blocks form one branch: their rows follow each other, and
the first row that is no folded frame has the numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from peakline.text.code_lines import CodeLine
from peakline.text.terminal import Marks

# The columns of a table that a node has numbers for.
_FIELD_OF = {"Held": "held", "%": "percent", "Blocks": "blocks"}
_NO_NUMBERS = {"held": "", "percent": "", "blocks": "", "share": 0.0}


def children_of(nodes: Sequence[Mapping[str, Any]]) -> list[list[int]]:
    """Return the children of every node, the largest first."""
    children: list[list[int]] = [[] for _ in nodes]
    for index, node in enumerate(nodes[1:], start=1):
        children[node["parent"]].append(index)
    return children


def continues(
    nodes: Sequence[Mapping[str, Any]], children: Sequence[Sequence[int]], index: int
) -> bool:
    """Return whether a node has one child, and all its blocks came through it."""
    if len(children[index]) != 1 or nodes[index]["left_out_count"]:
        return False
    child = nodes[children[index][0]]
    return bool(child["count"] == nodes[index]["count"] and child["bytes"] == nodes[index]["bytes"])


def line_of_frame(frame: Mapping[str, Any]) -> CodeLine:
    """Return the line of a frame."""
    if not frame["path"]:
        return CodeLine(function=frame["text"])
    source = frame["source"] or {"lines": [], "is_changed": False}
    code = source["lines"][frame["number"] - source["first"]].strip() if source["lines"] else ""
    line = CodeLine(path=frame["path"], number=frame["number"], function=frame["function"])
    return replace(line, code=code, is_changed=source["is_changed"])


@dataclass(frozen=True)
class _Branch:
    """The beginning of a branch: a node, or the omitted rest below one; and its guides."""

    node: int
    guide: str  # for its first row
    others: str  # for its other rows
    is_left_out: bool = False


def tree_table(table: Mapping[str, Any], marks: Marks) -> dict[str, Any]:
    """Return the table of a document with the rows of its tree, folded."""
    *numbers, line = table["columns"]
    kept = [column for column in numbers if column["head"] in _FIELD_OF]
    rows = [
        {
            "cells": [*(row[_FIELD_OF[column["head"]]] for column in kept), row["code"]],
            "guide": row["guide"],
            "share": row["share"],
            "is_dim": row["dim"],
        }
        for row in _tree_rows(table["tree"], marks)
    ]
    return {**table, "columns": [*kept, line], "rows": rows}


def _tree_rows(tree: Mapping[str, Any], marks: Marks) -> list[dict[str, Any]]:
    """Return the rows of the folded tree: numbers, guide and line."""
    nodes = tree["folded"]
    children = children_of(nodes)
    rows: list[dict[str, Any]] = []
    waiting = _branches_below(_Branch(0, "", ""), nodes, children, marks)
    while waiting:
        branch = waiting.pop()
        if branch.is_left_out:
            rows.append(_left_out(nodes[branch.node], branch.guide, marks))
            continue
        last = branch.node
        while continues(nodes, children, last):
            last = children[last][0]
        first = len(rows)
        for node in nodes[branch.node : last + 1]:
            for line, is_dim in _lines_of(node, tree["frames"], marks):
                guide = branch.guide if len(rows) == first else branch.others
                rows.append({**_NO_NUMBERS, "guide": guide, "code": line, "dim": is_dim})
        row_of_frame = next((row for row in rows[first:] if not row["dim"]), rows[first])
        row_of_frame.update({name: nodes[branch.node][name] for name in _NO_NUMBERS})
        waiting += _branches_below(_Branch(last, "", branch.others), nodes, children, marks)
    return rows


def _branches_below(
    parent: _Branch,
    nodes: Sequence[Mapping[str, Any]],
    children: Sequence[Sequence[int]],
    marks: Marks,
) -> list[_Branch]:
    """Return the branches below a node, the last one first."""
    begins = [(child, False) for child in children[parent.node]]
    if nodes[parent.node]["left_out_count"]:
        begins.append((parent.node, True))
    if parent.node == 0 and len(begins) == 1:
        return [_Branch(begins[0][0], "", "")]
    last = len(begins) - 1
    return [
        _Branch(
            node,
            parent.others + (marks.last_branch if position == last else marks.branch),
            parent.others + ("  " if position == last else marks.trunk),
            is_left_out,
        )
        for position, (node, is_left_out) in reversed(list(enumerate(begins)))
    ]


def _lines_of(
    node: Mapping[str, Any], frames: Sequence[Mapping[str, Any]], marks: Marks
) -> Iterator[tuple[CodeLine, bool]]:
    if node["folded"]:
        yield CodeLine(function=f"{marks.gap} {node['folded']}"), True
    if node["frame"] is not None:
        yield line_of_frame(frames[node["frame"]]), False


def _left_out(node: Mapping[str, Any], guide: str, marks: Marks) -> dict[str, Any]:
    line = CodeLine(function=f"{marks.gap} {node['left_out_count']:,} more")
    return {**_NO_NUMBERS, "held": node["left_out"], "guide": guide, "code": line, "dim": True}
