"""https://github.com/bayesiains/nflows/pull/11: running statistics are part of the graph."""

import torch


class Norm(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(1024))
        self.register_buffer("variance", torch.ones(1024))

    def forward(self, inputs):
        self.variance = 0.9 * self.variance + 0.1 * (inputs * self.scale).var(0)  # cause
        return inputs / self.variance.detach().sqrt() * self.scale


net = Norm().cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(16):
    net(torch.ones(4096, 1024, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
