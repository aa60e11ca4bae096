"""Trains small models with subsets of their layers checkpointed, and prints torch's own peaks.

Arguments: the number of random subsets, then names of models. Each model as it is has a trace
NAME.peak in the working folder. The printed document has the requested peak of a step for each
subset of the layers' paths. With `all` instead of a number, each model has a trace NAME.all.peak
with all layers checkpointed, and there are no subsets. A process of its own makes these, so that
the paths of the layers are the same in both traces.
"""

import functools
import gc
import json
import random
import sys
from collections.abc import Callable
from typing import Any

import peakline
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode

TOKENS, WIDTH, WORDS, LAYERS = 128, 128, 256, 6


class Block(nn.Module):
    """A layer of GPT: attention and an MLP, each with a residual."""

    def __init__(self) -> None:
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.drop = nn.Dropout(0.1)

    def forward(self, x: Tensor) -> Tensor:
        heads = [
            one.unflatten(-1, (4, -1)).transpose(1, 2)
            for one in self.qkv(self.ln_1(x)).chunk(3, dim=-1)
        ]
        mixed = F.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.drop(self.out(mixed.transpose(1, 2).flatten(2)))
        return x + self.drop(self.down(F.gelu(self.up(self.ln_2(x)))))


class Gpt(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.emb = nn.Embedding(WORDS, WIDTH)
        self.h = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS)

    def forward(self, x: Tensor) -> Tensor:
        x = self.emb(x)
        for layer in self.h:
            x = layer(x)
        return self.head(self.norm(x))


class PostNorm(nn.Module):
    """Layers that end with their norm, and a head without one."""

    def __init__(self) -> None:
        super().__init__()
        self.emb = nn.Embedding(WORDS, WIDTH)
        self.h = nn.ModuleList(
            nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, batch_first=True) for _ in range(LAYERS)
        )
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, x: Tensor) -> Tensor:
        x = self.emb(x)
        for layer in self.h:
            x = layer(x)
        return self.head(x)


class RmsNorm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        wide = x.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * wide.to(x.dtype)


class Gated(nn.Module):
    """A layer of Llama: RMSNorm, a mask that all layers share, a gated MLP."""

    def __init__(self) -> None:
        super().__init__()
        self.norm_1, self.norm_2 = RmsNorm(), RmsNorm()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)
        self.gate, self.up = (nn.Linear(WIDTH, 3 * WIDTH, bias=False) for _ in range(2))
        self.down = nn.Linear(3 * WIDTH, WIDTH, bias=False)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        heads = [
            one.unflatten(-1, (4, -1)).transpose(1, 2)
            for one in self.qkv(self.norm_1(x)).chunk(3, dim=-1)
        ]
        mixed = F.scaled_dot_product_attention(*heads, attn_mask=mask)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        y = self.norm_2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.emb = nn.Embedding(WORDS, WIDTH)
        self.h = nn.ModuleList(Gated() for _ in range(LAYERS))
        self.norm, self.head = RmsNorm(), nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        ones = torch.ones(x.shape[0], 1, x.shape[1], x.shape[1], device=x.device, dtype=torch.bool)
        mask = self.packed(ones.tril())
        x = self.emb(x)
        for layer in self.h:
            x = layer(x, mask=mask)
        return self.head(self.norm(x))

    def packed(self, mask: Tensor) -> Any:
        return mask


class Masked:
    """A mask inside an object of the program: a recording cannot see that layers read it."""

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask


class HiddenMask(Llama):
    def __init__(self) -> None:
        super().__init__()
        for layer in self.h:
            layer.forward = functools.partial(self.unpacked, layer.forward)

    def packed(self, mask: Tensor) -> Any:
        return Masked(mask)

    def unpacked(self, real: Callable[..., Tensor], x: Tensor, mask: Masked) -> Tensor:
        return real(x, mask.mask)


