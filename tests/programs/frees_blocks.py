"""Gives up blocks of known sizes at known lines; the lines say which: `# frees NAME`.

All of them are live at the peak. Prints the requested size of each by its name. What a function
holds when it returns is freed by its last line or, in newer versions of Python, by the line that
called it: both are marked.
"""

import gc
import queue
import threading
import time

import torch
from counters import finish_holding
from torch import nn

sizes: dict[str, int] = {}
blocks: dict[str, torch.Tensor] = {}
FEATURES = 1000


def make_blocks(*names: str) -> None:
    """Make blocks, each of a size of its own."""
    for name in names:
        sizes[name] = (3 + len(sizes)) << 20
        blocks[name] = torch.empty(sizes[name], dtype=torch.uint8, device="cuda")


def deletes() -> None:
    held = blocks.pop("deleted")
    del held  # frees deleted


def reassigns() -> None:
    held = blocks.pop("reassigned")
    held = None  # frees reassigned
    assert held is None


def returns() -> int:
    held = blocks.pop("returned")
    return held.numel()  # frees returned


def collects() -> None:
    cycle: list[object] = [blocks.pop("collected")]
    cycle.append(cycle)
    del cycle
    gc.collect()  # frees collected


def collects_by_itself() -> None:
    cycle: list[object] = [blocks.pop("collected by itself")]
    cycle.append(cycle)
    del cycle
    gc.enable()
    lists = [[] for _ in range(1_000_000)]  # frees collected by itself
    gc.disable()
    assert lists


def streams() -> None:
    other = torch.cuda.Stream()
    held = blocks.pop("used by another stream")
    held.record_stream(other)
    with torch.cuda.stream(other):
        held.add_(1)
    del held  # frees used by another stream
    torch.cuda.synchronize()
    torch.empty(1, device="cuda")


def hands_over() -> None:
    jobs: queue.Queue[list[torch.Tensor]] = queue.Queue()

    def work() -> None:
        jobs.get().clear()  # frees handed over

    worker = threading.Thread(target=work)
    worker.start()
    jobs.put([blocks.pop("handed over")])
    worker.join()


def main() -> None:
    # When it collects is of the program's choice.
    gc.disable()
    layer = nn.Linear(FEATURES, 2 * FEATURES, bias=False, device="cuda")
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    layer(torch.zeros(1, FEATURES, device="cuda")).sum().backward()
    sizes["gradient"] = 2 * FEATURES * FEATURES * 4
    rows = 1337
    batch = torch.zeros(rows, 3 * FEATURES, device="cuda", requires_grad=True)
    # exp saves its result.
    loss = batch.exp().sum()  # saves for autograd
    sizes["saved"] = rows * 3 * FEATURES * 4
    make_blocks("deleted", "reassigned", "returned", "collected", "collected by itself")
    make_blocks("used by another stream", "handed over", "kept", "at the peak")
    del blocks["at the peak"]
    deletes()
    reassigns()
    returns()  # frees returned
    collects()
    collects_by_itself()
    streams()
    hands_over()
    optimizer.zero_grad()  # frees gradient
    loss.backward()
    time.sleep(0.3)
    finish_holding(sizes=sizes)


if __name__ == "__main__":
    main()
