"""https://github.com/huggingface/transformers/issues/25487: an evaluation keeps every attention."""

import torch


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(256, 512)

    def forward(self, inputs):
        query, key = (
            one.unflatten(-1, (8, 32)).transpose(1, 2) for one in self.inner(inputs).chunk(2, -1)
        )
        return (query @ key.transpose(-1, -2)).softmax(-1)  # cause


net = Attention().cuda().eval()
attentions = []
with torch.no_grad():
    for _ in range(16):
        attentions.append(net(torch.randn(4, 512, 256, device="cuda")))
