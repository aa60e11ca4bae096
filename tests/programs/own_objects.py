"""Prints, as one JSON line, what a program can see of its own objects while they are trained.

Run with and without recording: the two lines are equal.
"""

import builtins
import copy
import gc
import io
import json
import pickle
import re
import sys
import weakref
from collections import Counter
from typing import Any

import torch
from torch import nn

seen: dict[str, Any] = {}
events: list[str] = []


class Watching(nn.Module):
    """A module with a finaliser of its own."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.inner = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x)

    def __del__(self) -> None:
        events.append(f"{self.name} finalised, {sys.getrefcount(self)} references")


class Undying(nn.Linear):
    """Survives its finaliser once."""

    def __del__(self) -> None:
        events.append("undying finalised")
        saved.append(self)


saved: list[nn.Module] = []


def facts(thing: Any) -> dict[str, Any]:
    """Nothing here may depend on addresses."""
    return {
        "weak": weakref.getweakrefcount(thing),
        "references": sys.getrefcount(thing),
        "referrers": sorted(Counter(type(r).__name__ for r in gc.get_referrers(thing)).items()),
        "finalised": gc.is_finalized(thing),
        "tracked": gc.is_tracked(thing),
        "attributes": sorted(getattr(thing, "__dict__", {})),
        "of_class": sorted(vars(type(thing))),
        "has_del": hasattr(thing, "__del__"),
    }


def train(model: nn.Module, optimizer: torch.optim.Optimizer, steps: int) -> None:
    for _ in range(steps):
        model(torch.zeros(4, 8, device="cuda")).sum().backward()
        optimizer.step()


def look(moment: str, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    for name, module in model.named_modules():
        seen[f"{moment} module {name}"] = facts(module)
        del module
    for name, parameter in model.named_parameters():
        seen[f"{moment} parameter {name}"] = facts(parameter)
        seen[f"{moment} uses {name}"] = parameter._use_count()
        del parameter
    for name, buffer in model.named_buffers():
        seen[f"{moment} buffer {name}"] = facts(buffer)
        del buffer
    seen[f"{moment} optimizer"] = facts(optimizer)
    seen[f"{moment} operator"] = facts(torch.ops.aten.add.Tensor)
    seen[f"{moment} state"] = facts(optimizer.state)
    seen[f"{moment} tensors"] = sum(isinstance(thing, torch.Tensor) for thing in gc.get_objects())


def trained() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), Watching("trained")).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    train(model, optimizer, 5)
    torch.ops.aten.add.Tensor(torch.zeros(3, device="cuda"), 1)
    look("trained", model, optimizer)
    # torch writes addresses into it, whose digits vary.
    seen["pickled"] = len(re.sub(rb"[0-9]{8,}", b"", pickle.dumps(model)))
    seen["copied"] = facts(copy.deepcopy(model))
    stream = io.BytesIO()
    torch.save(model.state_dict(), stream)
    seen["saved"] = len(stream.getvalue())
    callbacks = [weakref.ref(layer, lambda _: events.append("layer gone")) for layer in model]
    whole = weakref.finalize(model, events.append, "model gone")
    del model, optimizer
    seen["collected"] = gc.collect()
    seen["gone"] = [reference() is None for reference in callbacks] + [not whole.alive]


def in_a_cycle() -> None:
    model = Watching("cyclic").cuda()
    model.inner.__dict__["owner"] = model
    train(model, torch.optim.SGD(model.parameters(), lr=0.1), 1)
    del model
    seen["cycle"] = gc.collect()


def undying() -> None:
    model = Undying(8, 8).cuda()
    train(model, torch.optim.SGD(model.parameters(), lr=0.1), 2)
    del model
    seen["risen"] = facts(saved[0])
    train(saved[0], torch.optim.SGD(saved[0].parameters(), lr=0.1), 2)
    saved.clear()
    gc.collect()


def other_class() -> None:
    """Modules change their class, as fully_shard() and parametrize do; a finaliser comes late."""
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    train(model, optimizer, 2)
    derived = type("Derived", (nn.Linear,), {})
    model[0].__class__ = derived
    seen["class"] = [type(model[0]).__name__, hasattr(model[0], "__del__")]
    train(model, optimizer, 2)
    derived.__del__ = lambda self: events.append("derived finalised")
    train(model, optimizer, 1)
    model[0].__class__ = nn.Linear
    model[1].__class__ = derived
    look("changed", model, optimizer)
    del model, optimizer
    gc.collect()


def swapped() -> None:
    torch.__future__.set_swap_module_params_on_conversion(True)
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    train(model, optimizer, 3)
    numbers = [id(parameter) for parameter in model.parameters()]
    optimizer.zero_grad()
    model.half()
    first, second = model[0].weight, model[1].weight
    torch.utils.swap_tensors(first, second)
    seen["swapped"] = [numbers == [id(parameter) for parameter in model.parameters()]]
    del first, second
    model.float()
    train(model, optimizer, 3)
    look("swapped", model, optimizer)
    torch.__future__.set_swap_module_params_on_conversion(False)
    with torch.device("meta"):
        empty = nn.Sequential(nn.Embedding(8, 8), nn.Linear(8, 8))
    torch.__future__.set_swap_module_params_on_conversion(True)
    empty.to_empty(device="cuda")
    seen["filled"] = str(empty[0].weight.device)


def main() -> None:
    gc.disable()  # when it runs by itself depends on how many objects there are, ours included
    for work in (trained, in_a_cycle, undying, other_class, swapped):
        work()
        events.append(f"after {work.__name__}")
    # Modules that die at the very end of the interpreter, after all modules were cleared.
    builtins.kept = [nn.Linear(8, 8).cuda(), sys.modules["__main__"]]
    train(builtins.kept[0], torch.optim.SGD(builtins.kept[0].parameters(), lr=0.1), 2)
    seen["events"] = events
    seen["garbage"] = len(gc.garbage)
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
