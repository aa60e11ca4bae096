"""Objects that get a number until they die, seen without weak references."""

import array
import ctypes
import gc
import json
import weakref

import capture as c

library = c.library_with_gil
for name, result, arguments in [
    ("peakline_test_learn_finalizer", ctypes.c_int, [ctypes.c_uint64] * 2),
    ("peakline_test_watch", ctypes.c_uint64, [ctypes.c_uint64]),
    ("peakline_test_is_alive", ctypes.c_int, [ctypes.c_uint64] * 2),
]:
    getattr(library, name).restype = result
    getattr(library, name).argtypes = arguments
get_slot = ctypes.pythonapi.PyType_GetSlot
get_slot.restype = ctypes.c_void_p
get_slot.argtypes = [ctypes.py_object, ctypes.c_int]
TP_FINALIZE = 80  # of typeslots.h

finalised = []


def watch(thing):
    return library.peakline_test_watch(id(thing))


def is_alive(address, number):
    return bool(library.peakline_test_is_alive(address, number))


class Mortal:
    def __del__(self):
        finalised.append("by the class")


class Plain:
    pass


class Holder(Plain):
    """In a cycle with itself."""

    def __init__(self):
        self.me = self


class Slotted:
    __slots__ = ("value", "__weakref__")


def forgotten(thing):
    """Whether a watched thing is known, and no more when the caller's last reference is gone."""
    address, number = id(thing[0]), watch(thing[0])
    before = number != 0 and is_alive(address, number) and watch(thing[0]) == number
    thing.clear()
    gc.collect()
    return before and not is_alive(address, number)


def dies_with_another_class():
    """Its new class has no finaliser of ours: nobody sees it die."""
    thing = Plain()
    address, number = id(thing), watch(thing)
    thing.__class__ = type("Unseen", (Plain,), {})
    del thing
    gc.collect()
    return number != 0 and not is_alive(address, number)


def keeps_its_number_in_a_derived_class():
    thing = Plain()
    number = watch(thing)
    thing.__class__ = type("Derived", (Plain,), {})
    return watch(thing) == number and is_alive(id(thing), number)


class Stranger:
    pass


def has_another_number_in_a_strange_class():
    thing = Plain()
    number = watch(thing)
    thing.__class__ = Stranger
    return watch(thing) not in (0, number)


def late_finaliser():
    """A finaliser that the class gets after its object was watched is called."""
    kind = type("Late", (), {})
    thing = kind()
    number = watch(thing)
    kind.__del__ = lambda self: finalised.append("late")
    del thing
    gc.collect()
    return number != 0 and finalised[-1] == "late"


c.attach()
unlearned = watch(Plain())
learned = library.peakline_test_learn_finalizer(id(Mortal), get_slot(Mortal, TP_FINALIZE))
wrong = library.peakline_test_learn_finalizer(id(Mortal), 4096)
known = {
    "nothing is watched before": unlearned == 0,
    "the finaliser is found": learned == 1 and wrong == 0,
    "built-in classes are left alone": watch([]) == 0 and watch(7) == 0,
    "plain": forgotten([Plain()]),
    "with a finaliser": forgotten([Mortal()]),
    "a second time": forgotten([Mortal()]),
    "in a cycle": forgotten([Holder()]),
    "with slots": forgotten([Slotted()]),
    "of another class": dies_with_another_class(),
    "of a derived class": keeps_its_number_in_a_derived_class(),
    "of a strange class": has_another_number_in_a_strange_class(),
    "late": late_finaliser(),
}
# Arrays make no objects, which would take the memory of those that died.
addresses, numbers = array.array("Q"), array.array("Q")
for _ in range(1000):
    thing = Plain()
    addresses.append(id(thing))
    numbers.append(watch(thing))
print(
    json.dumps(
        {
            "known": known,
            "addresses": len(set(addresses)),
            "objects": len(numbers),
            "numbers": len(set(numbers) - {0}),
            "finalised": finalised,
            "weak references": weakref.getweakrefcount(Plain()),
        }
    )
)
