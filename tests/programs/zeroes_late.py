"""Trains with zero_grad() between the passes, before them, without freeing, or not at all.

Prints torch's own peak, and the bytes of the gradients.
"""

import json
import sys

import torch


def main(place: str) -> None:
    model = torch.nn.Sequential(*(torch.nn.Linear(1024, 1024) for _ in range(8))).cuda()
    optimizer = torch.optim.SGD(model.parameters())
    for _ in range(3):
        batch = torch.randn(2048, 1024, device="cuda")
        if place == "before":
            optimizer.zero_grad()
        if place == "keeps":
            optimizer.zero_grad(set_to_none=False)
        out = model(batch)
        loss = torch.cat([out, out, out]).log_softmax(1).exp().sum()
        if place == "between":
            optimizer.zero_grad()
        del out
        loss.backward()
        optimizer.step()
    gradients = sum(one.grad.untyped_storage().nbytes() for one in model.parameters())
    peak = torch.cuda.max_memory_allocated()
    print(json.dumps({"peak": peak, "gradients": gradients}))


main(sys.argv[1])
