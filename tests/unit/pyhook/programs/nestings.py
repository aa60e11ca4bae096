"""Constructs around one another, as a random number generator has it."""

# Odd constructs are the point here.
# ruff: noqa: C416, C417

import contextlib
import functools
import random

from comparison import check


def nested(depth, rng):
    """One random construct around another."""
    if depth == 0:
        return check()
    kind = rng.randrange(16)
    if kind == 0:
        return nested(depth - 1, rng)
    if kind == 1:
        return (lambda: nested(depth - 1, rng))()
    if kind == 2:

        def generator():
            yield nested(depth - 1, rng)

        return list(generator())
    if kind == 3:

        class Local:
            def __init__(self):
                nested(depth - 1, rng)

        return Local()
    if kind == 4:
        return [nested(depth - 1, rng) for _ in range(1)]
    if kind == 5:
        space = {"nested": nested, "depth": depth, "rng": rng}
        return exec("def gr\u00f6\u00dfe():\n  nested(depth - 1, rng)\ngr\u00f6\u00dfe()", space)
    if kind == 6:
        return sorted([1], key=lambda _: (nested(depth - 1, rng), 0)[1])
    if kind == 7:

        def delegating():
            yield from (nested(depth - 1, rng) for _ in range(1))

        return [value for value in delegating()]
    if kind == 8:

        class Holder:
            @property
            def value(self):
                return nested(depth - 1, rng)

            def __getitem__(self, key):
                return self.value

        return Holder()[1]
    if kind == 9:
        try:
            raise ValueError
        except ValueError:
            return nested(depth - 1, rng)
    if kind == 10:
        with contextlib.nullcontext():
            return nested(
                depth - 1,
                rng,
            )
    if kind == 11:
        return functools.partial(nested, depth - 1)(rng)
    if kind == 12:

        async def coroutine():
            async def inner():
                return nested(depth - 1, rng)

            return await inner()

        running = coroutine()
        with contextlib.suppress(StopIteration):
            running.send(None)
        return None
    if kind == 13:
        return {key: nested(depth - 1, rng) for key in range(1)}
    if kind == 14:

        class Body:
            value = nested(depth - 1, rng)

        return Body.value
    return next(map(lambda _: nested(depth - 1, rng), [1]))


def random_nestings(count, seed):
    rng = random.Random(seed)
    for _ in range(count):
        nested(rng.randrange(22), rng)
