"""Trainings that need more memory than they must, and the same ones mended.

    could_save.py RULE        the training with the fault that this rule of `peakline advise` names
    could_save.py mended      all of them, without

Prints torch's own peak of each as a JSON document.
"""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

STEPS = 5
MENDED = sys.argv[1] == "mended"


def make_model(width: int = 1024, layers: int = 4) -> nn.Sequential:
    """Layers of which each keeps activations."""
    return nn.Sequential(
        *(nn.Sequential(nn.Linear(width, width), nn.GELU()) for _ in range(layers))
    ).cuda()


def zero_grad_late() -> None:
    """Gradients are zeroed between forward and backward."""
    model = make_model(width=2048)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(STEPS):
        loss = model(torch.ones(1024, 2048, device="cuda")).square().mean()
        if not MENDED:
            optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if MENDED:
            optimizer.zero_grad()
        del loss


def zero_grad_keeps() -> None:
    """Gradients are filled with zeros."""
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(STEPS):
        loss = model(torch.ones(2048, 1024, device="cuda")).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=MENDED)
        del loss


def optimizer_temporaries() -> None:
    """The step makes temporary tensors of all parameters."""
    model = make_model(width=2048, layers=8)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True if MENDED else None)
    for _ in range(STEPS):
        model(torch.ones(16, 2048, device="cuda")).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


class OffloadedAdamW:
    """AdamW whose state and step are in host memory."""

    def __init__(self, parameters: list[nn.Parameter]) -> None:
        self.parameters = parameters
        self.copies = [nn.Parameter(one.detach().cpu()) for one in parameters]
        self.inner = torch.optim.AdamW(self.copies)

    def step(self) -> None:
        for own, copied in zip(self.parameters, self.copies, strict=True):
            copied.grad = own.grad.cpu()
        self.inner.step()
        for own, copied in zip(self.parameters, self.copies, strict=True):
            own.data.copy_(copied.detach())

    def zero_grad(self) -> None:
        for own in self.parameters:
            own.grad = None


def optimizer_state() -> None:
    """State of the optimizer is on the device while activations are."""
    model = make_model()
    parameters = list(model.parameters())
    optimizer = OffloadedAdamW(parameters) if MENDED else torch.optim.AdamW(parameters)
    for _ in range(STEPS):
        model(torch.ones(2048, 1024, device="cuda")).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


class EightBitAdamW:
    """AdamW whose moments are bytes, with a scale for each 256 of them."""

    def __init__(self, parameters: list[nn.Parameter]) -> None:
        self.parameters = parameters
        self.moments: dict[nn.Parameter, list[list[torch.Tensor]]] = {}

    def step(self) -> None:
        for own in self.parameters:
            if own not in self.moments:
                self.moments[own] = [self.quantised(torch.zeros_like(own)) for _ in range(2)]
            values = [self.whole(own, kept) for kept in self.moments[own]]
            for value in values:
                value.lerp_(own.grad, 0.1)
            own.data.add_(values[0], alpha=-1e-3)
            for kept, value in zip(self.moments[own], values, strict=True):
                for old, new in zip(kept, self.quantised(value), strict=True):
                    old.copy_(new)

    @staticmethod
    def quantised(value: torch.Tensor) -> list[torch.Tensor]:
        if value.numel() < 4096:
            return [value]
        scales = value.view(-1, 256).abs().amax(1)
        return [(value.view(-1, 256) / scales[:, None]).to(torch.uint8), scales]

    @staticmethod
    def whole(own: nn.Parameter, kept: list[torch.Tensor]) -> torch.Tensor:
        if len(kept) == 1:
            return kept[0].clone()
        return (kept[0].to(own.dtype) * kept[1][:, None]).view_as(own)

    def zero_grad(self) -> None:
        for own in self.parameters:
            own.grad = None


def optimizer_state_8bit() -> None:
    """State of the optimizer has 32 bits a value, of small tensors too."""
    model = make_model()
    parameters = list(model.parameters())
    optimizer = EightBitAdamW(parameters) if MENDED else torch.optim.AdamW(parameters)
    for _ in range(STEPS):
        model(torch.ones(2048, 1024, device="cuda")).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def held_to_next_step() -> None:
    """A variable holds the features of the step before until the next ones are there."""
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(STEPS):
        features = torch.ones(32768, 1024, device="cuda").relu()
        loss = model(features[:512]).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if MENDED:
            del features, loss


def results_kept() -> None:
    """A list keeps the output of every step."""
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    kept = []
    for _ in range(STEPS):
        output = model(torch.ones(2048, 1024, device="cuda"))
        output.square().mean().backward()
        kept.append(output.detach().cpu() if MENDED else output.detach())
        del output
        optimizer.step()
        optimizer.zero_grad()


def graph_unused() -> None:
    """An evaluation builds graphs."""
    model = make_model(layers=12)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(STEPS):
        model(torch.ones(512, 1024, device="cuda")).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        with torch.set_grad_enabled(not MENDED):
            model(torch.ones(4096, 1024, device="cuda")).sum().item()


class Layers(nn.Module):
    """Layers of a transformer's kind, checkpointed or not."""

    def __init__(self) -> None:
        super().__init__()
        self.h = nn.ModuleList(
            nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.1, batch_first=True)
            for _ in range(6)
        )

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        for layer in self.h:
            values = checkpoint(layer, values, use_reentrant=False) if MENDED else layer(values)
        return values


