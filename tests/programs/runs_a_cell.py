"""Runs cells of a notebook under %%peakline; says what torch counted and what was displayed."""

import json
import sys

import torch
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "peakline")
before = torch.empty(1 << 20, device="cuda")
CELL = """
import torch
kept = [torch.empty(1 << 20, device="cuda") for _ in range(3)]
gone = torch.empty(1 << 22, device="cuda")
del gone
answer = 42
"""
with capture_output() as first:
    shell.run_cell_magic("peakline", "--tab flame --height 500", CELL)
said = {"peak": torch.cuda.max_memory_allocated(), "answer": shell.user_ns["answer"]}
said["shown"] = [one.data.get("text/html", "") for one in first.outputs]
said["plain"] = [one.data.get("text/plain", "") for one in first.outputs]
said["text"] = first.stdout
with capture_output() as second:
    shell.run_cell("%%peakline --tab nothing\nwrong = 1")
said["wrong_ran"] = "wrong" in shell.user_ns
said["usage"] = second.stderr
with capture_output() as third:
    shell.run_cell_magic("peakline", "", "raise KeyError('mine')")
said["raised"] = "KeyError" in third.stdout + third.stderr
print(json.dumps(said), file=sys.stdout)
