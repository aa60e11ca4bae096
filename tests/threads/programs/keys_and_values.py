"""Keys and values grow with every token.

https://github.com/huggingface/transformers/issues/31717
"""

import torch


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(512, 1536)
        self.keys = self.values = None

    def forward(self, inputs):
        query, key, value = (
            one.unflatten(-1, (8, 64)).transpose(1, 2) for one in self.inner(inputs).chunk(3, -1)
        )
        if self.keys is not None:
            key = torch.cat([self.keys, key], 2)  # cause
            value = torch.cat([self.values, value], 2)
        self.keys, self.values = key, value
        out = torch.nn.functional.scaled_dot_product_attention(query, key, value)
        return out.transpose(1, 2).flatten(2)


net = torch.nn.Sequential(*[Layer() for _ in range(4)]).cuda().eval()
with torch.inference_mode():
    token = net(torch.randn(64, 32, 512, device="cuda"))[:, -1:]
    for _ in range(200):
        token = net(token)
