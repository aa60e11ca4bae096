"""Trains a small model; what the case of its argument does besides grows, or does not.

A line that makes what grows is marked with the case: `# grows: NAME`.
"""

from __future__ import annotations

import copy
import gc
import random
import sys
from collections.abc import Callable
from typing import Any

import torch

STEPS = 24
WIDTH = 256
KEPT: list[Any] = []
CACHE: dict[int, torch.Tensor] = {}


def make_model() -> torch.nn.Sequential:
    """A model whose forward pass is the line that calls it."""
    layers = torch.nn.Linear(WIDTH, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, WIDTH)
    return torch.nn.Sequential(*layers).cuda()


class Training:
    """A model in training; cases override what they need."""

    batch = 32
    accumulation = 1

    def __init__(self) -> None:
        self.model = make_model()
        self.optimizer = torch.optim.AdamW(self.model.parameters())

    def run(self) -> None:
        """Train for STEPS steps of the optimizer."""
        for step in range(STEPS):
            for _ in range(self.accumulation):
                inputs = torch.ones(self.batch_of(step), WIDTH).cuda()
                self.forward_and_backward(step, inputs)
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.after_step(step)

    def batch_of(self, step: int) -> int:
        """Return the size of a batch."""
        return self.batch

    def forward_and_backward(self, step: int, inputs: torch.Tensor) -> None:
        """Do what every training does."""
        loss = self.model(inputs).square().mean()
        loss.backward()

    def after_step(self, step: int) -> None:
        """Do nothing."""


class LossList(Training):
    """Keeps losses with their graphs, which hold activations that backward() did not free."""

    def forward_and_backward(self, step: int, inputs: torch.Tensor) -> None:
        outputs = self.model(inputs)  # grows: loss_list
        loss = outputs.square().mean()
        loss.backward(retain_graph=True)
        KEPT.append(loss)


class GlobalCache(Training):
    def after_step(self, step: int) -> None:
        CACHE[step] = torch.full((64, 1024), float(step), device="cuda")  # grows: global_cache


class HookAppends(Training):
    def __init__(self) -> None:
        super().__init__()
        self.model[0].register_forward_hook(lambda *seen: KEPT.append(seen[2].detach()))

    def forward_and_backward(self, step: int, inputs: torch.Tensor) -> None:
        outputs = self.model(inputs)  # grows: hook_appends
        outputs.square().mean().backward()


class Node:
    """Refers to itself: only the garbage collector frees it."""

    def __init__(self, held: torch.Tensor) -> None:
        self.held, self.me = held, self


class Cycle(Training):
    def after_step(self, step: int) -> None:
        gc.disable()
        Node(torch.zeros(64, 1024, device="cuda"))  # grows: cycle


class CycleCollected(Training):
    def after_step(self, step: int) -> None:
        gc.disable()
        Node(torch.zeros(64, 1024, device="cuda"))
        if step % 6 == 5:
            gc.collect()


class ExceptionKept(Training):
    def after_step(self, step: int) -> None:
        try:
            self.fail()
        except ValueError as error:
            KEPT.append(error)

    def fail(self) -> None:
        scratch = torch.zeros(64, 1024, device="cuda")  # grows: exception_kept
        raise ValueError(scratch.shape)


class Closure(Training):
    def after_step(self, step: int) -> None:
        features = torch.zeros(64, 1024, device="cuda")  # grows: closure
        KEPT.append(lambda: features)


class EvaluationKeeps(Training):
    """Adds something every third step only."""

    def after_step(self, step: int) -> None:
        if step % 3 == 0:
            with torch.no_grad():
                outputs = self.model(torch.ones(64, WIDTH, device="cuda"))
                KEPT.append(outputs + 1)  # grows: evaluation_keeps


class Appended(Training):
    """One tensor that is made anew, larger each time."""

    history = torch.empty(0, WIDTH)

    def after_step(self, step: int) -> None:
        rows = torch.ones(16, WIDTH, device="cuda")
        self.history = torch.cat([self.history.cuda(), rows])  # grows: appended


