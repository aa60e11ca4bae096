"""Kernels of a cached backward pass get the modules that Dynamo's graph of the program has."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "pyhook"))

from peakline.torch_objects.compiled.choosing import MAP, Choice
from peakline.torch_objects.compiled.generated_files import GeneratedFile
from peakline.torch_objects.compiled.graphs import Graph, chain_of
from peakline.torch_objects.compiled.kernel_modules import KernelModules, forward_results

NET, UPS, DOWNS, BLOCKS = 1, (21, 22), (31, 32), (11, 12)
TEXTS = {
    line: f'File "net.py", line 9, in forward\n    x = block(x)\nFile "net.py", line {line}, in b\n'
    for line in (3, 4, 5)
}
FORWARD = """\
    def call(self, args):
        primals_1, primals_2, primals_3, primals_4, primals_5 = args
        buf0 = empty_strided_cuda((8, 8), (8, 1), torch.float32)
        # Topologically Sorted Source Nodes: [up], Original ATen: [aten.mm]
        extern_kernels.mm(primals_1, primals_2, out=buf0)
        buf1 = empty_strided_cuda((8, 8), (8, 1), torch.float32)
        # Topologically Sorted Source Nodes: [gelu], Original ATen: [aten.gelu]
        triton_poi_fused_gelu_0.run(buf0, buf1, 64, stream=raw_stream0)
        buf2 = empty_strided_cuda((8, 8), (8, 1), torch.float32)
        # Topologically Sorted Source Nodes: [down], Original ATen: [aten.mm]
        extern_kernels.mm(buf1, primals_3, out=buf2)
        buf3 = empty_strided_cuda((8, 8), (8, 1), torch.float32)
        # Topologically Sorted Source Nodes: [up_1], Original ATen: [aten.mm]
        extern_kernels.mm(buf2, primals_4, out=buf3)
        buf4 = buf1; del buf1  # reuse
        return (buf4, primals_2, primals_3, primals_4, primals_5, buf0, buf3, )
"""
BACKWARD = """\
    def call(self, args):
        primals_2, primals_3, primals_4, primals_5, mm, mm_2, tangents_1 = args
        buf0 = empty_strided_cuda((8, 8), (8, 1), torch.float32)
        extern_kernels.mm(tangents_1, primals_5, out=buf0)
        buf1 = empty_strided_cuda((8, 8), (8, 1), torch.float32)
        triton_poi_fused_gelu_backward_0.run(mm_2, buf0, buf1, 64, stream=raw_stream0)
        buf2 = empty_strided_cuda((8, 8), (8, 1), torch.float32)
        extern_kernels.mm(tangents_1, buf1, out=buf2)
        buf3 = empty_strided_cuda((8, 8), (8, 1), torch.float32)
        triton_poi_fused_gelu_backward_0.run(mm, buf0, buf3, 64, stream=raw_stream0)
        buf4 = empty_strided_cuda((8, 8), (8, 1), torch.float32)
        triton_red_fused_sum_1.run(tangents_1, buf4, 64, stream=raw_stream0)
        return (None, None, None, buf2, None, )
"""
# By lines of the backward file: the line of the model, and the modules.
EXPECTED = {
    3: (5, (NET, BLOCKS[1], DOWNS[1])),  # reads the parameter
    5: (4, (NET, BLOCKS[1])),  # reads the saved value of the second layer
    7: (3, (NET, BLOCKS[1], UPS[1])),  # is the gradient of its parameter
    9: (4, (NET, BLOCKS[0])),
    11: (5, (NET,)),  # nothing tells which layer
}


class RawNode(SimpleNamespace):
    """A node of torch.fx, without torch."""

    __hash__ = object.__hash__  # type: ignore[assignment]


def node(name: str, op: str = "call_function", *inputs: Any, **meta: Any) -> Any:
    return RawNode(name=name, op=op, target=name, meta=meta, all_input_nodes=list(inputs))


def stack(*modules: int) -> dict[str, Any]:
    return {str(address): ("", None) for address in modules}


def dynamos_graph() -> Graph:
    nodes = [node("x", "placeholder")]
    for up, down in zip(UPS, DOWNS, strict=True):
        for module in (up, down):
            nodes.append(node("p", "placeholder", nn_module_stack=stack(module)))
            nodes[-1].target = f"L_self_parameters_{module}_"
    x = nodes[0]
    for i, suffix in enumerate(("", "_1")):
        inside = (NET, BLOCKS[i])
        for name, line, modules in (
            ("up", 3, (*inside, UPS[i])),
            ("gelu", 4, inside),
            ("down", 5, (*inside, DOWNS[i])),
        ):
            meta = {"nn_module_stack": stack(*modules), "stack_trace": TEXTS[line]}
            x = node(name + suffix, "call_function", x, **meta)
            nodes.append(x)
    return Graph(SimpleNamespace(nodes=nodes))


@pytest.fixture(scope="module")
def found() -> dict[int, tuple[int, ...]]:
    forward, backward = (GeneratedFile(text.splitlines()) for text in (FORWARD, BACKWARD))
    assert backward.is_backward and not forward.is_backward
    modules = KernelModules(dynamos_graph(), backward, forward_results([backward, forward]))
    chains = {at: chain_of(TEXTS[line]) for at, (line, _) in EXPECTED.items()}
    choices = [Choice(at, chain, (NET,), MAP, []) for at, chain in chains.items()]
    # The line of a kernel is that of the buffer above it.
    moved = modules.moved(choices, lambda line: chains[line - 1])
    return {choice.line: choice.modules for choice in moved}


@pytest.mark.parametrize("line", EXPECTED)
def test_a_kernel_of_a_cached_backward_pass_has_its_module(
    found: dict[int, tuple[int, ...]], line: int
) -> None:
    assert found[line] == EXPECTED[line][1]
