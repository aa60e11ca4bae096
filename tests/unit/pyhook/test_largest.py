"""The search of `peakline fit --largest` against trying every value."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from peakline.trials.fitting import Outcome
from peakline.trials.largest import Search

NEEDS: dict[str, Callable[[int], int]] = {
    "straight": lambda n: 500 + 37 * n,
    "in steps": lambda n: 500 + 40 * (n // 4 * 4),
    "square": lambda n: 500 + 3 * n * n,
    "root": lambda n: 500 + int(300 * n**0.5),
    "first is large": lambda n: 900 + 7 * n if n == 1 else 400 + 7 * n,
    "never": lambda n: 5000 + n,
}


def outcome(needed: int, capacity: int) -> Outcome:
    verdict = "fits" if needed <= capacity else "too small"
    return Outcome(
        "l4", "", verdict, capacity_bytes=capacity, most_used_bytes=needed, peak_bytes=needed
    )


def search(
    needs: Callable[[int], int], capacity: int, step: int, known: dict[int, int]
) -> tuple[Search, int]:
    found = Search(step, known)
    runs = 0
    while (value := found.next_value()) is not None:
        assert value % step == 0
        found.note(value, outcome(needs(value), capacity))
        runs += 1
        assert runs < 60
    return found, runs


@pytest.mark.parametrize("name", NEEDS)
@pytest.mark.parametrize("step", [1, 8])
def test_the_largest_is_that_of_trying_every_value(name: str, step: int) -> None:
    needs = NEEDS[name]
    known: dict[int, int] = {}
    for capacity in (1000, 3333, 20000):
        found, runs = search(needs, capacity, step, known)
        tried = range(step, 20000, step)
        fitting = next((n - step for n in tried if needs(n) > capacity), 0)
        if name == "never" and capacity > 5000:
            fitting = (capacity - 5000) // step * step
        assert found.fits == fitting
        assert found.too_much == fitting + step
        if name == "straight":
            assert runs <= 6


def test_a_program_that_needs_no_more_has_no_limit() -> None:
    found, runs = search(lambda _: 700, 1000, 1, {})
    assert (found.too_much, runs < 40) == (None, True)
    assert found.fits > 1 << 20


def test_a_run_that_fails_ends_the_search() -> None:
    found = Search()
    found.note(found.next_value() or 0, Outcome("l4", "1", "failed", status=1))
    assert found.next_value() is None
