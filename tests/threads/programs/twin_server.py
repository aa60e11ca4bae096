"""A server answers batches of any size."""

import random

import torch

random.seed(7)
net = torch.nn.Sequential(
    torch.nn.Linear(768, 3072), torch.nn.GELU(), torch.nn.Linear(3072, 768)
).cuda()
net.eval()


@torch.inference_mode()
def answer(requests):
    return net(torch.randn(requests * 64, 768, device="cuda")).mean(1).tolist()


for _ in range(40):
    answer(random.randrange(1, 33))
