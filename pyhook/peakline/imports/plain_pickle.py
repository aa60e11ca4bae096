"""Reads pickles of plain values, and nothing else: no class is looked up, no function called.

A machine of our own, since that of the standard library takes a file at its word: nine bytes make
it fill gigabytes. Here every step takes a byte of the file and makes at most one value, so time and
memory are bounded by the file. Dictionaries of collections are read as plain ones, without what
they make of missing keys.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

_MOST_BYTES = 4 << 30  # of a file; its values take ten times as much memory
_MOST_INT_BYTES = 16  # what a snapshot counts has 8
# Keys have themselves as hash values: no two of a hostile file fall together.
_MOST_KEY = 1 << 60

_DICTIONARIES = {("collections", "defaultdict"), ("collections", "OrderedDict")}
# What a defaultdict may name for missing keys; protocols before 3 call the module as Python 2 did.
_MAKERS = {
    (module, name)
    for module in ("builtins", "__builtin__")
    for name in ("dict", "float", "int", "list", "set", "str", "tuple")
}
_DICTIONARY = object()  # stands on the stack for a class of _DICTIONARIES
_MARK = object()  # for a class of _MAKERS: nothing that could be called

_Step: TypeAlias = "Callable[[_Machine], None]"


class _NotPlain(pickle.UnpicklingError):
    """The file asks for something that is no plain value."""


# What the steps below raise for bytes that are no pickle.
_OF_BAD_DATA = (ValueError, IndexError, KeyError, TypeError, struct.error)


def load_file(path: Path) -> Any:
    """Return what was pickled into a file, see `load_plain`.

    Raises:
        pickle.UnpicklingError: it is no file, is too large, or holds anything else.
        OSError: it cannot be read.
    """
    if path.exists() and not path.is_file():
        raise pickle.UnpicklingError("not a file on a disk: write what it gives into one first")
    with path.open("rb") as file:
        size = path.stat().st_size
        if size > _MOST_BYTES:
            raise pickle.UnpicklingError(
                f"has {size >> 30} GiB, more than can be read: record fewer entries (max_entries)"
            )
        head = file.read(1)
        # A huge file that is something else is not read at all.
        return load_plain(head + file.read() if head and head[0] in _STEPS else head)


def load_plain(data: bytes) -> Any:
    """Return what was pickled: numbers, texts, bytes, None, lists, tuples, sets, dictionaries.

    Raises:
        pickle.UnpicklingError: it holds anything else, or is cut off.
    """
    try:
        return _Machine(data).run()
    except _NotPlain:
        raise
    except _OF_BAD_DATA as error:
        raise pickle.UnpicklingError("not a pickle, or cut off") from error


class _Machine:
    """The stack that a pickle works on; a step for each of its codes."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._stack: list[Any] = []
        self._below: list[list[Any]] = []  # the stacks below each mark
        self._memo: dict[int, Any] = {}

    def run(self) -> Any:
        data, steps = self._data, _STEPS
        while (code := data[self._at]) != _STOP:
            self._at += 1
            step = steps.get(code)
            if step is None:
                raise ValueError(f"code {code}")
            step(self)
        [value] = self._stack
        return value

    # ---- bytes -------------------------------------------------------------------------------

    def _take(self, count: int) -> bytes:
        begin, self._at = self._at, self._at + count
        if self._at > len(self._data):
            raise ValueError("cut off")
        return self._data[begin : self._at]

    def _unsigned(self, count: int) -> int:
        return int.from_bytes(self._take(count), "little")

    def _line(self) -> str:
        end = self._data.index(b"\n", self._at)
        text = self._take(end - self._at).decode()
        self._at += 1
        return text

    # ---- values ------------------------------------------------------------------------------

    def signed(self, count: int) -> None:
        self._stack.append(int.from_bytes(self._take(count), "little", signed=True))

    def unsigned(self, count: int) -> None:
        self._stack.append(self._unsigned(count))

    def long(self, count: int) -> None:
        size = self._unsigned(count)
        if size > _MOST_INT_BYTES:
            raise _NotPlain(f"the file has an integer of {size} bytes: no snapshot has such a one")
        self.signed(size)

    def real(self) -> None:
        self._stack.append(struct.unpack(">d", self._take(8))[0])

    def text(self, count: int) -> None:
        self._stack.append(self._take(self._unsigned(count)).decode("utf-8", "surrogatepass"))

    def bytes_of(self, count: int) -> None:
        self._stack.append(self._take(self._unsigned(count)))

    # ---- containers --------------------------------------------------------------------------

    def mark(self) -> None:
        self._below.append(self._stack)
        self._stack = []

    def _since_mark(self) -> list[Any]:
        found, self._stack = self._stack, self._below.pop()
        return found

    def pop_mark(self) -> None:
        self._since_mark()

    def pop(self) -> None:
        if self._stack:
            self._stack.pop()
        else:
            self._since_mark()

    def tuple_of(self, count: int) -> None:
        found = self._stack[len(self._stack) - count :]
        if len(found) != count:
            raise IndexError("stack is empty")
        self._stack[len(self._stack) - count :] = [tuple(found)]

    def tuple_since_mark(self) -> None:
        found = tuple(self._since_mark())
        self._stack.append(found)

    def append(self) -> None:
        value = self._stack.pop()
        self._last(list).append(value)

    def appends(self) -> None:
        found = self._since_mark()
        self._last(list).extend(found)

    def set_item(self) -> None:
        value = self._stack.pop()
        key = _key(self._stack.pop())
        self._last(dict)[key] = value

    def set_items(self) -> None:
        found = self._since_mark()
        keys = map(_key, found[::2])
        self._last(dict).update(zip(keys, found[1::2], strict=True))

    def add_items(self) -> None:
        found = self._since_mark()
        self._last(set).update(map(_key, found))

    def frozen_set(self) -> None:
        found = frozenset(map(_key, self._since_mark()))
        self._stack.append(found)

    def _last(self, kind: type) -> Any:
        value = self._stack[-1]
        if type(value) is not kind:
            raise TypeError("not a container")
        return value

    # ---- values that are used again ----------------------------------------------------------

    def put(self, count: int) -> None:
        self._memo[self._unsigned(count)] = self._stack[-1]

    def memoize(self) -> None:
        self._memo[len(self._memo)] = self._stack[-1]

    def get(self, count: int) -> None:
        self._stack.append(self._memo[self._unsigned(count)])

    def skip(self, count: int) -> None:
        self._take(count)

    # ---- what could run code -----------------------------------------------------------------

    def name(self) -> None:
        module = self._line()
        self._named(module, self._line())

    def name_on_stack(self) -> None:
        name, module = self._stack.pop(), self._stack.pop()
        if not (isinstance(name, str) and isinstance(module, str)):
            raise TypeError("not a name")
        self._named(module, name)

    def _named(self, module: str, name: str) -> None:
        if (module, name) in _DICTIONARIES:
            self._stack.append(_DICTIONARY)
        elif (module, name) in _MAKERS:
            self._stack.append(_MARK)
        else:
            raise _NotPlain(
                f"the file asks for {module}.{name}: only numbers, texts, lists and dictionaries"
                " are read"
            )

    def call(self) -> None:
        self._stack.pop()  # what a defaultdict makes
        if self._stack.pop() is not _DICTIONARY:
            raise TypeError("only dictionaries are made")
        self._stack.append({})

    def refuse_object(self) -> None:
        raise _NotPlain("the file asks for an object outside of it")