class BeginsLate(Training):
    def after_step(self, step: int) -> None:
        if step >= STEPS // 2:
            KEPT.append(torch.zeros(64, 1024, device="cuda"))  # grows: begins_late


class VariableKeeps(Training):
    """Keeps something of a different size in every step."""

    def batch_of(self, step: int) -> int:
        return random.Random(step).randrange(8, 128)

    def forward_and_backward(self, step: int, inputs: torch.Tensor) -> None:
        outputs = self.model(inputs)  # grows: variable_keeps
        outputs.square().mean().backward()
        KEPT.append(outputs.detach())


class AccumulationKeeps(Training):
    accumulation = 4

    def forward_and_backward(self, step: int, inputs: torch.Tensor) -> None:
        loss = self.model(inputs).square().mean()
        loss.backward()
        KEPT.append(inputs.clone())  # grows: accumulation_keeps


class Inference(Training):
    """No optimizer: a step is a forward pass."""

    def run(self) -> None:
        with torch.no_grad():
            for _ in range(STEPS):
                outputs = self.model(torch.ones(64, WIDTH, device="cuda"))  # grows: inference
                KEPT.append(outputs)


class NoSteps(Training):
    """No module and no optimizer: over the time of the run."""

    def run(self) -> None:
        for _ in range(3000):
            torch.zeros(64, 1024, device="cuda")
            KEPT.append(torch.zeros(256, device="cuda"))  # grows: no_steps


class CacheLevelsOff(Training):
    def after_step(self, step: int) -> None:
        CACHE[step % 8] = torch.full((64, 1024), float(step), device="cuda")


class VariableBatches(Training):
    def batch_of(self, step: int) -> int:
        return random.Random(step).randrange(8, 256)

    def forward_and_backward(self, step: int, inputs: torch.Tensor) -> None:
        self.outputs = self.model(inputs)
        self.outputs.square().mean().backward()


class Accumulation(Training):
    accumulation = 4


class Evaluation(Training):
    def after_step(self, step: int) -> None:
        if step % 5 == 4:
            with torch.no_grad():
                seen = [self.model(torch.ones(64, WIDTH, device="cuda")) for _ in range(4)]
                self.last = torch.stack(seen).mean()


class MovingAverage(Training):
    """Of the weights; it begins in the third step."""

    average: torch.nn.Module | None = None

    def after_step(self, step: int) -> None:
        if step == 2:
            self.average = copy.deepcopy(self.model)
        if self.average is not None:
            pairs = zip(self.average.parameters(), self.model.parameters(), strict=True)
            for mean, weight in pairs:
                mean.data = 0.9 * mean.data + 0.1 * weight.data


class EmptiedEachEpoch(Training):
    def after_step(self, step: int) -> None:
        KEPT.append(torch.zeros(64, 1024, device="cuda"))
        if step % 8 == 7:
            KEPT.clear()


class InferenceOverwrites(Training):
    def run(self) -> None:
        with torch.no_grad():
            for step in range(STEPS):
                self.outputs = self.model(torch.ones(self.batch + step % 3, WIDTH, device="cuda"))


CASES: dict[str, Callable[[], Training]] = {
    "loss_list": LossList,
    "global_cache": GlobalCache,
    "hook_appends": HookAppends,
    "cycle": Cycle,
    "exception_kept": ExceptionKept,
    "closure": Closure,
    "evaluation_keeps": EvaluationKeeps,
    "appended": Appended,
    "begins_late": BeginsLate,
    "variable_keeps": VariableKeeps,
    "accumulation_keeps": AccumulationKeeps,
    "inference": Inference,
    "no_steps": NoSteps,
    "plain": Training,
    "cycle_collected": CycleCollected,
    "cache_levels_off": CacheLevelsOff,
    "variable_batches": VariableBatches,
    "accumulation": Accumulation,
    "evaluation": Evaluation,
    "moving_average": MovingAverage,
    "emptied_each_epoch": EmptiedEachEpoch,
    "inference_overwrites": InferenceOverwrites,
}

if __name__ == "__main__":
    CASES[sys.argv[1]]().run()
