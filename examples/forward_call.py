"""One forward call of a Gemma-like decoder, recorded from inside the program.

    peakline run --simulate h200 --no-record examples/forward_call.py    # without a GPU
    python examples/forward_call.py                                      # on a GPU

The model is built after switch_allocator() and before start_tracing(): the table shows it as one
row, `untraced`. Attention is computed the eager way, so the scores and their softmax appear as
blocks of their own. How to read the table:

    parameters   the row `untraced`: all that was allocated before start_tracing()
    KV cache     the rows of KeyValueCache.append
    attention    the rows of Attention.scores and Attention.forward
    other        what is left: embedding, norms, feed-forward layers, logits

`--scale` shrinks the widths: 1 is a 2.5-billion-parameter model; `--by function` on a trace file
adds the rows of each part up. To write one: `peakline run examples/forward_call.py`.
"""

import argparse
import math

import peakline
import torch
from torch import nn
from torch.nn import functional

HEADS = 8
KEY_VALUE_HEADS = 1
HEAD_WIDTH = 256


class KeyValueCache:
    """Keys and values of one layer for the whole context, filled as tokens come."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.keys: torch.Tensor | None = None
        self.values: torch.Tensor | None = None
        self.used = 0

    def append(self, keys: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        if self.keys is None or self.values is None:
            shape = (keys.shape[0], keys.shape[1], self.length, keys.shape[3])
            self.keys = keys.new_zeros(shape)
            self.values = values.new_zeros(shape)
        end = self.used + keys.shape[2]
        self.keys[:, :, self.used : end] = keys
        self.values[:, :, self.used : end] = values
        self.used = end
        return self.keys[:, :, :end], self.values[:, :, :end]


class RootMeanSquareNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scale = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-6)
        return (x.float() * scale).to(x.dtype) * (1 + self.weight)


class Attention(nn.Module):
    """Grouped-query attention: every head of the queries shares the few keys and values."""

    def __init__(self, width: int, head_width: int) -> None:
        super().__init__()
        self.head_width = head_width
        self.query = nn.Linear(width, HEADS * head_width, bias=False)
        self.key = nn.Linear(width, KEY_VALUE_HEADS * head_width, bias=False)
        self.value = nn.Linear(width, KEY_VALUE_HEADS * head_width, bias=False)
        self.output = nn.Linear(HEADS * head_width, width, bias=False)

    def heads(self, x: torch.Tensor, count: int) -> torch.Tensor:
        return x.unflatten(-1, (count, self.head_width)).transpose(1, 2)

    def scores(self, queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        scores = torch.matmul(queries, keys.transpose(2, 3)) / math.sqrt(self.head_width)
        length = scores.shape[-1]
        hidden = torch.ones(length, length, dtype=torch.bool, device=scores.device).triu(1)
        scores = scores.masked_fill(hidden, float("-inf"))
        return torch.softmax(scores, dim=-1, dtype=torch.float32).to(queries.dtype)

    def forward(self, x: torch.Tensor, cache: KeyValueCache) -> torch.Tensor:
        queries = self.heads(self.query(x), HEADS)
        keys, values = cache.append(
            self.heads(self.key(x), KEY_VALUE_HEADS), self.heads(self.value(x), KEY_VALUE_HEADS)
        )
        mixed = torch.matmul(self.scores(queries, keys), values)
        return self.output(mixed.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.gate = nn.Linear(width, inner, bias=False)
        self.up = nn.Linear(width, inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(functional.gelu(self.gate(x), approximate="tanh") * self.up(x))


class Layer(nn.Module):
    def __init__(self, width: int, inner: int, head_width: int) -> None:
        super().__init__()
        self.before_attention = RootMeanSquareNorm(width)
        self.attention = Attention(width, head_width)
        self.before_feed_forward = RootMeanSquareNorm(width)
        self.feed_forward = FeedForward(width, inner)

    def forward(self, x: torch.Tensor, cache: KeyValueCache) -> torch.Tensor:
        x = x + self.attention(self.before_attention(x), cache)
        return x + self.feed_forward(self.before_feed_forward(x))


class Decoder(nn.Module):
    def __init__(self, vocabulary: int, width: int, inner: int, layers: int) -> None:
        super().__init__()
        self.width = width
        self.embedding = nn.Embedding(vocabulary, width)
        head_width = HEAD_WIDTH * width // 2048
        self.layers = nn.ModuleList(Layer(width, inner, head_width) for _ in range(layers))
        self.norm = RootMeanSquareNorm(width)

    def forward(self, tokens: torch.Tensor, caches: list[KeyValueCache]) -> torch.Tensor:
        x = self.embedding(tokens) * math.sqrt(self.width)
        for layer, cache in zip(self.layers, caches, strict=True):
            x = layer(x, cache)
        last = self.norm(x[:, -1])
        return functional.linear(last, self.embedding.weight)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="of the widths (default: 1)")
    parser.add_argument("--layers", type=int, default=18)
    parser.add_argument("--context", type=int, default=8192, help="tokens of the KV cache")
    parser.add_argument("--prompt", type=int, default=0, help="tokens given (default: all)")
    return parser.parse_args()


def build(arguments: argparse.Namespace) -> Decoder:
    width = max(64, int(2048 * arguments.scale) // 64 * 64)
    vocabulary = max(1024, int(256_000 * arguments.scale))
    with torch.device("cuda"):
        torch.set_default_dtype(torch.bfloat16)
        model = Decoder(vocabulary, width, 8 * width, arguments.layers)
        torch.set_default_dtype(torch.float32)
    return model.eval()


def main() -> None:
    arguments = parse_arguments()
    peakline.switch_allocator()
    model = build(arguments)
    length = arguments.prompt or arguments.context
    caches = [KeyValueCache(arguments.context) for _ in model.layers]
    peakline.start_tracing()
    torch.cuda.reset_peak_memory_stats()
    with torch.inference_mode():
        tokens = torch.zeros(1, length, dtype=torch.long, device="cuda")
        logits = model(tokens, caches)
    torch.cuda.synchronize()
    peakline.stop_tracing()
    peakline.report_stats()
    print()
    print(
        f"logits: {tuple(logits.shape)}, parameters: {sum(p.numel() for p in model.parameters())}"
    )
    print(f"max_memory_allocated: {torch.cuda.max_memory_allocated()}")


if __name__ == "__main__":
    main()
