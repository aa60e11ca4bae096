"""Trains one layer; then evaluates with 4 times the batch, or gathers what it saves (--save)."""

import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int, default=1)
parser.add_argument("--save", action="store_true")
arguments = parser.parse_args()

WORDS = 64 << 10
model = torch.nn.Linear(64, WORDS).cuda()
optimizer = torch.optim.AdamW(model.parameters())


def batch_of(rows: int) -> torch.Tensor:
    return torch.ones(rows << 12, 64, device="cuda")


@torch.no_grad()
def evaluate() -> None:
    model(batch_of(4 * arguments.batch)).float().softmax(-1)  # evaluation


def save() -> None:
    whole = model.weight.expand(768, WORDS, 64).clone()  # gathered
    del whole


for _ in range(2):
    model(batch_of(arguments.batch)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
(save if arguments.save else evaluate)()
