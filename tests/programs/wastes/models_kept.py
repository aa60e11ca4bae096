"""A search of learning rates keeps the model and the optimizer of every trial."""

import torch
from common import Model, batches, finish, loss_of

trials = []
for rate in (0.001, 0.002, 0.005, 0.01, 0.02):
    model = Model(width=512)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    for words in batches(3, size=(4, 32)):
        loss = loss_of(model(words), words)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    trials.append((loss.item(), rate, model, optimizer))
finish([trial[0] for trial in trials])
