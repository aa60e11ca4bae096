"""Trains four models with different optimizers and prints what their objects hold at the end.

The sizes are those of the allocator's blocks, from torch.cuda.memory_snapshot(), by kind.
"""

import json
import os
import sys
import time

import torch
from torch import nn

DEVICE = "cuda"
kept: list[object] = []


class Experts(nn.Module):
    """A layer that mixes experts; every expert sees every token."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(64, 4, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(64, 256), nn.SiLU(), nn.Linear(256, 64)) for _ in range(4)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weights = self.gate(x).softmax(-1)
        return sum(e(x) * weights[..., i : i + 1] for i, e in enumerate(self.experts))


def mixture() -> nn.Module:
    return nn.Sequential(nn.Linear(64, 64), Experts(), nn.LayerNorm(64), Experts())


def gpt2() -> nn.Module:
    from transformers import GPT2Config, GPT2LMHeadModel

    return GPT2LMHeadModel(GPT2Config(n_layer=2, n_embd=128, n_head=4, vocab_size=5000))


def llama() -> nn.Module:
    from transformers import LlamaConfig, LlamaForCausalLM

    sizes = {"hidden_size": 128, "intermediate_size": 344, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 5000}
    return LlamaForCausalLM(LlamaConfig(**sizes, **heads))


def resnet50() -> nn.Module:
    from torchvision.models import resnet50 as make_resnet50

    return make_resnet50(weights=None)


def loss_of(model: nn.Module) -> torch.Tensor:
    if hasattr(model, "fc"):
        return model(torch.randn(2, 3, 32, 32, device=DEVICE)).square().mean()
    if hasattr(model, "config"):
        tokens = torch.zeros(2, 16, dtype=torch.long, device=DEVICE)
        return model(tokens, labels=tokens).loss
    return model(torch.randn(2, 8, 64, device=DEVICE)).square().mean()


def train(model: nn.Module, make, *, micro_batches: int = 1, scaled: bool = False) -> None:
    model = model.to(DEVICE)
    optimizer = make(model.parameters())
    kept.append((model, optimizer))
    scaler = torch.amp.GradScaler("cuda", enabled=scaled)
    for _ in range(3):
        optimizer.zero_grad(set_to_none=True)
        for _ in range(micro_batches):
            with torch.autocast("cuda", dtype=torch.float16, enabled=scaled):
                loss = loss_of(model)
            scaler.scale(loss / micro_batches).backward()
        scaler.step(optimizer)
        scaler.update()


def tensors_in(value: object) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    inner = value.values() if isinstance(value, dict) else value
    return (
        [t for v in inner for t in tensors_in(v)]
        if isinstance(inner, (list, tuple)) or isinstance(value, dict)
        else []
    )


def held() -> dict[str, int]:
    """Bytes by kind, each block once."""
    torch.cuda.synchronize()
    sizes = {
        block["address"]: block["size"]
        for segment in torch.cuda.memory_snapshot()
        for block in segment["blocks"]
        if block["state"] == "active_allocated"
    }
    found: dict[str, dict[int, int]] = {"parameter": {}, "buffer": {}, "gradient": {}, "state": {}}

    def add(kind: str, tensor: torch.Tensor | None) -> None:
        address = tensor.untyped_storage().data_ptr() if tensor is not None else 0
        if address in sizes:
            found[kind][address] = sizes[address]

    for model, optimizer in kept:
        for parameter in model.parameters():
            add("parameter", parameter)
            add("gradient", parameter.grad)
        for buffer in model.buffers():
            add("buffer", buffer)
        options = [{**group, "params": ()} for group in optimizer.param_groups]
        for tensor in tensors_in([dict(optimizer.state), options]):
            add("state", tensor)
    return {kind: sum(blocks.values()) for kind, blocks in found.items()}


if __name__ == "__main__":
    optim = torch.optim
    if "transformers" in sys.argv:
        train(gpt2(), lambda p: optim.AdamW(p, foreach=True), micro_batches=3)
        train(llama(), lambda p: optim.AdamW(p, fused=True), scaled=True)
    train(resnet50(), lambda p: optim.SGD(p, lr=0.1, momentum=0.9))
    train(mixture(), optim.Adafactor)
    train(mixture(), lambda p: optim.Adam(p, foreach=False))
    print(json.dumps(held()), flush=True)
    time.sleep(0.3)
    os._exit(0)