class Lora(nn.Module):
    def __init__(self, base: nn.Linear) -> None:
        super().__init__()
        self.base = base
        self.a = nn.Linear(base.in_features, 8, bias=False)
        self.b = nn.Linear(8, base.out_features, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.base(x) + self.b(self.a(x))


class Bottleneck(nn.Module):
    """A layer of ResNet, with everything in place."""

    def __init__(self, inner: int, outer: int, stride: int) -> None:
        super().__init__()
        self.c1, self.b1 = nn.Conv2d(inner, outer // 4, 1, bias=False), nn.BatchNorm2d(outer // 4)
        self.c2 = nn.Conv2d(outer // 4, outer // 4, 3, stride, 1, bias=False)
        self.b2 = nn.BatchNorm2d(outer // 4)
        self.c3, self.b3 = nn.Conv2d(outer // 4, outer, 1, bias=False), nn.BatchNorm2d(outer)
        self.relu = nn.ReLU(inplace=True)
        is_same = stride == 1 and inner == outer
        self.short = None if is_same else nn.Conv2d(inner, outer, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        y = self.relu(self.b1(self.c1(x)))
        y = self.b3(self.c3(self.relu(self.b2(self.c2(y)))))
        y += x if self.short is None else self.short(x)
        return self.relu(y)


class ResNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(inplace=True)
        )
        sizes = ((32, 128, 1), (128, 128, 1), (128, 256, 2), (256, 256, 1), (256, 512, 2))
        self.h = nn.ModuleList(Bottleneck(*size) for size in (*sizes, (512, 512, 1)))
        self.head = nn.Linear(512, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        for layer in self.h:
            x = layer(x)
        return self.head(x.mean((2, 3)))


class Stage(nn.Module):
    def __init__(self, inner: int, outer: int) -> None:
        super().__init__()
        self.norm, self.conv = nn.GroupNorm(8, inner), nn.Conv2d(inner, outer, 3, padding=1)
        self.again, self.short = nn.Conv2d(outer, outer, 3, padding=1), nn.Conv2d(inner, outer, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.again(F.silu(self.conv(F.silu(self.norm(x))))) + self.short(x)


class UNet(nn.Module):
    """Unequal stages with connections that skip the inner ones."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.last = nn.Conv2d(3, 32, 3, padding=1), nn.Conv2d(32, 3, 3, padding=1)
        sizes = ((32, 32), (32, 64), (64, 128), (128 + 64, 64), (64 + 32, 32), (32 + 32, 32))
        self.h = nn.ModuleList(Stage(*size) for size in sizes)

    def forward(self, x: Tensor) -> Tensor:
        kept = [self.stem(x)]
        for layer in self.h[:2]:
            kept.append(layer(kept[-1]))
            kept[-1] = F.avg_pool2d(kept[-1], 2)
        x = self.h[2](kept[-1])
        for layer in self.h[3:]:
            skip = kept.pop()
            x = F.interpolate(x, size=skip.shape[-2:])
            x = layer(torch.cat((x, skip), dim=1))
        return self.last(x)


class Vit(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, WIDTH, 8, 8)
        self.h = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        for layer in self.h:
            x = layer(x)
        return self.head(self.norm(x)[:, 0])


def words() -> Tensor:
    return torch.randint(WORDS, (16, TOKENS), device="cuda")


def pictures(size: int, count: int = 16) -> Tensor:
    return torch.randn(count, 3, size, size, device="cuda")


def with_lora() -> nn.Module:
    model = Llama().requires_grad_(False)
    for layer in model.h:
        layer.qkv, layer.out = Lora(layer.qkv), Lora(layer.out)
    return model


# The model, its input, and whether autocast is on.
MODELS: dict[str, tuple[Callable[[], nn.Module], Callable[[], Tensor], bool]] = {
    "gpt": (Gpt, words, True),
    "postnorm": (PostNorm, words, False),
    "llama": (lambda: Llama().bfloat16(), words, False),
    "hidden_mask": (lambda: HiddenMask().bfloat16(), words, False),
    "lora": (with_lora, words, False),
    "resnet": (ResNet, lambda: pictures(48), False),
    "unet": (UNet, lambda: pictures(48, 8), False),
    "vit": (Vit, lambda: pictures(64), True),
    "resnet_amp": (ResNet, lambda: pictures(48), True),
}


class Training:
    """A model whose layers `chosen` are checkpointed."""

    def __init__(self, name: str) -> None:
        make, self.input, self.has_amp = MODELS[name]
        self.model = make().cuda()
        self.chosen: set[str] = set()
        self.layers = [f"h.{i}" for i in range(len(self.model.h))]
        for path in self.layers:
            layer = self.model.get_submodule(path)
            layer.forward = functools.partial(self.call, path, layer.forward)
        trained = [one for one in self.model.parameters() if one.requires_grad]
        self.optimizer = torch.optim.AdamW(trained)

    def call(self, path: str, real: Callable[..., Tensor], *args: Any, **more: Any) -> Tensor:
        if path in self.chosen:
            return checkpoint(real, *args, use_reentrant=False, **more)
        return real(*args, **more)

    def step(self) -> None:
        x = self.input()
        with self.autocast():
            loss = self.model(x).float().logsumexp(-1).mean()
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()

    def flops_of_layer(self) -> int:
        """Return what torch counts for the forward pass of the first layer."""
        self.chosen = set()
        with FlopCounterMode(display=False) as mode, torch.no_grad(), self.autocast():
            self.model(self.input())
        return sum(mode.get_flop_counts()[f"{type(self.model).__name__}.h.0"].values())

    def autocast(self) -> torch.autocast:
        return torch.autocast("cuda", dtype=torch.bfloat16, enabled=self.has_amp)

    def peak(self, chosen: list[str]) -> int:
        self.chosen = set(chosen)
        torch.cuda.reset_peak_memory_stats()
        self.step()
        return int(torch.cuda.memory_stats()["requested_bytes.all.peak"])


def forget() -> None:
    gc.collect()
    torch._C._cuda_clearCublasWorkspaces()
    torch.cuda.empty_cache()
    assert torch.cuda.memory_allocated() == 0


def measured(name: str, subset_count: int) -> dict[str, Any]:
    forget()
    with peakline.trace(f"{name}.peak"):
        training = Training(name)
        training.step()
        training.step()
    layers = training.layers
    random.seed(name)
    subsets = [random.sample(layers, random.randint(1, len(layers))) for _ in range(subset_count)]
    flops = training.flops_of_layer()
    peaks = [(sorted(chosen), training.peak(chosen)) for chosen in ([], *subsets)]
    whole = training.peak(layers)
    return {"layers": layers, "peaks": peaks, "flops": flops, "peak_of_all": whole}


def record_all(name: str) -> None:
    forget()
    with peakline.trace(f"{name}.all.peak"):
        training = Training(name)
        training.chosen = set(training.layers)
        training.step()
        training.step()


if __name__ == "__main__":
    peakline.switch_allocator()
    count, *names = sys.argv[1:]
    if count == "all":
        for one in names or MODELS:
            record_all(one)
    else:
        print(json.dumps({name: measured(name, int(count)) for name in names or MODELS}))
