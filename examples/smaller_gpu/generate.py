"""Generates text for a batch of prompts. README.md finds the batch for a smaller GPU."""

import argparse

import torch
from torch.nn import functional

VOCABULARY, WIDTH, HEADS, LAYERS = 32_000, 4096, 32, 32


class Layer(torch.nn.Module):
    """A decoder layer with a cache of keys and values for the whole length."""

    def __init__(self, batch: int, length: int) -> None:
        super().__init__()
        self.to_heads = torch.nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.from_heads = torch.nn.Linear(WIDTH, WIDTH, bias=False)
        self.up = torch.nn.Linear(WIDTH, 11_008, bias=False)
        self.down = torch.nn.Linear(11_008, WIDTH, bias=False)
        shape = batch, HEADS, length, WIDTH // HEADS
        self.register_buffer("keys", torch.zeros(shape))
        self.register_buffer("values", torch.zeros(shape))

    def forward(self, inputs: torch.Tensor, first: int) -> torch.Tensor:
        batch, length, _ = inputs.shape
        parts = self.to_heads(inputs).view(batch, length, 3, HEADS, -1).transpose(1, 3)
        query, key, value = parts.unbind(2)
        end = first + length
        self.keys[:, :, first:end] = key
        self.values[:, :, first:end] = value
        seen = functional.scaled_dot_product_attention(
            query, self.keys[:, :, :end], self.values[:, :, :end], is_causal=first == 0
        )
        hidden = inputs + self.from_heads(seen.transpose(1, 2).reshape(batch, length, WIDTH))
        return hidden + self.down(functional.silu(self.up(hidden)))


class Decoder(torch.nn.Module):
    def __init__(self, batch: int, length: int) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(VOCABULARY, WIDTH)
        self.layers = torch.nn.ModuleList(Layer(batch, length) for _ in range(LAYERS))
        self.head = torch.nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens: torch.Tensor, first: int) -> torch.Tensor:
        hidden = self.embedding(tokens)
        for layer in self.layers:
            hidden = layer(hidden, first)
        return self.head(hidden[:, -1]).argmax(-1, keepdim=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--prompt", type=int, default=2048, help="tokens of a prompt")
    parser.add_argument("--new", type=int, default=16, help="tokens to generate")
    options = parser.parse_args()
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"), torch.inference_mode():
        model = Decoder(options.batch, options.prompt + options.new)
        tokens = torch.zeros(options.batch, options.prompt, dtype=torch.long)
        first = 0
        for _ in range(options.new):
            following = model(tokens, first)
            first += tokens.shape[1]
            tokens = following
    print(f"max_memory_allocated: {torch.cuda.max_memory_allocated()}")


if __name__ == "__main__":
    main()
