"""Compares captured stacks with traceback.extract_stack at the same place; prints JSON."""

import asyncio
import json
import sys
import threading

import capture as c
import comparison
import constructs
from nestings import random_nestings


def in_threads(function, *arguments):
    threads = [threading.Thread(target=function, args=arguments) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def run(name, function, *arguments):
    comparison.begin(name)
    function(*arguments)


def main():
    c.attach()
    c.attach()  # a second call does nothing
    sys.setrecursionlimit(20000)
    for _ in range(3):  # colder and warmer instructions
        run("plain calls", comparison.check)
        run("recursion", constructs.recurse, 500)
        run("recursion beyond the limit", constructs.truncated_recursion, 2000)
        run("generators", constructs.generators)
        run("coroutines", lambda: asyncio.run(constructs.coroutine(3)))
        run("comprehensions", constructs.comprehensions)
        run("classes", constructs.classes)
        run("class in a hot loop", constructs.class_in_a_hot_loop)
        run("callbacks", constructs.callbacks)
        run("decorators", constructs.decorators)
        run("handlers", constructs.handlers)
        run("match", constructs.matches, 0)
        run("executed code", constructs.executed)
        run("long function", constructs.long_function)
    run("random nestings", random_nestings, 4000, 1)
    run("threads", in_threads, random_nestings, 250, 7)
    sys.settrace(lambda *_: None)
    run("traced", random_nestings, 100, 3)
    sys.settrace(None)
    run("forgotten", c.library.peakline_test_forget)
    run("forgotten", random_nestings, 300, 5)
    json.dump(
        {
            "version": sys.version.split()[0],
            "compared": comparison.compared,
            "mismatch_count": len(comparison.mismatches),
            "mismatches": comparison.mismatches[:3],
        },
        sys.stdout,
    )


if __name__ == "__main__":
    main()
