"""Gradients of inputs, each of a size of its own, through modules that make backward hard to own.

The inputs are nobody's parameters: only stacks can tell whose gradient it is. Prints
{"owners": {module: bytes}}; all gradients are live at the end, and nothing else of the modules.
"""

import time

import torch
from counters import finish_holding
from torch import nn
from torch.utils.checkpoint import checkpoint


class Plain(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.tanh().sum()


class Nested(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Sequential(Plain())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x)


class Checkpointed(nn.Module):
    def __init__(self, reentrant: bool) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.GELU(), nn.Tanh())
        self.reentrant = reentrant

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return checkpoint(self.inner, x, use_reentrant=self.reentrant).sum()


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx, grad: torch.Tensor) -> torch.Tensor:
        return grad * 2


class Custom(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return Doubled.apply(x).sum()


class Hooked(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x.register_hook(lambda grad: grad.clone())
        return x.exp().sum()


class Penalty(nn.Module):
    """Double backward: the nodes that give x its gradient are made by a backward pass."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        (slope,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
        return slope.square().sum()


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.ModuleList([Plain(), Plain(), Nested(), Custom(), Hooked(), Penalty()])
        self.again = Checkpointed(False)
        self.reentrant = Checkpointed(True)
        self.twice = Plain()


def main() -> None:
    model = Model().cuda()
    owners = {
        "parts.0": model.parts[0],
        "parts.1": model.parts[1],
        "parts.2.inner.0": model.parts[2],
        "parts.3": model.parts[3],
        "parts.4": model.parts[4],
        "parts.5": model.parts[5],
        "again.inner.0": model.again,
        "reentrant.inner.0": model.reentrant,
        "twice": model.twice,
    }
    expected = {}
    kept = []
    for number, (owner, module) in enumerate(owners.items()):
        x = torch.ones(1009 * (number + 1), device="cuda", requires_grad=True)
        loss = module(x)
        if owner == "twice":
            loss.backward(retain_graph=True)
            x.grad = None
        loss.backward()
        del loss
        kept.append(x)
        expected[owner] = x.grad.untyped_storage().nbytes()
    torch.cuda.synchronize()
    time.sleep(0.3)
    finish_holding(owners=expected)


if __name__ == "__main__":
    main()
