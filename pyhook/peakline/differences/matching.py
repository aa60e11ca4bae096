"""Finds the line of one run that corresponds to a line of another.

Note [Matching lines]
Code moves: lines are inserted above, functions change their order, files their names. So a line is
matched in three steps. A file matches the file of the same path; else the one with the same end of
its path; else the one with the same functions and callers. A function matches the function of the
same name in that file. Lines of a function stay in order: they are aligned as a diff aligns texts,
where the similarity of two lines depends on their requests (operators, blocks, bytes) and their
line numbers. So a line that only moved keeps its match, and a new line matches none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from pathlib import PurePath
from typing import TypeVar

from peakline.differences.side import Line, Row, Side

Item = TypeVar("Item")
FunctionKey = tuple[str, str]  # file, function

_SAME_FUNCTIONS = 0.5  # overlap from which a file counts as renamed
# Names of what compiled code calls instead of operators: kernels, and its backward node.
_COMPILED = ("triton_", "fused", "inductor buffer", "CompiledFunction")


def match(before: Side, after: Side) -> list[tuple[Row | None, Row | None]]:
    """Return pairs of rows; None where the other run has no such row.

    If both runs know all lines that allocated anything, these are aligned: a line that holds
    nothing at the peak of one run may hold most in the other.
    """
    if not before.lines or not after.lines:
        return _match_rows(before, after)
    known = {
        old.at: new.at
        for old, new in _match_rows(_of_all(before), _of_all(after))
        if old is not None and new is not None
    }
    new = {row.at: row for row in after.rows}
    pairs: list[tuple[Row | None, Row | None]] = [
        (row, new.pop(known.get(row.at, row.at), None)) for row in before.rows
    ]
    return pairs + [(None, row) for row in new.values()]


def _of_all(side: Side) -> Side:
    named = [row for row in side.rows if not row.at.is_line_of_file]
    return replace(side, rows=(*side.lines, *named), lines=())


def _match_rows(before: Side, after: Side) -> list[tuple[Row | None, Row | None]]:
    files = match_files(before, after)
    old, new = _by_function(before.rows, files), _by_function(after.rows)
    bare = _classless(old.keys(), new.keys())
    old, new = _with_bare_names(old, bare), _with_bare_names(new, bare)
    pairs: list[tuple[Row | None, Row | None]] = []
    for key, rows in old.items():
        pairs += align(rows, new.pop(key, []))
    pairs += [(None, row) for rows in new.values() for row in rows]
    return pairs


def match_stacks(before: Side, after: Side) -> list[tuple[Row | None, Row | None]]:
    """Return pairs of rows with the same lines in their stacks."""
    frames = {
        old.at: new.at
        for old, new in _match_rows(_frames_of(before), _frames_of(after))
        if old is not None and new is not None
    }
    new = {row.stack or (row.at,): row for row in after.rows}
    pairs: list[tuple[Row | None, Row | None]] = []
    for row in before.rows:
        stack = tuple(frames.get(at, at) for at in row.stack) or (row.at,)
        pairs.append((row, new.pop(stack, None)))
    return pairs + [(None, row) for row in new.values()]


def _frames_of(side: Side) -> Side:
    """Return the frames of all stacks as rows; the functions that a frame calls are its `via`."""
    sums: dict[Line, list[int]] = {}
    called: dict[Line, set[str]] = {}
    callers: dict[FunctionKey, set[str]] = {}
    for row in side.rows:
        for at in set(row.stack):
            total = sums.setdefault(at, [0, 0])
            total[0] += row.bytes
            total[1] += row.count
        for inner, outer in zip(row.stack, row.stack[1:], strict=False):
            called.setdefault(outer, set()).add(inner.function)
            callers.setdefault((inner.file, inner.function), set()).add(outer.function)
        if row.stack:
            called.setdefault(row.stack[0], set()).update(row.via)
    rows = tuple(
        Row(at, size, count, tuple(sorted(called.get(at, ()))))
        for at, (size, count) in sums.items()
    )
    found = {key: frozenset(names) for key, names in callers.items()}
    return Side(side.name, side.device, side.total_bytes, rows, found)


def match_files(before: Side, after: Side) -> dict[str, str]:
    """Return the matching file of `after` for each file of `before` that has one."""
    old, new = _files_of(before.rows), _files_of(after.rows)
    found = {file: file for file in old if file in new}
    rest_old, rest_new = old.keys() - found.keys(), new.keys() - found.keys()
    _take_best(found, rest_old, rest_new, _common_end, 1)
    _take_best(
        found,
        rest_old,
        rest_new,
        lambda one, other: _overlap(old[one], new[other], before, after, one, other),
        _SAME_FUNCTIONS,
    )
    return found


def align(before: Sequence[Row], after: Sequence[Row]) -> list[tuple[Row | None, Row | None]]:
    """Pair the rows of one function in order, so that the total likeness is highest."""
    before = sorted(before, key=lambda row: row.at.line)
    after = sorted(after, key=lambda row: row.at.line)
    best = [[0.0] * (len(after) + 1) for _ in range(len(before) + 1)]
    for i in range(len(before) - 1, -1, -1):
        for j in range(len(after) - 1, -1, -1):
            best[i][j] = max(
                best[i + 1][j],
                best[i][j + 1],
                best[i + 1][j + 1] + likeness(before[i], after[j]),
            )
    pairs: list[tuple[Row | None, Row | None]] = []
    i = j = 0
    while i < len(before) and j < len(after):
        paired = best[i + 1][j + 1] + likeness(before[i], after[j])
        if best[i][j] == paired and likeness(before[i], after[j]) > 0:
            pairs.append((before[i], after[j]))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            pairs.append((before[i], None))
            i += 1
        else:
            pairs.append((None, after[j]))
            j += 1
    pairs += [(row, None) for row in before[i:]]
    pairs += [(None, row) for row in after[j:]]
    return pairs


def likeness(one: Row, other: Row) -> float:
    """Return how alike two lines of one function are; 0 if they cannot match.

    Operators weigh most: the same line calls the same ones. Blocks and bytes come next, the line
    number weighs least. Where only one run has compiled code, the line number decides.
    """
    if one.at.is_line_of_file != other.at.is_line_of_file:
        return 0.0
    if not one.at.is_line_of_file:
        return 1.0 if one.at.key == other.at.key else 0.0
    is_same_line = one.at.line == other.at.line
    if _is_compiled(one) != _is_compiled(other):
        # Compiled code and eager code call nothing in common.
        operators = float(is_same_line)
    else:
        operators = _jaccard(set(one.via), set(other.via)) if one.via or other.via else 1.0
    if operators == 0.0 and not is_same_line:
        return 0.0
    return (
        0.2
        + 4.0 * operators
        + 1.0 * _ratio(one.count, other.count)
        + 1.0 * _ratio(one.bytes, other.bytes)
        + 0.1 * is_same_line
    )


def _is_compiled(row: Row) -> bool:
    return any(name.startswith(_COMPILED) for name in row.via)


def _ratio(one: int, other: int) -> float:
    return min(one, other) / max(one, other) if one and other else float(one == other)


def _jaccard(one: set[Item], other: set[Item]) -> float:
    return len(one & other) / len(one | other) if one or other else 0.0


def _by_function(
    rows: Iterable[Row], files: Mapping[str, str] | None = None
) -> dict[FunctionKey, list[Row]]:
    """Return the rows by file and function; `files` are the names of the files in the other run."""
    found: dict[FunctionKey, list[Row]] = {}
    for row in rows:
        at: Line = row.at
        file = at.file if files is None else files.get(at.file, f"only before: {at.file}")
        key = (file, at.function) if at.is_line_of_file else ("", at.key)
        found.setdefault(key, []).append(row)
    return found


def _classless(old: Set[FunctionKey], new: Set[FunctionKey]) -> set[FunctionKey]:
    """Return the functions that only one run names without their class: torch.compile lost it."""
    different = old ^ new
    plain = {key for key in different if "." not in key[1]}
    return plain & {(file, _bare(name)) for file, name in different if "." in name}


def _with_bare_names(
    rows: dict[FunctionKey, list[Row]], bare: set[FunctionKey]
) -> dict[FunctionKey, list[Row]]:
    found: dict[FunctionKey, list[Row]] = {}
    for (file, name), group in rows.items():
        short = (file, _bare(name))
        found.setdefault(short if short in bare else (file, name), []).extend(group)
    return found


def _bare(function: str) -> str:
    return function.rpartition(".")[2]


def _files_of(rows: Iterable[Row]) -> dict[str, set[str]]:
    """Return the functions of each file."""
    found: dict[str, set[str]] = {}
    for row in rows:
        if row.at.is_line_of_file:
            found.setdefault(row.at.file, set()).add(row.at.function)
    return found


def _take_best(
    found: dict[str, str],
    old: set[str],
    new: set[str],
    score_of: Callable[[str, str], float],
    least: float,
) -> None:
    """Pair the files in order of falling score; equal scores pair no file."""
    scores = sorted(
        ((score_of(one, other), one, other) for one in old for other in new), reverse=True
    )
    for score, group in groupby(scores, key=itemgetter(0)):
        if score < least:
            break
        alike = [(one, other) for _, one, other in group if one in old and other in new]
        olds = Counter(one for one, _ in alike)
        news = Counter(other for _, other in alike)
        for one, other in alike:
            if olds[one] == news[other] == 1:
                found[one] = other
                old.remove(one)
                new.remove(other)


def _common_end(one: str, other: str) -> float:
    """Return the number of equal trailing parts of two paths."""
    count = 0
    for first, second in zip(
        reversed(PurePath(one).parts), reversed(PurePath(other).parts), strict=False
    ):
        if first != second:
            break
        count += 1
    return float(count)


def _overlap(
    functions: set[str],
    others: set[str],
    before: Side,
    after: Side,
    file: str,
    other_file: str,
) -> float:
    """Return how far two files share functions with the same callers, from 0 to 1."""
    old = {
        (name, caller) for name in functions for caller in before.callers.get((file, name), [""])
    }
    new = {
        (name, caller) for name in others for caller in after.callers.get((other_file, name), [""])
    }
    return max(_jaccard(old, new), _jaccard(functions, others) - 0.01)
