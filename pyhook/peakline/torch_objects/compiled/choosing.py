"""Chooses the line and module of each buffer of generated code.

inductor keeps one line for each kernel. It comes from the cache, so it may be that of another
program: equal code in another function, or an earlier version of the file. Dynamo's graph is always
that of the running program. A line is used only when both agree, or when inductor's line has its
one counterpart in the graph.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .generated_files import Buffer, GeneratedFile, Launch
from .graphs import Chain, Graph, Node, chain_of, common_modules, signature
from .nodes_of_buffers import nodes_of
from .regions import Regions

# How a line was found, as the trace has it.
GRAPH = "graph"
MAP = "map"
LAST = "last"  # of several lines fused into the kernel, only the last one is known
STALE = "stale"  # the code is from a cache of another version of this file


class Choice(NamedTuple):
    """The lines of a buffer."""

    line: int
    chain: Chain
    modules: tuple[int, ...]
    how: str
    operators: list[str]


class KeptLines:
    """The lines that inductor keeps for a file: one for each kernel, by where its code begins."""

    def __init__(self, entries: Sequence[Sequence[object]]) -> None:
        """Take an entry of PyCodeCache.linemaps."""
        both = len(entries) == 2
        self._starts: list[int] = list(entries[0]) if both else []  # type: ignore[arg-type]
        texts = entries[1] if both else ()
        self._chains = [chain_of(text if isinstance(text, str) else "") for text in texts]
        self.all = {chain for chain in self._chains if chain}

    def at(self, line: int) -> Chain:
        """Return the lines of the kernel around this line. Empty: unknown."""
        found = bisect_right(self._starts, line)
        return self._chains[found - 1] if found else ()


class Chooser:
    """Joins a file with the graphs that it was compiled from."""

    def __init__(self, kept: KeptLines, graphs: Sequence[Graph], *, is_new: bool) -> None:
        """`graphs`: the most precise first. `is_new`: not from a cache."""
        self._kept = kept
        self._graphs = graphs
        self._is_new = is_new
        self._in_region: Node | None = None
        self._is_unmoved = all(any(chain in g.chains for g in graphs) for chain in kept.all)

    def line_at(self, line: int) -> Chain:
        """Return the lines of the kernel around a line of the file, in the running program."""
        return self._current(self._kept.at(line))

    def choose(self, file: GeneratedFile) -> Iterator[Choice]:
        """Yield the lines of all buffers of the file that have any."""
        has_names_of_now = self._is_new or self._fits(file) or self._names_agree(file)
        regions = Regions(self._graphs[-1], file) if self._graphs else None
        for launch in file.launches:
            self._in_region = regions.node_of(launch) if regions is not None else None
            for buffer, names in nodes_of(launch):
                yield self._of_buffer(launch, buffer, names, has_names_of_now)

    def _of_buffer(
        self, launch: Launch, buffer: Buffer, names: Sequence[str], has_names_of_now: bool
    ) -> Choice:
        kept = self._kept.at(buffer.line)
        operators = launch.operators
        is_last = list(names) == launch.sources[-1:]
        node = self._of_all(names) if not buffer.is_in_parts else None
        if node is not None:
            agrees = (
                signature(node.chain) == signature(kept)
                if is_last
                else self._is_at(launch.sources[-1], kept)
            )
            if agrees or (has_names_of_now and not (kept and is_last)):
                return Choice(buffer.line, node.chain, node.modules, GRAPH, operators)
        current = self._current(kept)
        last = self._last_of(launch) if has_names_of_now and not kept else None
        if last is not None:
            return Choice(buffer.line, last.chain, last.modules, LAST, operators)
        if not current:
            return Choice(buffer.line, (), (), STALE if kept else "", operators)
        is_certain = is_last or self._has_one_line(launch, current)
        how = MAP if is_certain and not buffer.is_in_parts else LAST
        return Choice(buffer.line, current, self._modules_of(current), how, operators)

    def _is_at(self, name: str, kept: Chain) -> bool:
        """Whether a node of this name, perhaps in one of several regions, is on a kept line."""
        wanted = signature(kept)
        found = (node for graph in self._graphs for node in graph.nodes.get(name, ()))
        return any(node.chain and signature(node.chain) == wanted for node in found)

    def _last_of(self, launch: Launch) -> Node | None:
        """Return the last node of a kernel that is known: others may be of the backward pass."""
        known = (self._named(name) for name in reversed(launch.sources))
        return next((node for node in known if node is not None), None)

    def _has_one_line(self, launch: Launch, line: Chain) -> bool:
        """Whether the kernel's line is that of each of its results."""
        if launch.fragment is None or len(launch.fragment.written) <= 1:
            return True
        nodes = [
            node
            for name in launch.sources
            for graph in self._graphs
            for node in graph.nodes.get(name, ())
        ]
        return bool(nodes) and all(node.chain == line for node in nodes)

    def _fits(self, file: GeneratedFile) -> bool:
        """Whether the names in the file of a cache are those of the running program.

        inductor kept no lines to compare. The graphs are equal but for their names, so equal names
        are in the same order, and compute the same.
        """
        if self._kept.all:
            return False
        every_operator = {name for launch in file.launches for name in launch.operators}
        for launch in file.launches:
            nodes = [node for name in launch.sources if (node := self._named(name)) is not None]
            positions = [node.position for node in nodes]
            other = f"aten.{nodes[0].operator}" if len(nodes) == 1 else ""
            is_another = other in every_operator and other not in launch.operators
            if not nodes or positions != sorted(positions) or is_another:
                return False
        return True

    def _names_agree(self, file: GeneratedFile) -> bool:
        """Whether every line that inductor kept is that of the node which the file names.

        Then the names are those of the running program, also where inductor kept no line.
        """
        known = [
            (launch.sources[-1], kept)
            for launch in file.launches
            if launch.sources and (kept := self._kept.at(launch.line))
        ]
        return bool(known) and all(self._is_at(name, kept) for name, kept in known)

    def _of_all(self, names: Sequence[str]) -> Node | None:
        """Return the node of these names, if all are on one line."""
        nodes = [self._named(name) for name in names]
        found = [node for node in nodes if node is not None]
        if len(found) < len(nodes) or len({node.chain for node in found}) != 1:
            return None
        return found[0]._replace(modules=common_modules([node.modules for node in found]))

    def _named(self, name: str) -> Node | None:
        for graph in self._graphs:
            node = graph.named(name)
            if node is not None and node.chain:
                return node
        inside = self._in_region
        return inside if inside is not None and inside.name == name else None

    def _current(self, kept: Chain) -> Chain:
        """Return the counterpart of a kept line in the running program. Empty: there is none."""
        if not kept:
            return ()
        if self._is_unmoved:
            return kept
        wanted = signature(kept)
        for graph in self._graphs:
            now = sorted(graph.by_signature.get(wanted, ()))
            then = sorted(chain for chain in self._kept.all if signature(chain) == wanted)
            if len(now) == 1 or len(now) == len(then) > 0:
                return now[0] if len(now) == 1 else now[then.index(kept)]
        return ()

    def _modules_of(self, chain: Chain) -> tuple[int, ...]:
        for graph in self._graphs:
            if chain in graph.chains:
                return graph.modules_of(chain)
        return ()
