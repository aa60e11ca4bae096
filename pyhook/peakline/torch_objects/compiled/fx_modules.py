"""Reads the graphs that run as Python code of torch.fx, one line for each node.

Such code comes from the backends "eager" and "aot_eager", from backends of the program, and from
torch.export. Its file has a name, `<eval_with_key>.5`, but does not exist: the module has the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from .choosing import GRAPH, Choice
from .graphs import Chain, addresses_of, chain_of

_NODE = re.compile(r"    (\w+)(?: : .*?)? = ")
_FILES = ("<eval_with_key>", "fx_generated_")


class FxCode(NamedTuple):
    """The code of one graph."""

    file: str
    choices: list[Choice]
    is_exported: bool  # then it has its own modules

    def functions(self) -> Iterator[tuple[tuple[str, int, int, str], list[Choice]]]:
        """Yield the choices of each function that was traced: file, first line, last line, name."""
        found: dict[tuple[str, str], list[Choice]] = {}
        for choice in self.choices:
            outermost = choice.chain[0]
            found.setdefault((outermost.file, outermost.function), []).append(choice)
        for (file, name), choices in found.items():
            yield (file, 0, max(choice.chain[0].line for choice in choices), name), choices


def _submodule(root: Any, path: str) -> Any:
    """Return the innermost existing module on a path."""
    for name in path.split("."):
        child = (root.__dict__.get("_modules") or {}).get(name)
        if child is None:
            break
        root = child
    return root


def _modules_of(module: Any, meta: dict[str, Any]) -> tuple[int, ...]:
    found = addresses_of(meta)
    if found:
        return found
    # torch.export names modules by their paths.
    paths = [entry[0] for entry in (meta.get("nn_module_stack") or {}).values()]
    return (id(_submodule(module, paths[-1])),) if paths and paths[-1] else ()


def _text_of(module: Any) -> tuple[str, str]:
    """Return file and text of a module's code. Empty: it has none, or has never run."""
    forward = vars(type(module)).get("forward")
    file = getattr(getattr(forward, "__code__", None), "co_filename", "")
    return file, vars(module).get("_code") or ""


def fx_codes(modules: Iterable[Any], known: set[str]) -> Iterator[FxCode]:
    """Yield the code of modules with a file that is not known yet, and add the file."""
    for module in modules:
        file, text = _text_of(module)
        if not file.startswith(_FILES) or file in known:
            continue
        known.add(file)
        graph = vars(module).get("_graph")
        nodes = {node.name: node for node in graph.nodes} if graph is not None else {}
        choices = []
        for number, line in enumerate(text.splitlines(), 1):
            found = _NODE.match(line)
            node = nodes.get(found[1]) if found is not None else None
            chain: Chain = chain_of(node.meta.get("stack_trace")) if node is not None else ()
            if node is not None and chain:
                choices.append(Choice(number, chain, _modules_of(module, node.meta), GRAPH, []))
        if choices:
            is_exported = vars(module).get("_in_spec") is not None
            yield FxCode(file, choices, is_exported)
