"""Small models that torch compiles: `compiled_models.py MODEL [--eager] [--said FILE]`.

Two training steps each. With `--said`, compiled_oracle.py writes what torch itself knows of every
allocation. Plain torch, transformers and torchvision, nothing of peakline.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn
from torch.utils.checkpoint import checkpoint

STEPS = 2
WIDTH = 256
WORDS = 1024
Tensor = torch.Tensor
Loss = Callable[[], Tensor]


class Norm(nn.Module):
    def __init__(self, is_affine: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH)) if is_affine else None

    def forward(self, x: Tensor) -> Tensor:
        scale = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-6)
        x = (x.float() * scale).type_as(x)
        return x if self.weight is None else x * self.weight


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, 4, width // 4).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


class Gated(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.gate = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        up = self.up(x)
        gate = F.silu(self.gate(x))
        hidden = up * gate
        return self.down(hidden)


class Block(nn.Module):
    def __init__(self, is_affine: bool) -> None:
        super().__init__()
        self.norm1, self.norm2 = Norm(is_affine), Norm(is_affine)
        self.attention = Attention()
        self.mlp = Gated()

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class LM(nn.Module):
    def __init__(self, layers: int = 2, *, is_affine: bool = True) -> None:
        super().__init__()
        self.embed = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleList(Block(is_affine) for _ in range(layers))
        self.norm = Norm(is_affine)
        self.head = nn.Linear(WIDTH, WORDS, bias=False)

    def body(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x

    def forward(self, ids: Tensor) -> Tensor:
        x = self.body(self.embed(ids))
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits.flatten(0, 1).float(), ids.flatten())


class Checkpointed(LM):
    def body(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False)
        return x


class Broken(LM):
    def body(self, x: Tensor) -> Tensor:
        x = super().body(x)
        torch._dynamo.graph_break()
        return x


class Branches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.up(x)

        def yes(hidden: Tensor) -> Tensor:
            return torch.sin(hidden)

        def no(hidden: Tensor) -> Tensor:
            return torch.cos(hidden) * 2

        hidden = torch.cond(hidden.sum() > 0, yes, no, (hidden,))
        return self.down(hidden).pow(2).mean()


@torch.library.custom_op("peakline_models::twice", mutates_args=())
def twice(x: Tensor) -> Tensor:
    return x * 2


twice.register_fake(torch.empty_like)
twice.register_autograd(lambda _, gradient: gradient * 2, setup_context=lambda *_, **__: None)


class Experts(nn.Module):
    """Chooses experts by a sort, calls an operator of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.router = nn.Linear(WIDTH, 4)
        self.experts = nn.ModuleList(Gated() for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        scores = self.router(x).softmax(-1)
        weights, order = torch.sort(scores, dim=-1)
        total = twice(x)
        for index, expert in enumerate(self.experts):
            chosen = torch.where(order[..., -2:] == index, weights[..., -2:], 0).sum(-1)
            total = total + chosen.unsqueeze(-1) * expert(x)
        return total.pow(2).mean()


class Images(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList(nn.Conv2d(a, 32, 3, padding=1) for a in (3, 32, 32))
        self.norms = nn.ModuleList(nn.BatchNorm2d(32) for _ in self.convolutions)
        self.grow = nn.ConvTranspose2d(32, 3, 2, stride=2)

    def forward(self, image: Tensor) -> Tensor:
        x = image
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            x = F.relu(norm(convolution(x)))
        x = self.grow(F.max_pool2d(x, 2))
        return F.mse_loss(x, image)


def ids(length: int = 512) -> Tensor:
    return torch.zeros(2, length, dtype=torch.long, device="cuda")


def values() -> Tensor:
    return torch.randn(1024, WIDTH, device="cuda")


def language(model: nn.Module, **options: Any) -> tuple[nn.Module, Loss]:
    compiled = torch.compile(model.cuda(), **options)
    return model, lambda: compiled(ids())


def lm() -> tuple[nn.Module, Loss]:
    return language(LM(3))


def plain_norms() -> tuple[nn.Module, Loss]:
    return language(LM(3, is_affine=False))


def autocast() -> tuple[nn.Module, Loss]:
    model, loss = language(LM())

    def with_autocast() -> Tensor:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            return loss()

    return model, with_autocast


def checkpointed() -> tuple[nn.Module, Loss]:
    return language(Checkpointed())


def broken() -> tuple[nn.Module, Loss]:
    return language(Broken())


def reduce_overhead() -> tuple[nn.Module, Loss]:
    return language(LM(), mode="reduce-overhead")


def dynamic() -> tuple[nn.Module, Loss]:
    model = LM().cuda()
    compiled = torch.compile(model, dynamic=True)
    lengths = iter(range(256, 256 * (STEPS + 2), 256))
    return model, lambda: compiled(ids(next(lengths)))


def regional() -> tuple[nn.Module, Loss]:
    model = LM(4).cuda()
    for layer in model.layers:
        layer.forward = torch.compile(layer.forward)  # type: ignore[method-assign]
    return model, lambda: model(ids())


def branches() -> tuple[nn.Module, Loss]:
    model = Branches().cuda()
    compiled = torch.compile(model)
    return model, lambda: compiled(values())


def experts() -> tuple[nn.Module, Loss]:
    model = Experts().cuda()
    compiled = torch.compile(model)
    return model, lambda: compiled(values())


def images() -> tuple[nn.Module, Loss]:
    model = Images().cuda()
    compiled = torch.compile(model)
    return model, lambda: compiled(torch.randn(4, 3, 32, 32, device="cuda"))


def gpt2() -> tuple[nn.Module, Loss]:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(n_embd=128, n_layer=2, n_head=4, vocab_size=WORDS, n_positions=256)
    model = GPT2LMHeadModel(config).cuda()
    compiled = torch.compile(model)
    return model, lambda: compiled(input_ids=ids(256), labels=ids(256)).loss


def llama() -> tuple[nn.Module, Loss]:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        hidden_size=128,
        intermediate_size=384,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        vocab_size=WORDS,
    )
    model = LlamaForCausalLM(config).cuda()
    compiled = torch.compile(model)
    return model, lambda: compiled(input_ids=ids(256), labels=ids(256), use_cache=False).loss


def vit() -> tuple[nn.Module, Loss]:
    from transformers import ViTConfig, ViTForImageClassification

    config = ViTConfig(
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        image_size=64,
        patch_size=8,
    )
    model = ViTForImageClassification(config).cuda()
    compiled = torch.compile(model)
    pixels = torch.zeros(4, 3, 64, 64, device="cuda")
    labels = torch.zeros(4, dtype=torch.long, device="cuda")
    return model, lambda: compiled(pixel_values=pixels, labels=labels).loss


def resnet() -> tuple[nn.Module, Loss]:
    from torchvision.models.resnet import BasicBlock, ResNet

    model = ResNet(BasicBlock, [1, 1, 1, 1], num_classes=10).cuda()
    compiled = torch.compile(model)
    pixels = torch.zeros(4, 3, 64, 64, device="cuda")
    labels = torch.zeros(4, dtype=torch.long, device="cuda")
    return model, lambda: F.cross_entropy(compiled(pixels), labels)


OWN = (
    *(lm, plain_norms, autocast, checkpointed, broken, reduce_overhead, dynamic, regional),
    *(branches, experts, images),
)
MODELS = {function.__name__: function for function in (*OWN, gpt2, llama, vit, resnet)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--eager", action="store_true")
    parser.add_argument("--said")
    asked = parser.parse_args()
    oracle = None
    if asked.said:
        from compiled_oracle import Oracle

        oracle = Oracle()
    if asked.eager:
        torch.compile = lambda function, **_: function  # type: ignore[assignment]
    model, loss_of = MODELS[asked.model]()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(STEPS):
        loss_of().backward()
        if oracle is not None:
            oracle.backward_ended(model)
        optimizer.step()
        optimizer.zero_grad()
    torch.cuda.synchronize()
    if oracle is not None:
        oracle.write(asked.said)
    # torch's autograd thread may abort a program that ends at once.
    os._exit(0)


if __name__ == "__main__":
    main()
