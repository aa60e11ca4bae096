"""Reads objects and frames with a library that does not know the layout of this interpreter."""

import ctypes
import os
import sys

library = ctypes.PyDLL(os.environ["PEAKLINE_TEST_LIBRARY"])
for name in ("attribute", "variables_of_generator", "variables_of_frame", "running"):
    function = getattr(library, name)
    function.restype = ctypes.py_object
    function.argtypes = (
        [] if name == "running" else [ctypes.py_object] * (1 + (name == "attribute"))
    )


class Plain:
    def __init__(self):
        self.first = object()


class Slots:
    __slots__ = ("one",)


def generate(argument):
    yield argument


plain, slots, generator = Plain(), Slots(), generate(object())
slots.one = object()
assert library.attribute(plain, plain.first) == ""
assert library.attribute(slots, slots.one) == "one"  # the limited API has the members of a class
assert library.variables_of_generator(generator) == {}
assert library.variables_of_frame(sys._getframe()) == {}
assert library.running() == []
print("good")
