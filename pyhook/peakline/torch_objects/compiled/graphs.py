"""Reads the nodes of graphs: Dynamo's, which is traced anew in every process, and a backward one.

A chain is the lines that made a node: the compiled function's first, the innermost last.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

# The rest of a function after a break of its graph is a function of its own to Dynamo.
_RESUMED = re.compile(r"torch_dynamo_resume_in_(.+)_at_\d+")
_FRAME = re.compile(r'File "(.+)", line (\d+), in (.+)\n?(?: {4}(.*))?')


class Frame(NamedTuple):
    """A line of the program, with its text if the trace of the node has it."""

    file: str
    line: int
    function: str
    text: str


Chain = tuple[Frame, ...]
# The functions and their texts: what an edit elsewhere in the file leaves as it is.
Signature = tuple[tuple[str, str], ...]


class Node(NamedTuple):
    """An operator of a graph, with the lines and modules of its buffers."""

    name: str
    chain: Chain
    modules: tuple[int, ...]  # addresses, from the outermost to the innermost
    operator: str
    position: int
    inputs: tuple[int, ...] = ()  # positions of nodes of the same graph


def program_name(function: str) -> str:
    """Return the name that a function has in the program."""
    resumed = _RESUMED.fullmatch(function)
    return resumed[1] if resumed is not None else function


def chain_of(text: str | None) -> Chain:
    """Read a stack trace as fx keeps it."""
    return tuple(
        Frame(found[1], int(found[2]), program_name(found[3]), (found[4] or "").strip())
        for found in _FRAME.finditer(text or "")
    )


def signature(chain: Chain) -> Signature:
    """Return what stays equal when lines move."""
    return tuple((frame.function, frame.text) for frame in chain)


def addresses_of(meta: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the addresses of the modules that a node is in, the outermost first."""
    # The keys are str(id(module)), with "@1" for the second call of the same module.
    stack = meta.get("nn_module_stack") or meta.get("fwd_nn_module_stack") or {}
    words = [str(key).partition("@")[0] for key in stack]
    return tuple(int(word) for word in words if word.isdecimal())


def _operator(target: Any) -> str:
    name = target if isinstance(target, str) else getattr(target, "__name__", "")
    return str(name).partition(".")[0]


def _name_of(raw: Any) -> str:
    """Return the name of a node in generated code: that of the node of Dynamo's that it is from.

    A backward graph has such nodes, too: what it computes again.
    """
    sources = raw.meta.get("from_node")
    return str(getattr(sources[0], "name", raw.name)) if sources else str(raw.name)


def _graphs(graph: Any) -> Iterator[Any]:
    """Yield the graph and the graphs of its branches and regions, in their order."""
    pending = [graph] if graph is not None else []
    while pending:
        current = pending.pop()
        yield current
        owner = getattr(current, "owning_module", None)
        parts = (owner.__dict__.get("_modules") or {}).values() if owner is not None else ()
        inner = [getattr(part, "graph", None) for part in parts]
        pending.extend(part for part in reversed(inner) if hasattr(part, "nodes"))


def common_modules(stacks: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the modules around all of these."""
    common = stacks[0] if stacks else ()
    for stack in stacks[1:]:
        length = 0
        while length < min(len(common), len(stack)) and common[length] == stack[length]:
            length += 1
        common = common[:length]
    return common


class Graph:
    """The nodes of one graph by their names."""

    def __init__(self, graph: Any) -> None:
        """Read a graph of fx; None: an empty one."""
        self.all: list[Node] = []
        self.inputs: list[int] = []  # the module of each input that is a parameter; 0: another one
        self.nodes: dict[str, list[Node]] = {}
        self.chains: dict[Chain, list[Node]] = {}
        self.by_signature: dict[Signature, list[Chain]] = {}
        positions: dict[Any, int] = {}
        for part in _graphs(graph):
            for raw in part.nodes:
                if raw.op == "placeholder" and part is graph:
                    is_parameter = "_parameters_" in str(raw.target)
                    around = addresses_of(raw.meta) if is_parameter else ()
                    self.inputs.append(around[-1] if around else 0)
                if raw.op in ("placeholder", "output"):
                    continue
                before = (positions.get(node) for node in raw.all_input_nodes)
                positions[raw] = len(self.all)
                self._add(
                    Node(
                        _name_of(raw),
                        chain_of(raw.meta.get("stack_trace")),
                        addresses_of(raw.meta),
                        _operator(raw.target),
                        len(self.all),
                        tuple(position for position in before if position is not None),
                    )
                )

    def _add(self, node: Node) -> None:
        self.all.append(node)
        self.nodes.setdefault(node.name, []).append(node)
        if not node.chain:
            return
        if node.chain not in self.chains:
            self.by_signature.setdefault(signature(node.chain), []).append(node.chain)
        self.chains.setdefault(node.chain, []).append(node)

    @classmethod
    def of_chains(cls, chains: Iterable[Chain]) -> Graph:
        """Make a graph that is known only by the lines of its nodes."""
        made = cls(None)
        for chain in chains:
            made._add(Node("", chain, (), "", 0))
        return made

    @property
    def modules(self) -> set[int]:
        """The addresses of all modules that nodes are in."""
        return {address for node in self.all for address in node.modules}

    def named(self, name: str) -> Node | None:
        """Return the node of this name, or the last of several that are alike.

        Graphs of branches repeat names; a node of Dynamo's can be several ones of a backward graph.
        """
        found = self.nodes.get(name, [])
        alike = {(node.chain, node.modules) for node in found}
        return found[-1] if len(alike) == 1 else None

    def modules_of(self, chain: Chain) -> tuple[int, ...]:
        """Return the modules that all nodes of these lines are in."""
        return common_modules([node.modules for node in self.chains.get(chain, ())])
