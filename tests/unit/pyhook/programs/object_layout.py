"""Compares what the search for holders reads of objects with what Python says of them."""

import ctypes
import os
import sys
import threading

library = ctypes.PyDLL(os.environ["PEAKLINE_TEST_LIBRARY"])
for name in ("attribute", "variables_of_generator", "variables_of_frame", "running", "thread_data"):
    function = getattr(library, name)
    function.restype = ctypes.py_object
library.attribute.argtypes = [ctypes.py_object, ctypes.py_object]
library.variables_of_generator.argtypes = [ctypes.py_object]
library.variables_of_frame.argtypes = [ctypes.py_object]


class Plain:
    def __init__(self, count):
        self.first = object()
        for number in range(count):
            setattr(self, f"more{number}", object())


class Slots:
    __slots__ = ("one", "two")

    def __init__(self):
        self.one, self.two = object(), object()


class MoreSlots(Slots):
    __slots__ = ("three",)

    def __init__(self):
        super().__init__()
        self.three = object()


class SlotsAndDict(Slots):
    def __init__(self):
        super().__init__()
        self.free = object()


class OfList(list):
    def __init__(self):
        super().__init__([1, 2])
        self.own = object()


class OfError(ValueError):
    def __init__(self):
        super().__init__("text")
        self.own = object()


def attributes_of(thing, names):
    """Attribute by attribute, before anything asks for the dictionary."""
    return {name: library.attribute(thing, getattr(thing, name)) for name in names}


def check_attributes():
    in_dict = sys.version_info < (3, 11)  # then the dictionary is an object of its own
    for count in (0, 1, 5, 25):
        things = [Plain(count) for _ in range(3)]
        names = ["first", *(f"more{number}" for number in range(count))]
        for thing in things:
            # With many attributes an object may get a dictionary, where names are found as well.
            is_inline = not in_dict and count <= 5
            found = attributes_of(thing, names)
            assert not is_inline or found == {name: name for name in names}, found
            assert all(said in ("", name) for name, said in found.items()), found
            del thing.first
            assert library.attribute(thing, object()) == ""
            found = attributes_of(thing, names[1:])
            assert not is_inline or found == {name: name for name in names[1:]}, found
            assert vars(thing).keys() == set(names[1:])
            # Now that it has a dictionary, the names are found there, or here; never wrong ones.
            for name, said in attributes_of(thing, names[1:]).items():
                assert said in ("", name), (name, said)
    for thing, names in (
        (Slots(), ["one", "two"]),
        (MoreSlots(), ["one", "two", "three"]),
    ):
        assert attributes_of(thing, names) == {name: name for name in names}
    mixed = SlotsAndDict()
    assert attributes_of(mixed, ["one", "two"]) == {"one": "one", "two": "two"}
    assert library.attribute(mixed, mixed.free) in ("", "free")
    for thing in (OfList(), OfError()):
        assert library.attribute(thing, thing.own) in ("", "own")


def check_generators():
    def generate(argument):
        local = object()
        in_cell = object()

        def inner():
            return in_cell

        yield local, inner
        yield local, inner

    argument = object()
    generator = generate(argument)
    local, inner = next(generator)
    # Up to 3.10 the frame is an object that the generator holds.
    own_frame = sys.version_info < (3, 11)
    if own_frame:
        found = library.variables_of_frame(generator.gi_frame)
    else:
        found = library.variables_of_generator(generator)
    assert found["argument"] == id(argument), found
    assert found["local"] == id(local)
    assert found["inner"] == id(inner)
    assert found["in_cell"] == id(inner.__closure__[0])

    async def coroutine(argument):
        return argument

    waiting = coroutine(argument)
    assert own_frame or library.variables_of_generator(waiting) == {"argument": id(argument)}
    waiting.close()


def check_frames():
    kept = object()

    def fail(argument):
        kept_local = kept
        raise ValueError(kept_local)

    try:
        fail(7)
    except ValueError as error:
        frame = error.__traceback__.tb_next.tb_frame
    found = library.variables_of_frame(frame)
    assert found["kept_local"] == id(kept), found
    assert found["argument"] == id(7)


def check_running():
    here = object()
    ready, done = threading.Event(), threading.Event()
    others = []

    def wait():
        elsewhere = object()
        others.append(id(elsewhere))
        ready.set()
        done.wait()

    thread = threading.Thread(target=wait)
    thread.start()
    ready.wait()
    running, line = library.running(), sys._getframe().f_lineno
    done.set()
    thread.join()
    rows = {row[0].rpartition(".")[2]: row for row in running}
    assert rows["check_running"][1] == f"object_layout.py:{line}", rows["check_running"][1]
    assert rows["check_running"][2]["here"] == id(here)
    assert rows["wait"][2]["elsewhere"] == others[0]
    assert rows["main"][2]["argument"] == id(main)


def check_thread_data():
    own = threading.local()
    own.value = object()
    keys = [key for dictionary in library.thread_data() for key in dictionary]
    # From 3.13 on what a thread keeps is found through the object itself.
    assert sys.version_info >= (3, 13) or any("thread.local" in key for key in keys), keys
    assert own.value is not None


def main(argument):
    check_attributes()
    check_generators()
    check_frames()
    check_running()
    check_thread_data()
    assert argument is main


main(main)
print("good")
