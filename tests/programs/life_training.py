"""An ordinary training loop; imports nothing of its own, so that every way to start it works.

Prints torch's own peak as JSON.
"""

import json
import os
import threading

import torch


def main() -> None:
    model = torch.nn.Sequential(
        torch.nn.Linear(256, 1024), torch.nn.GELU(), torch.nn.Linear(1024, 256)
    ).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(3):
        batch = torch.randn(64, 256, device="cuda")
        loss = model(batch).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        loss.item()
    torch.cuda.synchronize()
    # Lets torch's own backward thread come to rest before the process ends.
    rest = threading.Thread(target=torch.cuda.synchronize)
    rest.start()
    rest.join()
    print(json.dumps({"pid": os.getpid(), "peak": torch.cuda.max_memory_allocated()}), flush=True)


if __name__ == "__main__":
    main()
