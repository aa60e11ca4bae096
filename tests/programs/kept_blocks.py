"""Passes that train nothing, then training steps that work beside the module, then one that dies.

Prints the sizes of what each category holds at known moments; the moments are phases of the trace.
"""

import sys

import peakline
import torch
from counters import finish
from torch import nn
from torch.nn import functional

PASSES = 5
VOCABULARY = 1024


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(VOCABULARY, 64)
        self.head = nn.Linear(64, VOCABULARY, bias=False)

    def forward(self, tokens: torch.Tensor, fails: bool = False) -> torch.Tensor:
        logits = self.head(self.table(tokens))
        if fails:
            moment("dying")
            raise ValueError("as asked for")
        return logits


def moment(name: str) -> None:
    with peakline.phase(name):
        pass


def size_of(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().nbytes()


def tokens() -> torch.Tensor:
    return torch.zeros(512, dtype=torch.long, device="cuda")


model = Model().cuda()
average = [p.detach().clone() for p in model.parameters()]
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with torch.no_grad():
    for _ in range(PASSES):
        outputs = model(tokens())
said = {"outputs": size_of(outputs), "average": sum(size_of(one) for one in average)}
for _ in range(2):
    batch = tokens()
    loss = functional.cross_entropy(model(batch), batch)
    moment("after the loss")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    del loss
said["batch"] = size_of(batch)
said["logits"] = batch.numel() * VOCABULARY * 4
try:
    model(batch, fails=True)
except ValueError as error:
    print(error, file=sys.stderr)
finish(**said)
