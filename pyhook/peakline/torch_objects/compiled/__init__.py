"""Reports the lines and modules of the model behind the memory of code from torch.compile.

Everything is read when torch compiles: the graph that Dynamo traced, the file that inductor
generated from it, and the lines that inductor keeps for that file, which may come from a cache of
another program. choosing.py joins them; FRAMES.md of the report explains how a row gets its line.
Nothing runs when the compiled code runs.
"""

from .watching import Compiler

__all__ = ["Compiler"]
