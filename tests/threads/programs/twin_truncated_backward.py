"""A recurrent state is carried on, detached."""

import torch

lstm = torch.nn.LSTM(128, 512).cuda()
optimizer = torch.optim.SGD(lstm.parameters(), lr=0.1)


def train_step(state):
    outputs, state = lstm(torch.randn(32, 64, 128, device="cuda"), state)
    outputs.square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    return tuple(one.detach() for one in state)


state = None
for _ in range(16):
    state = train_step(state)
