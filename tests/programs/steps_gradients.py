"""Trains for ten steps; prints the bytes of each gradient while the phase of that step's name is
open. Before the sixth step one parameter is replaced by another; after it, a parameter that only
the optimizer had becomes one of the model's."""

import json
import os

import peakline
import torch

model = torch.nn.Sequential(*(torch.nn.Linear(size, 1, device="cuda") for size in (300, 700, 1100)))
model.late = torch.nn.Module()
bare = torch.nn.Parameter(torch.zeros(1900, device="cuda"))
optimizer = torch.optim.SGD([*model.parameters(), bare], lr=0.1)


def replace_a_parameter() -> None:
    """Of 1100 columns, by one of 1500."""
    model[2].weight = torch.nn.Parameter(torch.zeros(1, 1500, device="cuda"))
    parameters = optimizer.param_groups[0]["params"]
    place = next(i for i, p in enumerate(parameters) if p.numel() == 1100)
    parameters[place] = model[2].weight


def step() -> None:
    optimizer.zero_grad()
    sum(layer.weight.sum() * 2 + layer.bias.sum() for layer in model[:3]).backward()
    bare.sum().backward()
    optimizer.step()


def block_bytes(gradient: torch.Tensor) -> int:
    return (gradient.untyped_storage().nbytes() + 511) // 512 * 512


said = {}
for number in range(1, 11):
    if number == 6:
        replace_a_parameter()
    if number == 7:
        model.late.weight = bare
    step()
    with peakline.phase(f"after {number}"):
        # The highest level of the phase: all gradients are there.
        torch.empty(4096, device="cuda")
    said[f"after {number}"] = {
        f"gradient of {name}": block_bytes(parameter.grad)
        for name, parameter in model.named_parameters()
    }
print(json.dumps(said), flush=True)
os._exit(0)
