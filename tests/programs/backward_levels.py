"""Trains a model and prints what torch's counters say when a module's backward begins and ends.

Arguments: the model, and who reads the counters. `modules`: full backward hooks, which keep the
gradient they were given until the module's backward has ended. `tensors`: hooks of the tensors that
go into modules and come out of them, which keep nothing. Prints {"seen": [[step, module, stage,
allocated, reserved, blocks made so far, bytes of the gradient it was given]]}.
"""

import sys
from collections.abc import Callable
from typing import Any

import torch
from counters import finish_holding
from torch import nn

STEPS = 3
seen: list[list[Any]] = []
step = 0


def note(module: str, stage: str, gradients: tuple[torch.Tensor | None, ...]) -> None:
    stats = torch.cuda.memory_stats()
    levels = [stats["allocated_bytes.all.current"], stats["reserved_bytes.all.current"]]
    given = sum(one.untyped_storage().nbytes() for one in gradients if one is not None)
    seen.append([step, module, stage, *levels, stats["allocation.all.allocated"], given])


def watch_modules(name: str, module: nn.Module) -> None:
    module.register_full_backward_pre_hook(lambda _, given: note(name, "pre backward", given))
    module.register_full_backward_hook(
        lambda _, __, given: note(name, "post backward", given)  # of its output
    )


def watch_tensors(name: str, module: nn.Module) -> None:
    def watch(tensors: object, stage: str) -> None:
        for tensor in tensors if isinstance(tensors, tuple) else (tensors,):
            if isinstance(tensor, torch.Tensor) and tensor.requires_grad:
                tensor.register_hook(lambda given: note(name, stage, (given,)))

    # An inner module's output is its caller's, too: the hooks run in the order they were made.
    module.register_forward_hook(lambda _, __, result: watch(result, "pre backward"))
    module.register_forward_pre_hook(lambda _, given: watch(given, "post backward"))


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(256)
        self.up = nn.Linear(256, width)
        self.act = nn.GELU()
        self.down = nn.Linear(width, 256)
        self.drop = nn.Dropout(0.1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.drop(self.down(self.act(self.up(self.norm(x)))))


def chain() -> tuple[nn.Module, Callable[[nn.Module], torch.Tensor]]:
    """One module after another: each gradient has one source."""
    model = nn.Sequential(*(Block(512 * n) for n in (3, 5, 7)), nn.Softmax(dim=-1)).cuda()

    def loss_of(model: nn.Module) -> torch.Tensor:
        batch = torch.randn(128, 256, device="cuda", requires_grad=True)
        return model(batch).square().mean()

    return model, loss_of


def gpt2() -> tuple[nn.Module, Callable[[nn.Module], torch.Tensor]]:
    """Residuals: gradients are summed; the embeddings' inputs have none."""
    from transformers import GPT2Config, GPT2LMHeadModel

    size = {"n_layer": 2, "n_embd": 128, "n_head": 4, "vocab_size": 1000}
    model = GPT2LMHeadModel(GPT2Config(**size, bos_token_id=1, eos_token_id=2)).cuda()

    def loss_of(model: nn.Module) -> torch.Tensor:
        tokens = torch.randint(1000, (2, 64), device="cuda")
        return model(tokens, labels=tokens).loss

    return model, loss_of


def main(name: str, who: str) -> None:
    global step
    model, loss_of = {f.__name__: f for f in (chain, gpt2)}[name]()
    optimizer = torch.optim.AdamW(model.parameters())
    for path, module in model.named_modules():
        watch = {"modules": watch_modules, "tensors": watch_tensors}[who]
        watch(path or type(model).__name__, module)
    for number in range(STEPS):
        step = number
        loss_of(model).backward()
        optimizer.step()
        optimizer.zero_grad()
    finish_holding(seen=seen)


if __name__ == "__main__":
    main(*sys.argv[1:])