def checkpoint_layers() -> None:
    """Activations of all layers wait for the backward pass."""
    model = Layers().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(STEPS):
        model(torch.ones(16, 256, 256, device="cuda")).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def loss_of_all_tokens() -> None:
    """All logits are live at once; beneath them stands what the trunk needs."""
    trunk = make_model(layers=6)
    head = nn.Linear(1024, 16384, bias=False).cuda()
    parameters = [*trunk.parameters(), *head.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=0.1)
    targets = torch.zeros(4096, dtype=torch.long, device="cuda")

    def loss_of(hidden: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        return functional.cross_entropy(head(hidden), wanted, reduction="sum")

    for _ in range(STEPS):
        hidden = trunk(torch.ones(4096, 1024, device="cuda"))
        if MENDED:
            parts = zip(hidden.chunk(64), targets.chunk(64), strict=True)
            loss = sum(checkpoint(loss_of, one, two, use_reentrant=False) for one, two in parts)
        else:
            loss = loss_of(hidden, targets)
        loss.backward()
        del hidden, loss
        optimizer.step()
        optimizer.zero_grad()


class Attention(nn.Module):
    """Attention written out, or torch's."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(256, 3 * 256)

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        batch, length, width = values.shape
        heads = self.qkv(values).view(batch, length, 3, 4, width // 4).permute(2, 0, 3, 1, 4)
        query, key, value = heads.unbind(0)
        if MENDED:
            mixed = functional.scaled_dot_product_attention(query, key, value)
        else:
            scores = query @ key.transpose(-2, -1) / (width // 4) ** 0.5
            mixed = scores.softmax(-1) @ value
        return mixed.transpose(1, 2).reshape(batch, length, width)


def attention_matrix() -> None:
    """Scores of every pair of tokens are kept, of several layers."""
    attentions = nn.Sequential(*(Attention() for _ in range(4))).cuda().bfloat16()
    wide = nn.Sequential(nn.Linear(256, 8192), nn.ReLU(), nn.Linear(8192, 256)).cuda().bfloat16()
    parameters = [*attentions.parameters(), *wide.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=0.1)
    for _ in range(STEPS):
        values = torch.ones(4, 1024, 256, device="cuda", dtype=torch.bfloat16)
        wide(attentions(values)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def value_copies() -> None:
    """An output is copied to another dtype and both are kept."""
    model = make_model().bfloat16()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(STEPS):
        output = model(torch.ones(4096, 1024, device="cuda", dtype=torch.bfloat16))
        output = output if MENDED else output.float()
        output.square().mean().backward()
        del output
        optimizer.step()
        optimizer.zero_grad()


def weight_copies() -> None:
    """Autocast copies the weights, which could be of that dtype."""
    model = make_model(layers=16)
    model = model.bfloat16() if MENDED else model
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(STEPS):
        values = torch.ones(2048, 1024, device="cuda", dtype=torch.bfloat16)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(values).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


class KeyCache:
    """Keys of all tokens so far."""

    def __init__(self) -> None:
        self.keys: list[torch.Tensor] = []

    def update(self, index: int, keys: torch.Tensor) -> torch.Tensor:
        """Keep the keys of a layer for the next token; mended: of the last 8 tokens only."""
        if index == len(self.keys):
            self.keys.append(keys.clone())
        else:
            joined = torch.cat([self.keys[index], keys])
            self.keys[index] = joined[-8:].clone() if MENDED else joined
        return self.keys[index]


class Decoder(nn.Module):
    """Layers that attend to the keys of all tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4096, 4096) for _ in range(2))

    def forward(self, token: torch.Tensor, cache: KeyCache) -> torch.Tensor:
        for index, layer in enumerate(self.layers):
            keys = cache.update(index, token)
            scores = torch.softmax(token @ keys.mT, -1)
            token = layer(token) + scores @ keys
        return token


def generation_cache() -> None:
    """A cache of keys grows with every token."""
    model, cache = Decoder().cuda(), KeyCache()
    token = torch.ones(256, 4096, device="cuda")
    with torch.no_grad():
        for _ in range(24):
            token = model(token, cache)


def rounding() -> None:
    """Many tensors of a few bytes, each in a block of 512 bytes."""
    sizes = (1 << 16, 1) if MENDED else (1, 1 << 16)
    kept = [torch.ones(sizes[0], device="cuda") for _ in range(sizes[1])]
    del kept


RULES: tuple[Callable[[], None], ...] = (
    zero_grad_late,
    zero_grad_keeps,
    optimizer_temporaries,
    optimizer_state,
    optimizer_state_8bit,
    held_to_next_step,
    results_kept,
    graph_unused,
    checkpoint_layers,
    loss_of_all_tokens,
    attention_matrix,
    value_copies,
    weight_copies,
    generation_cache,
    rounding,
)

peaks = {}
for rule in RULES:
    if MENDED or rule.__name__ == sys.argv[1]:
        torch.cuda.reset_peak_memory_stats()
        rule()
        peaks[rule.__name__] = torch.cuda.max_memory_allocated()
        gc.collect()
print(json.dumps(peaks))
