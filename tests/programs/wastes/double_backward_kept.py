"""A gradient penalty by backward(create_graph=True): graph and gradients hold each other."""

import torch
from common import Model, batches, finish, loss_of


def penalty_of(words: torch.Tensor) -> float:
    model = Model(layers=2)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        loss_of(model(words), words).backward(create_graph=True)
        gradients = [one.grad for one in model.parameters()]
        return float(sum(one.square().sum() for one in gradients))


finish([penalty_of(words) for words in batches(5)])
