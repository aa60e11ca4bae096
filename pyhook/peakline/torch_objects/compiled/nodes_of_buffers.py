"""Finds the operator of the graph that computes each buffer of a kernel.

A fused kernel writes several buffers. The comment above it names the operators that it writes, with
their types, but the call has the buffers in an order of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from .generated_files import Buffer, Fragment, Launch, is_alike


def _counterparts(fragment: Fragment, launch: Launch) -> dict[str, str]:
    """Return the names of this launch by those of the first launch of the same kernel."""
    if len(fragment.sources) != len(launch.sources):
        return {}
    return dict(zip(fragment.sources, launch.sources, strict=True))


def _operators_of(fragment: Fragment, written: str) -> list[str]:
    """Return the operators that this result may be of.

    The comment names a part of a reduction by its variable. Operators of the same type can be the
    reduction, or what follows it; if there is none, it is one of the kernel's last operators.
    """
    if written in fragment.calls:
        return [written]
    kind = fragment.types.get(written)
    alike = [name for name in fragment.calls if fragment.types.get(name) == kind]
    if kind and alike:
        return alike
    parts = [name for name in fragment.written if name not in fragment.calls]
    others = [name for name in fragment.sinks() if name not in fragment.written]
    return [others[parts.index(written)]] if len(parts) == len(others) else []


def _results_of(fragment: Fragment, launch: Launch) -> Iterator[tuple[Buffer, list[str]]]:
    """Yield each new buffer with the results in the comment that it may be."""
    written = fragment.written
    buffers = sorted(launch.buffers, key=lambda buffer: (len(buffer.name), buffer.name))
    kinds = [fragment.types.get(name, "") for name in written]
    is_in_order = len(buffers) == len(written) and all(
        is_alike(kind, buffer.type) for kind, buffer in zip(kinds, buffers, strict=True)
    )
    for buffer in launch.made:
        if buffer.name in written:
            yield buffer, [buffer.name]
        elif is_in_order:
            yield buffer, [written[buffers.index(buffer)]]
        else:
            pairs = zip(written, kinds, strict=True)
            alike = [name for name, kind in pairs if is_alike(kind, buffer.type)]
            same = [other for other in buffers if is_alike(other.type, buffer.type)]
            if len(alike) > len(same):
                alike = [name for name in alike if not fragment.is_only_inside(name)] or alike
            is_certain = len(alike) == len(same)
            yield buffer, [alike[same.index(buffer)]] if is_certain else alike


def nodes_of(launch: Launch) -> Iterator[tuple[Buffer, list[str]]]:
    """Yield each allocated buffer of a launch with the names of the nodes that it may hold.

    The names are those of the program's graph, or of the backward graph. Empty: unknown.
    """
    fragment = launch.fragment
    if fragment is None or not fragment.written:
        for buffer in launch.made:
            yield buffer, launch.sources[-1:]
        return
    if len(launch.buffers) == 1 and len(fragment.written) == 1:
        yield launch.buffers[0], launch.sources[-1:]
        return
    names = _counterparts(fragment, launch)
    for buffer, results in _results_of(fragment, launch):
        operators = [name for result in results for name in _operators_of(fragment, result)]
        sources = [fragment.source_of.get(operator, operator) for operator in operators]
        yield buffer, [names.get(source, "") for source in sources]
