"""https://github.com/BinWang28/SBERT-WK-Sentence-Embedding/issues/3: all sentences in one batch."""

import torch


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(256, 768)
        self.outer = torch.nn.Linear(256, 256)

    def forward(self, inputs):
        query, key, value = (
            one.unflatten(-1, (8, 32)).transpose(1, 2) for one in self.inner(inputs).chunk(3, -1)
        )
        scores = (query @ key.transpose(-1, -2)).softmax(-1)  # cause
        return self.outer((scores @ value).transpose(1, 2).flatten(2))


net = Attention().cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def train_step():
    net(torch.randn(16, 1024, 256, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()


for _ in range(3):
    train_step()
