"""A decoder with a cache of keys and values of fixed length."""

import torch


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(512, 1536)
        self.register_buffer("keys", torch.zeros(8, 8, 1024, 64), persistent=False)
        self.register_buffer("values", torch.zeros(8, 8, 1024, 64), persistent=False)

    def forward(self, inputs, begin):
        query, key, value = (
            one.unflatten(-1, (8, 64)).transpose(1, 2) for one in self.inner(inputs).chunk(3, -1)
        )
        end = begin + inputs.shape[1]
        self.keys[:, :, begin:end] = key
        self.values[:, :, begin:end] = value
        out = torch.nn.functional.scaled_dot_product_attention(
            query, self.keys[:, :, :end], self.values[:, :, :end]
        )
        return out.transpose(1, 2).flatten(2)


layers = torch.nn.ModuleList(Layer() for _ in range(4)).cuda().eval()


def decode(tokens, begin):
    for layer in layers:
        tokens = layer(tokens, begin)
    return tokens[:, -1:]


with torch.inference_mode():
    token = decode(torch.randn(8, 256, 512, device="cuda"), 0)
    for place in range(256, 320):
        token = decode(token, place)
