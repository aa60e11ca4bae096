"""Trains with sizes that rounding and splitting change, and dumps torch's snapshot.

Arguments: a file for the snapshot; "pool" for blocks of a MemPool. Prints torch's own peaks.
"""

import contextlib
import json
import sys

import torch


def train() -> list[object]:
    torch.cuda.memory._set_memory_metadata("weights")
    model = torch.nn.Sequential(torch.nn.Linear(700, 2100), torch.nn.Linear(2100, 700)).cuda()
    torch.cuda.memory._set_memory_metadata({"part": "loop"})
    optimizer = torch.optim.AdamW(model.parameters())
    kept: list[object] = [model, optimizer]
    for step in range(3):
        batch = torch.randn(333 + step * 100, 700, device="cuda")
        model(batch).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        kept.append(torch.empty(1_234_567 + step * 99_999, device="cuda"))
    # Alone in its segment, of which too little is left over to split it off.
    kept.append(torch.empty(39 * (1 << 19), dtype=torch.uint8, device="cuda"))
    del kept[2]
    return kept


def main() -> None:
    torch.cuda.memory._record_memory_history(stacks="python")
    pool = torch.cuda.MemPool() if "pool" in sys.argv[2:] else None
    with torch.cuda.use_mem_pool(pool) if pool is not None else contextlib.nullcontext():
        kept = train()
    peaks = [torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()]
    torch.cuda.memory._dump_snapshot(sys.argv[1])
    print(json.dumps(peaks), flush=True)
    del kept


if __name__ == "__main__":
    main()
