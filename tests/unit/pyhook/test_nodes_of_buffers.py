"""Each buffer of a fused kernel has the operators that the kernel stores into it.

The texts are inductor's, shortened. The oracle is the kernel's own stores, given beside each case.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "pyhook"))

from peakline.torch_objects.compiled.generated_files import GeneratedFile
from peakline.torch_objects.compiled.nodes_of_buffers import nodes_of

# Stores %mul_31 over its first argument, and %mul_28 into its last one.
OVER_AN_INPUT = """\
# Topologically Sorted Source Nodes: [up, gate, mul_28, mul_31], Original ATen: [aten.mul]
# Source node to ATen node mapping:
#   gate => div_2
#   mul_28 => mul_28
#   mul_31 => mul_31
#   up => view_31
# Graph fragment:
#   %mul_28 : Tensor "f32[2, 8][8, 1]cuda:0" = call_function[target=mul](args = (%a, 1))
#   %mul_31 : Tensor "f32[2, 8][8, 1]cuda:0" = call_function[target=mul](args = (%b, 1))
#   return %mul_31,%mul_28
silu_5 = async_compile.triton('silu_5', '''
import triton
    buf17 = empty_strided_cuda((9, 9), (9, 1), torch.float32)
''', device_str='cuda')
class Runner:
    def call(self, args):
        addmm_6, addmm_7, tangents_1 = args
        buf12 = reinterpret_tensor(addmm_6, (2, 8), (8, 1), 0); del addmm_6  # reuse
        buf17 = empty_strided_cuda((2, 8), (8, 1), torch.float32)
        # Topologically Sorted Source Nodes: [up, gate, mul_28, mul_31], Original ATen: [aten.mul]
        silu_5.run(buf12, addmm_7, buf17, 16, stream=raw_stream0)
        buf18 = reinterpret_tensor(addmm_7, (2, 8), (8, 1), 0); del addmm_7  # reuse
        buf19 = empty_strided_cuda((2, 8), (8, 1), torch.float32)
        # Topologically Sorted Source Nodes: [up_1, gate_1, mul_8, mul_9], Original ATen: [aten.mul]
        silu_5.run(buf18, tangents_1, buf19, 16, stream=raw_stream0)
"""
# Stores the sums of %mean_2 into `buf4`, %mul_6 into `buf5`. `more` stores sums, `dropout` what is
# read outside of the kernel, too.
REDUCTIONS = """\
# Topologically Sorted Source Nodes: [mean, add, mul], Original ATen: [aten.mean, aten.mul]
# Source node to ATen node mapping:
#   add => add_5
#   mean => mean_2
#   mul => mul_6
# Graph fragment:
#   %buf4 : Tensor "f32[2, 1][1, 2]cuda:0" = PlaceHolder[target=buf4]
#   %mean_2 : Tensor "f32[2, 1][1, 1]cuda:0" = call_function[target=mean](args = (%x,))
#   %add_5 : Tensor "f32[2, 1][1, 1]cuda:0" = call_function[target=add](args = (%mean_2,))
#   %mul_6 : Tensor "f32[2, 8][8, 1]cuda:0" = call_function[target=mul](args = (%add_5,))
#   return %buf4,%mul_6
norm_1 = async_compile.triton('norm_1', '''
''', device_str='cuda')
# Topologically Sorted Source Nodes: [sum_a, sum_b], Original ATen: [aten.sum]
# Source node to ATen node mapping:
#   sum_a => sum_5
#   sum_b => sum_10
# Graph fragment:
#   %sum_5 : Tensor "f32[8][1]cuda:0" = call_function[target=sum](args = (%x,))
#   %sum_10 : Tensor "f32[8][1]cuda:0" = call_function[target=sum](args = (%y,))
#   return %buf7,%buf8
more_2 = async_compile.triton('more_2', '''
''', device_str='cuda')
# Topologically Sorted Source Nodes: [dropout, scale, double], Original ATen: [aten.mul]
# Source node to ATen node mapping:
#   double => mul_3
#   dropout => random, mul_1
#   scale => mul_2
# Graph fragment:
#   %random : Tensor "f32[4][1]cuda:0"[num_users=1] = call_function[target=random](args = (%x,))
#   %mul_1 : Tensor "f32[4][1]cuda:0"[num_users=2] = call_function[target=mul](args = (%random,))
#   %mul_3 : Tensor "f32[4][1]cuda:0"[num_users=1] = call_function[target=mul](args = (%mul_1,))
#   return %random,%mul_1,%mul_3
dropout_3 = async_compile.triton('dropout_3', '''
''', device_str='cuda')
class Runner:
    def call(self, args):
        x, y = args
        buf10 = empty_strided_cuda((4, ), (1, ), torch.float32)
        buf11 = empty_strided_cuda((4, ), (1, ), torch.float32)
        # Topologically Sorted Source Nodes: [dropout, scale, double], Original ATen: [aten.mul]
        dropout_3.run(x, buf10, buf11, 16, stream=raw_stream0)
        buf4 = empty_strided_cuda((2, 1), (1, 2), torch.float32)
        buf5 = empty_strided_cuda((2, 8), (8, 1), torch.float32)
        # Topologically Sorted Source Nodes: [mean, add, mul], Original ATen: [aten.mean, aten.mul]
        norm_1.run(x, buf4, buf5, 16, stream=raw_stream0)
        buf6 = empty_strided_cuda((2, 1), (1, 2), torch.float32)
        buf9 = empty_strided_cuda((2, 8), (8, 1), torch.float32)
        # Topologically Sorted Source Nodes: [mean_1, add_1, mul_1], Original ATen: [aten.mean]
        norm_1.run(y, buf6, buf9, 16, stream=raw_stream0)
        buf7 = empty_strided_cuda((8, 4), (1, 8), torch.float32)
        buf8 = empty_strided_cuda((8, 4), (1, 8), torch.float32)
        # Topologically Sorted Source Nodes: [sum_a, sum_b], Original ATen: [aten.sum]
        more_2.run(x, y, buf7, buf8, 16, stream=raw_stream0)
