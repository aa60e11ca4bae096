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


def _number_of(buffer: Buffer) -> tuple[int, str]:
    return (len(buffer.name), buffer.name)


def _in_order(buffers: list[Buffer], launch: Launch) -> list[Buffer]:
    """Return buffers in the order of the results in the comment. Empty: unknown.

    New ones are arguments in this order. Others come first in the call; their numbers tell.
    """
    by_call = sorted(buffers, key=lambda buffer: launch.names.index(buffer.name))
    if not any(buffer.is_in_place for buffer in buffers):
        return by_call
    by_number = sorted(buffers, key=_number_of)
    new = [buffer for buffer in by_call if not buffer.is_in_place]
    return by_number if new == [one for one in by_number if not one.is_in_place] else []


def _results_of(fragment: Fragment, launch: Launch) -> Iterator[tuple[Buffer, list[str]]]:
    """Yield each new buffer with the results in the comment that it may be."""
    stored = [name for name in fragment.written if not fragment.is_only_inside(name)]
    kinds = [fragment.types.get(name, "") for name in stored]
    every = _in_order(launch.buffers, launch)
    are_all = len(every) == len(stored) and all(
        is_alike(kind, buffer.type) for kind, buffer in zip(kinds, every, strict=True)
    )
    for buffer in launch.made:
        pairs = zip(stored, kinds, strict=True)
        alike = [name for name, kind in pairs if is_alike(kind, buffer.type)]
        same = [one for one in launch.buffers if one.type and is_alike(one.type, buffer.type)]
        ordered = _in_order(same, launch)
        if buffer.name in fragment.written:
            yield buffer, [buffer.name]
        elif len(alike) == len(ordered):
            yield buffer, [alike[ordered.index(buffer)]]
        else:
            yield buffer, [stored[every.index(buffer)]] if are_all else alike


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
