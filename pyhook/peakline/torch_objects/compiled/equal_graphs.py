"""Moves what is known of a generated file from one function to another with an equal graph.

torch gives functions that compute the same one generated file, and inductor keeps the lines of the
first. Their graphs are equal but for names and lines, so their nodes correspond one by one.
"""

from __future__ import annotations

from collections.abc import Sequence

from .choosing import GRAPH, Choice
from .graphs import Chain, Graph

_Place = tuple[Chain, tuple[int, ...]]


def _counterparts(then: Graph, now: Graph) -> dict[_Place, _Place | None]:
    """Return lines and modules of the second graph by those of the first; None: ambiguous."""
    if [node.operator for node in then.all] != [node.operator for node in now.all]:
        return {}
    places: dict[_Place, _Place | None] = {}
    for old, new in zip(then.all, now.all, strict=True):
        place = (new.chain, new.modules)
        key = (old.chain, old.modules)
        places[key] = place if places.get(key, place) == place else None
    return places


def moved(
    choices: Sequence[Choice], earlier: Sequence[Choice], then: Graph, now: Graph
) -> list[Choice]:
    """Return the choices of a file, with those of an earlier function where its graph is equal."""
    places = _counterparts(then, now)
    by_line = {choice.line: choice for choice in earlier}
    result = []
    for choice in choices:
        known = by_line.get(choice.line)
        place = places.get((known.chain, known.modules)) if known is not None else None
        if place is not None:
            choice = choice._replace(chain=place[0], modules=place[1], how=GRAPH)
        result.append(choice)
    return result
