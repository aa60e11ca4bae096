"""What makes frames in Python: each calls check() or compare() wherever it can."""

# Odd constructs are the point here.
# ruff: noqa: B018, C400, C416, C417

import asyncio
import contextlib
import ctypes
import functools
import json
import traceback

import capture as c
from comparison import buffer, check, compare


def recurse(depth):
    if depth > 0:
        return recurse(depth - 1)
    return check()


def truncated_recursion(depth):
    if depth > 0:
        return truncated_recursion(depth - 1)
    out = buffer()
    flags, theirs = c.capture(out, c.SIZE), traceback.extract_stack()
    ours = c.frames_of(out.value)
    assert len(ours) == 1024, len(ours)
    return compare(ours, theirs[-1024:], flags, c.TRUNCATED)


def generators():
    def inner():
        check()
        yield 1
        check()
        received = yield 2
        assert received == "sent"
        check()

    def outer():
        check()
        yield from inner()
        check()

    generator = outer()
    next(generator)
    next(generator)
    with contextlib.suppress(StopIteration):
        generator.send("sent")
    thrown = inner()
    next(thrown)

    def closing():
        try:
            yield 1
        finally:
            check()

    started = closing()
    next(started)
    started.close()
    del thrown


async def coroutine(depth):
    check()
    if depth == 0:
        await asyncio.sleep(0)
        return check()
    await asyncio.gather(coroutine(depth - 1), coroutine(depth - 1))

    async def numbers():
        for number in range(2):
            check()
            yield number
            await asyncio.sleep(0)
            check()

    class Context:
        async def __aenter__(self):
            check()

        async def __aexit__(self, *error):
            check()

    async for _ in numbers():
        check()
    async with Context():
        check()
    return [check() async for _ in numbers()]


def comprehensions():
    [check() for _ in range(2)]
    {check() for _ in range(2)}
    {check(): check() for _ in range(2)}
    list(check() for _ in range(2))
    [[check() for _ in range(2)] for _ in range(2)]


def classes():
    class Body:
        check()
        value = check()

        def __init__(self):
            check()

        def __call__(self):
            check()

        @property
        def measured(self):
            return check()

        def __getitem__(self, key):
            return self.measured

        def __getattr__(self, name):
            return check()

        def __del__(self):
            check()

        @staticmethod
        def static():
            check()

        @classmethod
        def made(cls):
            return cls()

        def __lt__(self, other):
            check()
            return False

    body = Body()
    body()
    body.measured
    body[1]
    body.missing
    Body.static()
    Body.made()
    sorted([Body(), Body(), Body()])

    class Meta(type):
        def __new__(cls, name, bases, namespace):
            check()
            return super().__new__(cls, name, bases, namespace)

        def __call__(cls, *arguments):
            check()
            return super().__call__(*arguments)

    class Made(metaclass=Meta):
        def __new__(cls):
            check()
            return super().__new__(cls)

        def __init__(self):
            check()

    Made()


def class_in_a_hot_loop():
    class Counter:
        def __init__(self, number):
            if number % 100 == 99:
                check()

    for number in range(1000):
        Counter(number)


def callbacks():
    sorted([3, 1, 2], key=check)
    list(map(check, [1, 2]))
    list(filter(check, [1, 2]))
    max([1, 2], key=lambda value: check() + value)
    functools.reduce(lambda total, value: check() + total + value, [1, 2, 3])
    functools.partial(check, 1)()

    @functools.cache
    def cached(value):
        return check() + value

    cached(1)
    callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda value: check())
    callback(1)

    @functools.singledispatch
    def dispatched(value):
        return check()

    dispatched(1)
    json.loads("[{}]", object_hook=check)


def decorators():
    def decorate(function):
        @functools.wraps(function)
        def wrapper(*arguments):
            check()
            return function(*arguments)

        return wrapper

    @decorate
    @decorate
    def decorated(value):
        return check() + value

    decorated(1)


def handlers():
    try:
        try:
            raise ValueError(check())
        except ValueError as error:
            check()
            raise KeyError(
                check(),
            ) from error
        finally:
            check()
    except KeyError:
        check()
    else:
        raise AssertionError
    with contextlib.ExitStack() as stack:
        stack.callback(check)

        @contextlib.contextmanager
        def managed():
            check()
            yield
            check()

        with managed(), managed():
            check()


def matches(value):
    source = (
        "def f(value):\n    match value:\n        case [x, y]:\n            check()\n"
        "        case {'k': z}:\n            check(\n\n z)\nf([1, 2])\nf({'k': 3})\n"
    )
    exec(compile(source, "match.py", "exec"), {"check": check})


FILES = [
    "\u00e9t\u00e9.py",
    "\u043f\u0440\u0438\u043c\u0435\u0440.py",
    "\u6df1\u5ea6/\u30e2.py",
    "smile_\U0001f600_\U00010437.py",
    "lone_\udc80_surrogate.py",
    "",
    "x" * 300 + "\u00fc.py",
]
NAMES = ["gr\u00f6\u00dfe", "\u6df1\u3055", "\U00010437", "plain", "\u043f\u0440\u0438"]


def executed(files=FILES):
    for file in files:
        for name in NAMES:
            space = {"check": check}
            source = f"def {name}():\n\n  return [check() for _ in (1,)]\n{name}()\neval('check()')"
            exec(compile(source, file, "exec"), space)
    exec("\n" * 70000 + "check()", {"check": check})


def long_function():
    body = "".join(f"    x = {i}\n" if i % 97 else f"    check({i},\n {i})\n" for i in range(3000))
    exec(compile("def long():\n" + body + "long()\n", "long.py", "exec"), {"check": check})
