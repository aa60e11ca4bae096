"""Lines of a generated file from a cache: names count only while inductor's own lines agree."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).parents[3] / "pyhook"))

from peakline.torch_objects.compiled.choosing import GRAPH, Choice, Chooser, KeptLines
from peakline.torch_objects.compiled.generated_files import GeneratedFile
from peakline.torch_objects.compiled.graphs import Graph
from test_kernel_modules import node

# inductor keeps no line for a kernel whose last node has none, such as a copy into a statistic.
FILE = """\
    def call(self, args):
        x, = args
        buf0 = empty_strided_cuda((8, 8), (8, 1), torch.float32)
        # Topologically Sorted Source Nodes: [hidden], Original ATen: [aten.mm]
        extern_kernels.mm(x, x, out=buf0)
        buf1 = empty_strided_cuda((8, 8), (8, 1), torch.float32)
        # Topologically Sorted Source Nodes: [normed], Original ATen: [aten.batch_norm]
        norm_0.run(buf0, buf1, 64, stream=raw_stream0)
""".splitlines()
FIRST = 'File "net.py", line 3, in forward\n    hidden = x @ x\n'
SECOND = 'File "net.py", line 4, in forward\n    normed = norm(hidden)\n'


def chosen(kept: str) -> dict[int, Choice]:
    """Choose with this line for the first kernel, and none for the second."""
    nodes = [node("hidden", stack_trace=FIRST), node("normed", stack_trace=SECOND)]
    graph = Graph(SimpleNamespace(nodes=nodes))
    chooser = Chooser(KeptLines([[3, 6], [kept, ""]]), [graph], is_new=False)
    return {choice.line: choice for choice in chooser.choose(GeneratedFile(FILE))}


def test_names_give_a_line_where_inductor_kept_none_and_the_others_agree() -> None:
    choices = chosen(FIRST)
    assert [choices[line].chain[0].line for line in (3, 6)] == [3, 4]
    assert choices[6].how == GRAPH


def test_names_count_for_nothing_once_a_line_is_of_another_version() -> None:
    choices = chosen(FIRST.replace("hidden", "wide"))
    assert [choices[line].chain for line in (3, 6)] == [(), ()]
