"""Finds the modules of kernels with unknown nodes: of a backward pass from torch's cache.

inductor keeps the lines of its kernels, but one line serves all layers of a kind. The generated
files tell the layers apart: a kernel reads a parameter, or returns its gradient, or reads a value
that the forward pass saved. Parameters and saved values have modules in Dynamo's graph. A kernel
without any of them is beside one that has. If several modules are possible, the one around them is
taken.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from .choosing import GRAPH, Choice
from .generated_files import GeneratedFile, Launch, input_number
from .graphs import Chain, Graph, common_modules

# Operators between two kernels that have no kernel of their own.
_VIEWS = frozenset(
    (
        *("chunk", "contiguous", "expand", "flatten", "float", "getitem", "permute", "reshape"),
        *("select", "slice", "split", "squeeze", "t", "to", "transpose", "type_as", "unbind"),
        *("unsqueeze", "view"),
    )
)
_MOST_HOPS = 3


def are_known(choices: Iterable[Choice]) -> bool:
    """Return whether all of these have the node of a graph, so there is nothing to find."""
    return all(choice.how in (GRAPH, "") for choice in choices)


class Saved(NamedTuple):
    """A result of a forward pass."""

    name: str
    sources: list[str]  # nodes of the launch that made it


def forward_results(files: Iterable[GeneratedFile]) -> list[Saved] | None:
    """Return the results of the forward pass among the files of one function."""
    forward = [file for file in files if file.arguments and not file.is_backward]
    if len(forward) != 1:
        return None
    writer = forward[0].writer
    return [
        Saved(name, writer[name].sources if name in writer else []) for name in forward[0].results
    ]


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

    def __init__(self, graph: Graph, file: GeneratedFile, forward: list[Saved] | None) -> None:
        """`graph`: Dynamo's. `forward`: results of the forward pass, if this is its backward."""
        self._graph = graph
        self._file = file
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
            call.line: self._candidates(call, line_at(call.line)) for call in self._file.launches
        }
        while self._narrow(possible):
            pass
        found: dict[int, list[_Group]] = {}
        for call in self._file.launches:
            lines = [call.line, *(buffer.line for buffer in call.made)]
            found.update(dict.fromkeys(lines, possible[call.line]))
        return [_in_modules(choice, found.get(choice.line, [])) for choice in choices]

    def _saved_nodes(self, forward: list[Saved]) -> dict[str, set[int]]:
        """Return nodes of the values that the forward pass saves, by names of the backward file."""
        names = [name for name in self._file.arguments if not name.startswith("tangents_")]
        results = forward[len(forward) - len(names) :]
        pairs = list(zip(names, results, strict=False))
        if len(results) != len(names) or any(
            name != result.name for name, result in pairs if input_number(name) is not None
        ):
            return {}
        saved: dict[str, set[int]] = {}
        for name, result in pairs:
            nodes = [self._graph.named(source) for source in result.sources]
            last = [node.position for node in nodes if node is not None]
            if last:
                saved[name] = {last[-1]}
        return saved

    def _candidates(self, call: Launch, chain: Chain) -> list[_Group]:
        """Return the groups of a line that may be those of a call."""
        groups = self._by_chain.get(chain, [])
        if len(groups) < 2:
            return groups
        owners = {self._owner(number) for number in call.inputs}
        groups = _chosen(groups, lambda group: bool(owners & set(group.modules)))
        returned = {
            self._owner(number)
            for number, name in enumerate(self._file.results)
            if self._is_backward and self._file.writer.get(name) is call
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
        for call in self._file.launches:
            for name in call.names:
                writer = self._file.writer.get(name)
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
