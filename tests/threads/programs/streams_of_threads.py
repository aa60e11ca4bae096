"""A stream for each worker thread, each with its own cache (orion#5)."""

import threading

import torch

net = torch.nn.Linear(1024, 4096).cuda().eval()


def serve() -> None:
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream), torch.no_grad():
        for _ in range(4):
            net(torch.ones(4096, 1024, device="cuda"))  # cause


for _ in range(12):
    worker = threading.Thread(target=serve)
    worker.start()
    worker.join()