def _key(value: Any) -> Any:
    """Return a key of a dictionary or a set, whose hash takes no time and falls on no other."""
    if type(value) is str or (type(value) is int and -_MOST_KEY < value < _MOST_KEY):
        return value
    raise _NotPlain("the file has a dictionary whose keys are no texts and no small numbers")


def _constant(make: Callable[[], Any]) -> _Step:
    return lambda machine: machine._stack.append(make())


def _with(step: Callable[[_Machine, int], None], count: int) -> _Step:
    return lambda machine: step(machine, count)


_STOP = ord(pickle.STOP)
# By code; the numbers are bytes that follow it, or of the length that does.
_STEPS: dict[int, _Step] = {
    code[0]: step
    for code, step in {
        pickle.PROTO: _with(_Machine.skip, 1),
        pickle.FRAME: _with(_Machine.skip, 8),
        pickle.NONE: _constant(lambda: None),
        pickle.NEWTRUE: _constant(lambda: True),
        pickle.NEWFALSE: _constant(lambda: False),
        pickle.BININT: _with(_Machine.signed, 4),
        pickle.BININT1: _with(_Machine.unsigned, 1),
        pickle.BININT2: _with(_Machine.unsigned, 2),
        pickle.LONG1: _with(_Machine.long, 1),
        pickle.LONG4: _with(_Machine.long, 4),
        pickle.BINFLOAT: _Machine.real,
        pickle.SHORT_BINUNICODE: _with(_Machine.text, 1),
        pickle.BINUNICODE: _with(_Machine.text, 4),
        pickle.BINUNICODE8: _with(_Machine.text, 8),
        pickle.SHORT_BINBYTES: _with(_Machine.bytes_of, 1),
        pickle.BINBYTES: _with(_Machine.bytes_of, 4),
        pickle.BINBYTES8: _with(_Machine.bytes_of, 8),
        pickle.BYTEARRAY8: _with(_Machine.bytes_of, 8),
        pickle.EMPTY_LIST: _constant(list),
        pickle.EMPTY_TUPLE: _constant(tuple),
        pickle.EMPTY_DICT: _constant(dict),
        pickle.EMPTY_SET: _constant(set),
        pickle.MARK: _Machine.mark,
        pickle.POP: _Machine.pop,
        pickle.POP_MARK: _Machine.pop_mark,
        pickle.TUPLE: _Machine.tuple_since_mark,
        pickle.TUPLE1: _with(_Machine.tuple_of, 1),
        pickle.TUPLE2: _with(_Machine.tuple_of, 2),
        pickle.TUPLE3: _with(_Machine.tuple_of, 3),
        pickle.APPEND: _Machine.append,
        pickle.APPENDS: _Machine.appends,
        pickle.SETITEM: _Machine.set_item,
        pickle.SETITEMS: _Machine.set_items,
        pickle.ADDITEMS: _Machine.add_items,
        pickle.FROZENSET: _Machine.frozen_set,
        pickle.BINPUT: _with(_Machine.put, 1),
        pickle.LONG_BINPUT: _with(_Machine.put, 4),
        pickle.MEMOIZE: _Machine.memoize,
        pickle.BINGET: _with(_Machine.get, 1),
        pickle.LONG_BINGET: _with(_Machine.get, 4),
        pickle.GLOBAL: _Machine.name,
        pickle.STACK_GLOBAL: _Machine.name_on_stack,
        pickle.REDUCE: _Machine.call,
        pickle.BINPERSID: _Machine.refuse_object,
        pickle.PERSID: _Machine.refuse_object,
    }.items()
}
