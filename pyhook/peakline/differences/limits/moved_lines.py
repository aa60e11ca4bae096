"""Finds the lines of a run that limits mean, although code moved since the limits were written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from peakline.differences.limits.limit import Limit
from peakline.differences.matching import match
from peakline.differences.side import Line, Row, Side

_LINE = re.compile(r"(?P<file>.+):(?P<line>\d+) \((?P<function>.*)\)")  # as in tables
_LEAST_LIKENESS = 0.5  # of the words of two lines


def names_in_run(limits: Sequence[Limit], rows: Iterable[Row]) -> Mapping[Limit, str]:
    """Return the text of each limit's line among `rows`, the lines of a run.

    The words of the code stand for the operators of Note [Matching lines]. A limit without a match
    keeps its name.
    """
    written = {_line_of(one.name, one.code): one for one in limits}
    now = [_line_of(row.at.key, row.at.code) for row in rows]
    names: dict[Limit, str] = {}
    for old, new in match(_side_of(written), _side_of(now)):
        if old is not None and new is not None and _is_same(old, new):
            names[written[old.at]] = new.at.key
    return names


def _line_of(text: str, code: str) -> Line:
    found = _LINE.fullmatch(text)
    if found is None:
        return Line(text)
    return Line(text, found["file"], int(found["line"]), found["function"], code)


def _side_of(lines: Iterable[Line]) -> Side:
    rows = tuple(Row(at, 0, 1, tuple(sorted(_words_of(at)))) for at in lines)
    return Side("", 0, 0, rows)


def _words_of(at: Line) -> set[str]:
    return set(re.findall(r"\w+|[^\w\s]", at.code))


def _is_same(old: Row, new: Row) -> bool:
    one, other = set(old.via), set(new.via)
    likeness = len(one & other) / max(len(one | other), 1)
    return likeness >= _LEAST_LIKENESS or old.at.line == new.at.line
