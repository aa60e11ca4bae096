"""Runs cells under %peakline_live; prints what the view showed, and which variables hold blocks."""

import json
import sys
import time

import peakline
import torch
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
shown = []


def publish(data, metadata=None, *, transient=None, update=False, **_):
    shown.append({"data": data, "update": update, "during": running})


shell.display_pub.publish = publish
CELLS = {
    "view": "%load_ext peakline\n%peakline_live --every 0.05",
    "mine": "mine = torch.empty(1 << 20, device='cuda')",
    "shown": "torch.empty(3 << 20, device='cuda')",
    "long": """more = [torch.empty(1 << 22, device='cuda')]
while not [one for one in shown if one["during"] == "long"] and time.monotonic() < end:
    time.sleep(0.02)
""",
    "fails": """def fails(number):
    inner = torch.empty(number << 20, device='cuda')
    raise ValueError(number)
fails(5)
""",
    "off": "%peakline_live --off",
    "later": "del mine",
}
shell.user_ns.update(torch=torch, time=time, shown=shown, end=time.monotonic() + 20)
said = {}
held = {}
for running, text in CELLS.items():
    shell.run_cell(text, store_history=True)
    held[running] = torch.cuda.memory_allocated()
running = "end"
said["held"] = held
said["peak"] = torch.cuda.max_memory_allocated()
said["views"] = [one for one in shown if "GPU memory" in one["data"].get("text/plain", "")]
said["holders"] = [
    [block.block_bytes, [holder.path for holder in block.holders]]
    for block in peakline.holders().blocks
]
print(json.dumps(said), file=sys.stdout)
