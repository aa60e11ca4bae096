"""Hooks keep every gradient for a plot of their norms."""

import torch
from common import Model, batches, finish, loss_of

model = Model(width=512)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
seen = []
for parameter in model.parameters():
    parameter.register_hook(lambda gradient: seen.append(gradient))
for words in batches(6, size=(2, 32)):
    loss = loss_of(model(words), words)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    del loss
finish([float(one.norm()) for one in seen])
