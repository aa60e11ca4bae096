"""Gradients of the step before live until after the forward pass."""

import torch
from common import DEVICE, Model, batches, finish, loss_of

SIZE = (4, 128) if DEVICE == "cuda" else (2, 32)
model = Model(width=1024, layers=3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
losses = []
for words in batches(4, size=SIZE):
    loss = loss_of(model(words), words)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    del loss
finish(losses)
