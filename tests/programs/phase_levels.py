"""Trains a model and prints what torch's own counters say at the edges of its phases.

The model is named on the command line. Each line of `phases` is [step, phase, level at its begin,
level at its end, peak], read with memory_allocated() and max_memory_allocated().
"""

import sys
from collections.abc import Callable

import torch
from counters import finish_holding
from torch import nn

STEPS = 3
_seen: list[list[object]] = []


def measured(step: int, phase: str, work: Callable[[], object]) -> object:
    begin = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    result = work()
    peak = torch.cuda.max_memory_allocated()
    _seen.append([step, phase, begin, torch.cuda.memory_allocated(), peak])
    return result


def train(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    batch_of: Callable[[], torch.Tensor],
    loss_of: Callable[[torch.Tensor], torch.Tensor],
) -> None:
    for step in range(STEPS):
        batch = batch_of()
        loss = measured(step, "forward", lambda batch=batch: loss_of(batch))
        measured(step, "backward", lambda loss=loss: loss.backward())
        measured(step, "optimizer", lambda: optimizer.step())
        # Directly after the step it belongs to that.
        measured(step, "zero_grad", lambda: optimizer.zero_grad(set_to_none=True))
        # Between the phases: rebinding it would free it after the next reading of the counters.
        del loss


def mlp() -> None:
    model = nn.Sequential(nn.Linear(300, 700), nn.GELU(), nn.Linear(700, 11)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())

    def loss_of(batch: torch.Tensor) -> torch.Tensor:
        return model(batch).square().mean()

    train(model, optimizer, lambda: torch.randn(33, 300, device="cuda"), loss_of)


def in_closure() -> None:
    """The optimizer calls forward and backward pass, as Lightning does."""
    model = nn.Sequential(nn.Linear(300, 700), nn.GELU(), nn.Linear(700, 11)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(STEPS):
        batch = torch.randn(33, 300, device="cuda")

        def closure(step: int = step, batch: torch.Tensor = batch) -> torch.Tensor:
            optimizer.zero_grad()
            loss = measured(step, "forward", lambda: model(batch).square().mean())
            measured(step, "backward", lambda: loss.backward())
            return loss

        optimizer.step(closure)


def resnet50() -> None:
    from torchvision.models import resnet50 as make_resnet50

    model = make_resnet50(weights=None).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    labels = torch.zeros(2, device="cuda").long()

    def loss_of(batch: torch.Tensor) -> torch.Tensor:
        return nn.functional.cross_entropy(model(batch), labels)

    train(model, optimizer, lambda: torch.randn(2, 3, 64, 64, device="cuda"), loss_of)


def gpt2() -> None:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(n_layer=2, n_embd=128, n_head=4, vocab_size=1000)
    model = GPT2LMHeadModel(config).cuda()
    model.gradient_checkpointing_enable()
    model.train()
    optimizer = torch.optim.AdamW(model.parameters())

    def loss_of(batch: torch.Tensor) -> torch.Tensor:
        return model(batch, labels=batch).loss

    train(model, optimizer, lambda: torch.zeros(2, 64, device="cuda").long(), loss_of)


if __name__ == "__main__":
    {f.__name__: f for f in (mlp, in_closure, resnet50, gpt2)}[sys.argv[1]]()
    finish_holding(phases=_seen)
