"""Gradients of a size of its own for each forward line, in programs that make lines hard to own.

Checkpointing of both kinds, functions and hooks of the user, double backward, two passes over one
graph, leaves used elsewhere than where they are; on a machine of several devices they take turns.
Prints {"gradients": {forward line: bytes}}, and which of these Python of the program made; all
gradients are live at the end.
"""

import itertools
import sys
from collections.abc import Iterator

import torch
from counters import finish_holding
from torch.utils.checkpoint import checkpoint

# Python of the program makes these gradients: a function's backward, hooks.
BY_PYTHON = ("function", "hook", "replaced", "crossing", "offloaded")
weights: dict[int, list[torch.Tensor]] = {}  # by the line that uses them
devices = itertools.cycle(range(torch.cuda.device_count()))


def leaves() -> Iterator[torch.Tensor]:
    for size in itertools.count(1009, 1009):
        yield torch.ones(size, device=f"cuda:{next(devices)}", requires_grad=True)


make = leaves()
made: dict[str, torch.Tensor] = {}


def weight(name: str) -> torch.Tensor:
    """The leaf of this name, whose gradient belongs to the calling line."""
    leaf = made.get(name)
    if leaf is None:
        leaf = made[name] = next(make)
        weights.setdefault(sys._getframe(1).f_lineno, []).append(leaf)
    return leaf


def loss_of(value: torch.Tensor) -> torch.Tensor:
    return value.sum().to("cuda:0")


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: torch.Tensor) -> torch.Tensor:
        return x * 3

    @staticmethod
    def backward(ctx, grad: torch.Tensor) -> torch.Tensor:
        return grad * 3


def plain() -> torch.Tensor:
    total = loss_of(weight("sin").sin())
    total = total + loss_of(weight("gelu").abs().sqrt())
    return total + loss_of(
        weight("last").exp(),
    )


def again(x: torch.Tensor, name: str) -> torch.Tensor:
    x = x * loss_of(weight(f"{name}.first").tanh())
    return x + loss_of(weight(f"{name}.second").cos())


def of_the_user() -> torch.Tensor:
    total = loss_of(Scaled.apply(weight("function")))
    total = total + loss_of(Scaled.apply(weight("before").exp()))
    total = total + loss_of(with_hook(weight("hook")).sigmoid())
    return total + loss_of(weight("replaced").atan())


def with_hook(leaf: torch.Tensor) -> torch.Tensor:
    leaf.register_hook(lambda grad: grad.clone())
    return leaf


def replace(leaf: torch.Tensor) -> None:
    leaf.grad = leaf.grad * 2


def elsewhere() -> torch.Tensor:
    total = weight("crossing").to("cuda:0").square().sum()
    return total + weight("offloaded").to("cpu").square().sum().to("cuda:0")


def penalty() -> torch.Tensor:
    loss = loss_of(weight("penalty") ** 3)
    (slope,) = torch.autograd.grad(loss, made["penalty"], create_graph=True)
    return loss_of(slope.square())


def main() -> None:
    x = torch.ones(3, device="cuda:0", requires_grad=True)
    plain().backward()
    checkpoint(again, x, "saved", use_reentrant=False).sum().backward()
    checkpoint(again, x, "reentrant", use_reentrant=True).sum().backward()
    for graph, hooked in ((of_the_user, ["replaced"]), (elsewhere, ["crossing", "offloaded"])):
        loss = graph()
        for name in hooked:
            made[name].register_post_accumulate_grad_hook(replace)
        loss.backward()
    penalty().backward()
    twice = loss_of(weight("twice").tanh())
    twice.backward(retain_graph=True)
    made["twice"].grad = None
    twice.backward()
    x.grad = None
    gradients = {
        line: sum(leaf.grad.untyped_storage().nbytes() for leaf in used)
        for line, used in weights.items()
    }
    of_python = {
        line: sum(
            4 * leaf.numel() for leaf in used if any(leaf is made[name] for name in BY_PYTHON)
        )
        for line, used in weights.items()
    }
    finish_holding(gradients=gradients, of_python=of_python, devices=torch.cuda.device_count())


if __name__ == "__main__":
    main()
