"""Finds the modules of kernels whose nodes are unknown: of a backward pass from torch's cache.

inductor keeps the lines of its kernels, but one line serves all layers of a kind. The generated
files tell the layers apart: a kernel reads a parameter, or returns its gradient, or reads a value
that the forward pass saved. Parameters and saved values have modules in Dynamo's graph. A kernel
without any of them is beside one that has. If several modules are possible, the one around them is
taken.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from .choosing import GRAPH, Choice
from .graphs import Chain, Graph, common_modules

_ARGUMENTS = re.compile(r"\s+((?:\w+, )*\w+),? = args$")
_RETURN = re.compile(r"\s+return \((.*)\)$")
_ALIAS = re.compile(r"\s+(\w+) = (?:reinterpret_tensor\()?(\w+)(?:\[\d+\]|[;,]|$)")
_BUFFER = re.compile(r"\s+(\w+) = empty_strided")
_CALL = re.compile(r"\s+(?:(\w+) = )?(?:\w+\.run|(?:torch\.ops|aten|extern_kernels)[\w.]+)\((.*)")
_COMMENT = re.compile(r"\s+# Topologically Sorted Source Nodes: \[(.*?)\]")
_INPUT = re.compile(r"primals_(\d+)|arg(\d+)_1")  # counted from 1, and from 0
# Operators between two kernels that have no kernel of their own.
_VIEWS = frozenset(
    (
        *("chunk", "contiguous", "expand", "flatten", "float", "getitem", "permute", "reshape"),
        *("select", "slice", "split", "squeeze", "t", "to", "transpose", "type_as", "unbind"),
        *("unsqueeze", "view"),
    )
)
_MOST_HOPS = 3


class _Call:
    """A kernel or operator."""

    def __init__(self, line: int, names: Sequence[str], sources: Sequence[str]) -> None:
        self.line = line
        self.names = names
        self.sources = sources
        self.made: list[int] = []  # lines of the buffers that it fills first


class GeneratedCode:
    """The calls of a generated file with the variables that they read and write."""

    def __init__(self, lines: Iterable[str]) -> None:
        """Read the file."""
        self.arguments: list[str] = []
        self.results: list[str] = []
        self.calls: list[_Call] = []
        self.writer: dict[str, _Call] = {}  # the first call with a variable, if it is no argument
        self._lines: dict[str, int] = {}  # of buffers by variable; 0: a reused one
        self._sources: list[str] = []
        for number, line in enumerate(lines, 1):
            self._read(number, line)

    def _read(self, number: int, line: str) -> None:
        if not self.arguments and (found := _ARGUMENTS.match(line)):
            self.arguments = found[1].split(", ")
        elif found := _COMMENT.match(line):
            self._sources = [word for word in found[1].split(", ") if word]
        elif found := _BUFFER.match(line):
            self._lines[found[1]] = number
        elif found := _CALL.match(line):
            self._call(number, found[1] or "", re.findall(r"\w+", found[2]))
        elif found := _ALIAS.match(line):
            self._rename(found[1], found[2], is_reused="# reuse" in line)
        elif self.arguments and not self.results and (found := _RETURN.match(line)):
            self.results = _split(found[1])

    def _call(self, number: int, result: str, names: list[str]) -> None:
        call = _Call(number, names, self._sources)
        self.calls.append(call)
        if result:
            call.made.append(number)
            self.writer[result] = call
        for name in names:
            if name in self._lines and name not in self.writer:
                self.writer[name] = call
                call.made += [self._lines[name]] if self._lines[name] else []

    def _rename(self, name: str, before: str, *, is_reused: bool) -> None:
        if before in self._lines and before not in self.writer:
            self._lines[name] = self._lines[before]
        elif is_reused:
            self._lines[name] = 0
        elif before in self.writer:
            self.writer[name] = self.writer[before]


def _split(text: str) -> list[str]:
    """Return the first variable of each item of a list."""
    items, depth, begin = [], 0, 0
    for i, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            items.append(text[begin:i])
            begin = i + 1
    items.append(text[begin:])
    words = [re.findall(r"\w+", item.replace("reinterpret_tensor", "")) for item in items]
    return [found[0] for found in words if found]


def is_backward(text: Iterable[str]) -> bool:
    """Return whether a generated file is a backward pass: gradients are among its arguments."""
    found = (_ARGUMENTS.match(line) for line in text)
    return "tangents_" in next((match[1] for match in found if match is not None), "")


def are_known(choices: Iterable[Choice]) -> bool:
    """Return whether all of these have the node of a graph, so there is nothing to find."""
    return all(choice.how in (GRAPH, "") for choice in choices)


def forward_code(texts: Iterable[list[str]]) -> GeneratedCode | None:
    """Return the forward pass among the files of one function, if there is a backward pass."""
    forward = [text for text in texts if text and not is_backward(text)]
    return GeneratedCode(forward[0]) if len(forward) == 1 else None


class _Group(NamedTuple):
    """The nodes of a line in one module."""

    chain: Chain
    modules: tuple[int, ...]


def _groups(graph: Graph) -> dict[_Group, set[int]]:
    groups: dict[_Group, set[int]] = defaultdict(set)
    for node in graph.all:
        if node.chain:
            groups[_Group(node.chain, node.modules)].add(node.position)
    return groups


class KernelModules:
    """Finds the modules of the calls of a generated file."""

    def __init__(self, graph: Graph, code: GeneratedCode, forward: GeneratedCode | None) -> None:
        """`graph`: Dynamo's. `forward`: the forward pass, if the code is its backward pass."""
        self._graph = graph
        self._code = code
        self._is_backward = forward is not None
        self._members = _groups(graph)
        self._by_chain: dict[Chain, list[_Group]] = defaultdict(list)
        for group in self._members:
            self._by_chain[group.chain].append(group)
        self._saved = self._saved_nodes(forward) if forward is not None else {}
        self._near: dict[_Group, set[int]] = {}

    def moved(self, choices: Sequence[Choice], line_at: Callable[[int], Chain]) -> list[Choice]:
        """Return the choices with modules where exactly one is possible."""
        possible = {
            call.line: self._candidates(call, line_at(call.line)) for call in self._code.calls
        }
        while self._narrow(possible):
            pass
        found: dict[int, list[_Group]] = {}
        for call in self._code.calls:
            found.update(dict.fromkeys([call.line, *call.made], possible[call.line]))
        return [_in_modules(choice, found.get(choice.line, [])) for choice in choices]

    def _saved_nodes(self, forward: GeneratedCode) -> dict[str, set[int]]:
        """Return nodes of the values that the forward pass saves, by names of the backward file."""
        names = [name for name in self._code.arguments if not name.startswith("tangents_")]
        results = forward.results[len(forward.results) - len(names) :]
        pairs = list(zip(names, results, strict=False))
        if len(results) != len(names) or any(
            name != result for name, result in pairs if _INPUT.fullmatch(name)
        ):
            return {}
        saved: dict[str, set[int]] = {}
        for name, result in pairs:
            call = forward.writer.get(result)
            nodes = [self._graph.named(source) for source in (call.sources if call else ())]
            last = [node.position for node in nodes if node is not None]
            if last:
                saved[name] = {last[-1]}
        return saved

    def _candidates(self, call: _Call, chain: Chain) -> list[_Group]:
        """Return the groups of a line that may be those of a call."""
        groups = self._by_chain.get(chain, [])
        if len(groups) < 2:
            return groups
        inputs = (_INPUT.fullmatch(name) for name in call.names)
        owners = {
            self._owner(int(found[1]) - 1 if found[1] else int(found[2]))
            for found in inputs
            if found is not None
        }
        groups = _chosen(groups, lambda group: bool(owners & set(group.modules)))
        returned = {
            self._owner(number)
            for number, name in enumerate(self._code.results)
            if self._is_backward and self._code.writer.get(name) is call
        }
        groups = _chosen(groups, lambda group: bool(returned & set(group.modules)))
        saved = [self._saved[name] for name in call.names if name in self._saved]
        return _chosen(groups, lambda group: any(nodes & self._around(group) for nodes in saved))

    def _owner(self, number: int) -> int:
        """Return the module of an input, if it is a parameter."""
        inputs = self._graph.inputs
        return (inputs[number] if number < len(inputs) else 0) or -1

    def _around(self, group: _Group) -> set[int]:
        """Return the nodes of a group, and the nodes that it reads values of."""
        if group not in self._near:
            near = set(self._members[group])
            edge = near
            for _ in range(_MOST_HOPS):
                inputs = {one for at in edge for one in self._graph.all[at].inputs}
                edge = inputs - near
                near = near | edge
                edge = {at for at in edge if self._graph.all[at].operator in _VIEWS}
            self._near[group] = near
        return self._near[group]

    def _narrow(self, possible: dict[int, list[_Group]]) -> bool:
        """Leave groups beside those of the neighbours; return whether any was dropped."""
        has_changed = False
        for call in self._code.calls:
            for name in call.names:
                writer = self._code.writer.get(name)
                if writer is None or writer is call:
                    continue
                for one, other in ((call, writer), (writer, call)):
                    before = possible[one.line]
                    if len(before) > 1 and len(possible[other.line]) == 1:
                        after = self._beside(before, possible[other.line][0])
                        possible[one.line] = after
                        has_changed = has_changed or len(after) < len(before)
        return has_changed

    def _beside(self, groups: list[_Group], other: _Group) -> list[_Group]:
        """Return the groups of which one reads values of the other group, or the reverse."""
        members, around = self._members[other], self._around(other)
        return _chosen(
            groups,
            lambda group: bool(self._members[group] & around or members & self._around(group)),
        )


def _in_modules(choice: Choice, groups: list[_Group]) -> Choice:
    """Return a choice with the modules that are left for it."""
    if choice.how == GRAPH or not groups or any(group.chain != choice.chain for group in groups):
        return choice
    return choice._replace(modules=common_modules([group.modules for group in groups]))


def _chosen(groups: list[_Group], is_it: Callable[[_Group], bool]) -> list[_Group]:
    """Return the groups for which this holds, or all if it holds for none."""
    found = [group for group in groups if is_it(group)]
    return found or groups