"""
EXPECTED = {
    "buf17": ["mul_28"],
    "buf19": ["mul_8"],  # the same kernel again, with other names
    "buf4": ["mean", "add"],  # both are of this type
    "buf5": ["mul"],
    "buf6": ["mean_1", "add_1"],
    "buf9": ["mul_1"],
    "buf7": ["sum_a"],
    "buf8": ["sum_b"],
    "buf10": ["dropout"],
    "buf11": ["double"],
}


@pytest.fixture(scope="module")
def found() -> dict[str, list[str]]:
    files = [GeneratedFile(text.splitlines()) for text in (OVER_AN_INPUT, REDUCTIONS)]
    launches = [launch for file in files for launch in file.launches]
    return {buffer.name: names for launch in launches for buffer, names in nodes_of(launch)}


@pytest.mark.parametrize("buffer", EXPECTED)
def test_a_buffer_has_the_node_that_the_kernel_stores_into_it(
    found: dict[str, list[str]], buffer: str
) -> None:
    assert found[buffer] == EXPECTED[buffer]


def test_the_text_of_a_kernel_makes_no_buffer(found: dict[str, list[str]]) -> None:
    assert found.keys() == EXPECTED.keys()


# Two kernels fill the halves of one buffer: a third, which reads it, does not make it.
def test_a_buffer_that_is_filled_by_halves_has_no_single_node() -> None:
    text = """\
    def call(self, args):
        x, = args
        buf3 = empty_strided_cuda((2, 8), (8, 1), torch.float32)
        buf1 = reinterpret_tensor(buf3, (1, 8), (8, 1), 0)  # alias
        # Topologically Sorted Source Nodes: [left], Original ATen: [aten.sin]
        left_0.run(x, buf1, 8, stream=raw_stream0)
        buf2 = reinterpret_tensor(buf3, (1, 8), (8, 1), 8)  # alias
        right_0.run(x, buf2, 8, stream=raw_stream0)
        reader_0.run(buf3, x, 8, stream=raw_stream0)
"""
    file = GeneratedFile(text.splitlines())
    assert [len(launch.made) for launch in file.launches] == [0, 0, 1]
    assert file.launches[2].made[0].is_in_parts
    assert file.writer["buf1"] is file.writer["buf3"] is file.launches[0]
