"""What is asked of fleets in tests, with the answers of plain Python."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from brute_force import Fleet, Row
from peakline.fleet.questions import Asked
from peakline.fleet.rows import TraceRows
from synthetic import FIRST_DAY, VERSIONS

HALF = FIRST_DAY + timedelta(hours=20)
PAIR = (VERSIONS[0], VERSIONS[2])


def asked_and_expected(ranks: list[TraceRows]) -> Iterator[tuple[str, Asked, list[Row]]]:
    """Every question in its forms, with the answer of plain Python."""
    everything, late = Fleet(ranks), Fleet(ranks, since=HALF)
    since = str(HALF)
    yield "waste", Asked(), everything.waste()
    yield "waste", Asked(since=since), late.waste()
    yield "waste", Asked(versions=PAIR), Fleet(ranks, versions=PAIR).waste()
    yield "waste", Asked(top=3), everything.waste()[:3]
    pair = Fleet(ranks, versions=PAIR)
    yield "regressions", Asked(versions=PAIR), pair.regressions(*PAIR)
    back = Asked(versions=PAIR[::-1], by="line")
    yield "regressions", back, pair.regressions(*PAIR[::-1], by="line")
    yield "gb-hours", Asked(), everything.gb_hours()
    yield "gb-hours", Asked(by="function", since=since), late.gb_hours("function")
    yield "limits", Asked(), everything.limits(0.9)
    yield "limits", Asked(near=0.5, since=since), late.limits(0.5)
    yield "ranks", Asked(), everything.ranks_differ()
    yield "ranks", Asked(by="function"), everything.ranks_differ("function")


def check_equal(found: list[Row], expected: list[Row]) -> None:
    """Compare names, order and values; what was divided may differ in its last digit."""
    assert len(found) == len(expected)
    for row, wanted in zip(found, expected, strict=True):
        assert row.keys() == wanted.keys()
        for name, value in wanted.items():
            is_quotient = isinstance(value, float)
            assert row[name] == (pytest.approx(value, rel=1e-12) if is_quotient else value), name
