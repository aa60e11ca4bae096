"""A transformer with fused attention, and a fused optimizer."""

import torch


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(512)
        self.inner = torch.nn.Linear(512, 1536)
        self.outer = torch.nn.Linear(512, 512)

    def forward(self, inputs):
        query, key, value = (
            one.unflatten(-1, (8, 64)).transpose(1, 2)
            for one in self.inner(self.norm(inputs)).chunk(3, -1)
        )
        out = torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return inputs + self.outer(out.transpose(1, 2).flatten(2))


net = torch.nn.Sequential(*[Layer() for _ in range(4)]).cuda().bfloat16()
optimizer = torch.optim.AdamW(net.parameters(), fused=True)


def train_step():
    inputs = torch.randn(8, 512, 512, device="cuda", dtype=torch.bfloat16)
    net(inputs).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()


for _ in range(6):
    train_step()
