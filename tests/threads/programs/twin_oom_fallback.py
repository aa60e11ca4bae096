"""A pass tries a large buffer, does without it, and a later layer runs out of memory.

What the pass has made so far is of this pass: no exception holds it.
"""

import contextlib

import torch


class Net(torch.nn.Module):
    """Takes more memory where there is some."""

    def __init__(self) -> None:
        """Make the layers."""
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(1024, 1024) for _ in range(16)])

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Try the large buffer in the fifth layer."""
        for number, layer in enumerate(self.layers):
            if number == 4:
                with contextlib.suppress(torch.OutOfMemoryError):
                    torch.empty(8 << 30, dtype=torch.uint8, device="cuda")
            hidden = layer(hidden).relu()  # cause
        return hidden


net = Net().cuda()
optimizer = torch.optim.SGD(net.parameters())
for batch in (64, 64, 65536):
    net(torch.zeros(batch, 1024, device="cuda")).mean().backward()
    optimizer.step()
