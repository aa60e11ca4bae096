"""Tells apart the regions of a graph that have nodes with the same names.

Each call of a checkpointed function, or of a branch, is a graph of its own, with names of its own.
The generated file has them one after another, in the backward pass in reverse. The order counts
only if the kernels of a region read parameters of its own modules, and of no others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from .generated_files import GeneratedFile, Launch
from .graphs import Graph, Node


class Regions:
    """The launches of a file in regions with equal names."""

    def __init__(self, graph: Graph, file: GeneratedFile) -> None:
        """Find the region of each launch."""
        launches: dict[str, list[Launch]] = defaultdict(list)
        for launch in file.launches:
            if launch.sources and len(graph.nodes.get(launch.sources[-1], ())) > 1:
                launches[launch.sources[-1]].append(launch)
        self._nodes: dict[int, Node] = {}
        for step in (1, -1):
            placed = self._placed(graph, launches, step)
            if placed is not None:
                self._nodes = placed
                break

    def node_of(self, launch: Launch) -> Node | None:
        """Return the last node of a launch. None: unknown, or no other node has its name."""
        return self._nodes.get(id(launch))

    @staticmethod
    def _placed(
        graph: Graph, launches: Mapping[str, list[Launch]], step: int
    ) -> dict[int, Node] | None:
        """Return nodes by launch in this order; None if parameters contradict or confirm none."""
        placed: dict[int, Node] = {}
        is_confirmed = False
        for name, found in launches.items():
            nodes = graph.nodes[name][::step]
            if len(nodes) != len(found):
                continue
            for launch, node in zip(found, nodes, strict=True):
                placed[id(launch)] = node
                for number in launch.inputs:
                    module = graph.inputs[number] if number < len(graph.inputs) else 0
                    if module and module not in node.modules:
                        return None
                    is_confirmed = is_confirmed or bool(module)
        return placed if is_confirmed else None
