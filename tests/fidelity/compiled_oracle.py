"""Writes what torch itself knows of the memory of compiled code, for compiled_breadth.py.

torch's own history of allocations has the generated file and line of each, and inductor's graphs
have the node of Dynamo or AOTAutograd behind each buffer: its lines and its module. The memory of a
buffer can end as a gradient: then the parameter's module is right, too. Nothing here comes from
peakline. A process that finds its code in a cache has no graphs of inductor: its files
are those of the process that filled the cache.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import torch

# A file of inductor's cache that has Python code.
_GENERATED = re.compile(r"c[a-z2-7]{51}\.py")
_MAKES = re.compile(r"\s*(\w+) = ")
_RENAMES = re.compile(r"\s*(\w+) = (?:reinterpret_tensor\()?(\w+).*# reuse")


def _module_of(node: Any) -> str | None:
    """Return the path of the innermost module of a node as torch spells it. None: unknown."""
    stack = node.meta.get("nn_module_stack") or node.meta.get("fwd_nn_module_stack")
    if not stack:
        return None
    path, _ = list(stack.values())[-1]
    return str(path)


def _described(node: Any) -> dict[str, Any]:
    found = re.findall(r'File "(.+)", line (\d+), in', node.meta.get("stack_trace") or "")
    return {
        "name": node.name,
        "lines": [[file, int(line)] for file, line in found],
        "module": _module_of(node),
    }


class Oracle:
    """Listens to torch from its creation on."""

    def __init__(self) -> None:
        from torch._inductor.graph import GraphLowering

        self.files: dict[str, dict[str, Any]] = {}
        self._graphs: list[Any] = []
        # The module of the parameter by address of its gradient, and how much was allocated before.
        self._gradients: list[tuple[int, dict[int, str]]] = []
        run, compile_to_module = GraphLowering.run, GraphLowering.compile_to_module

        def run_and_keep(graph: Any, *arguments: Any) -> Any:
            self._graphs.append(graph)
            return run(graph, *arguments)

        def compile_and_read(graph: Any) -> Any:
            module = compile_to_module(graph)
            self._read(module.__file__, is_backward=graph.is_backward)
            return module

        GraphLowering.run = run_and_keep  # type: ignore[method-assign]
        GraphLowering.compile_to_module = compile_and_read  # type: ignore[method-assign]
        torch.cuda.memory._record_memory_history(context="alloc", stacks="python")

    def _read(self, file: str, *, is_backward: bool) -> None:
        buffers: dict[str, Any] = {}
        for graph in self._graphs:
            for name, buffer in graph.name_to_buffer.items():
                node = buffer.get_origin_node()
                if node is None and getattr(buffer, "data", None) is not None:
                    node = getattr(buffer.data, "origin_node", None)
                origins = [one for one in buffer.get_origins() if one.op != "placeholder"]
                buffers[name] = {
                    "node": _described(node) if node is not None else None,
                    "origins": [_described(one) for one in origins],
                }
        self._graphs.clear()
        made = {}
        waiting: dict[str, int] = {}  # lines by variable, until a kernel receives it
        for number, line in enumerate(Path(file).read_text().splitlines(), 1):
            found = _MAKES.match(line)
            renamed = _RENAMES.match(line)
            if renamed is not None and renamed[2] in waiting:
                # The kernel stores a first value in it, and over that another one, which stays.
                waiting[renamed[1]] = waiting.pop(renamed[2])
                made[waiting[renamed[1]]] = buffers[renamed[1]]
            elif found is not None and found[1] in buffers:
                made[number] = buffers[found[1]]
                if "= empty_strided" in line:
                    waiting[found[1]] = number
            else:
                for name in re.findall(r"\w+", line):
                    waiting.pop(name, None)
        self.files[Path(file).name] = {"is_backward": is_backward, "buffers": made}

    def backward_ended(self, model: torch.nn.Module) -> None:
        """Note where the gradients are."""
        count = torch.cuda.memory_stats()["allocation.all.allocated"]
        found = {
            value.grad.data_ptr(): name.rpartition(".")[0]
            for name, value in model.named_parameters()
            if value.grad is not None
        }
        self._gradients.append((count, found))

    def write(self, file: str) -> None:
        """Write the history and the files."""
        history = torch.cuda.memory._snapshot()["device_traces"][0]
        allocations = []
        for event in history:
            if event["action"] != "alloc":
                continue
            frames = [[f["filename"], f["line"], f["name"]] for f in event.get("frames", ())]
            generated = [i for i, f in enumerate(frames) if _GENERATED.fullmatch(Path(f[0]).name)]
            end = generated[0] + 1 if generated else 0
            allocations.append({"address": event["addr"], "frames": frames[:end]})
        for count, found in self._gradients:
            for allocation in reversed(allocations[:count]):
                if allocation["address"] in found:
                    allocation["gradient_of"] = found.pop(allocation["address"])
        said = {"allocations": allocations, "files": self.files}
        Path(file).write_text(json.dumps(said))
