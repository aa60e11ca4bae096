"""Trains a small language model as it is, without state of the optimizer, and with its loss in
chunks. The first one has a trace plain.peak. Prints torch's requested peak of each.
"""

import contextlib
import gc
import json

import peakline
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

WIDTH, WORDS, TOKENS, CHUNKS = 128, 8192, 2048, 8


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.h = nn.ModuleList(Layer() for _ in range(4))
        self.head = nn.Linear(WIDTH, WORDS)

    def loss_of(self, x: Tensor, words: Tensor) -> Tensor:
        return F.cross_entropy(self.head(x), words)

    def forward(self, words: Tensor, chunks: int) -> Tensor:
        x = self.words(words)
        for layer in self.h:
            x = layer(x)
        if chunks == 1:
            return self.loss_of(x, words)
        losses = [
            checkpoint(self.loss_of, *part, use_reentrant=False)
            for part in zip(x.chunk(chunks), words.chunk(chunks), strict=True)
        ]
        return torch.stack(losses).mean()


def peak(*, has_state: bool = True, chunks: int = 1, trace: str = "") -> int:
    gc.collect()
    torch._C._cuda_clearCublasWorkspaces()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    with peakline.trace(trace) if trace else contextlib.nullcontext():
        model = Model().cuda()
        optimizer = (
            torch.optim.AdamW(model.parameters())
            if has_state
            else torch.optim.SGD(model.parameters(), foreach=False)
        )
        for _ in range(3):
            words = torch.randint(0, WORDS, (TOKENS,), device="cuda")
            model(words, chunks).backward()
            optimizer.step()
            optimizer.zero_grad()
    return int(torch.cuda.memory_stats()["requested_bytes.all.peak"])


peakline.switch_allocator()
print(
    json.dumps(
        {
            "plain": peak(trace="plain.peak"),
            "no_state": peak(has_state=False),
            "chunks": peak(chunks=CHUNKS),
        }
    )
)
