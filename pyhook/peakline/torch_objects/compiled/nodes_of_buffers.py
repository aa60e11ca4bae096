"""Finds the operator of the graph that computes each buffer of a kernel.

A fused kernel writes several buffers. The comment above it names the operators that it writes, with
their types, but the call has the buffers in an order of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from .generated_files import Buffer, Fragment, Launch


def _counterparts(fragment: Fragment, launch: Launch) -> dict[str, str]:
    """Return the names of this launch by those of the first launch of the same kernel."""
    if len(fragment.sources) != len(launch.sources):
        return {}
    return dict(zip(fragment.sources, launch.sources, strict=True))


def _written_by(fragment: Fragment, buffer: Buffer) -> str:
    """Return the operator for a buffer that the comment names by its variable: a partial result."""
    others = [name for name in fragment.sinks() if name not in fragment.written]
    named = [name for name in fragment.written if name not in fragment.calls]
    return others[0] if buffer.name in named and len(named) == len(others) == 1 else ""


def _candidates(fragment: Fragment, launch: Launch) -> Iterator[tuple[Buffer, list[str]]]:
    """Yield each allocated buffer with the operators that it may hold."""
    known = [name for name in fragment.written if name in fragment.calls]
    for buffer in launch.buffers:
        if buffer.is_reused:
            continue
        if buffer.name in fragment.written:
            yield buffer, [_written_by(fragment, buffer)]
            continue
        alike = [name for name in known if fragment.types.get(name) == buffer.type]
        same = [
            other
            for other in launch.buffers
            if other.type == buffer.type and other.name not in fragment.written
        ]
        has_unknown = any(not other.type for other in launch.buffers)
        if len(alike) == len(same) and not has_unknown:
            same.sort(key=lambda other: (len(other.name), other.name))
            alike = [alike[same.index(buffer)]]
        yield buffer, alike


def nodes_of(launch: Launch) -> Iterator[tuple[Buffer, list[str]]]:
    """Yield each allocated buffer of a launch with the names of the nodes that it may hold.

    The names are those of the program's graph, or of the backward graph. Empty: unknown.
    """
    made = [buffer for buffer in launch.buffers if not buffer.is_reused]
    fragment = launch.fragment
    if fragment is None or not fragment.written:
        for buffer in made:
            yield buffer, launch.sources[-1:]
        return
    if len(launch.buffers) == 1 and len(fragment.written) == 1:
        yield made[0], launch.sources[-1:]
        return
    names = _counterparts(fragment, launch)
    for buffer, operators in _candidates(fragment, launch):
        sources = [fragment.source_of.get(operator, operator) for operator in operators]
        yield buffer, [names.get(source, "") for source in sources]
