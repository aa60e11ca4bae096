"""Trains two models by turns, as a GAN does, and would go on for long.

`cpu` as an argument: without a GPU. Whatever ends the loop from inside is caught.
"""

import sys

import torch

is_cpu = "cpu" in sys.argv
device = "cpu" if is_cpu else "cuda"
if "ranks" in sys.argv:
    torch.distributed.init_process_group("nccl")
    torch.cuda.set_device(torch.distributed.get_rank())
models = [torch.nn.Linear(64, 64, device=device) for _ in range(2)]
if "ranks" in sys.argv:
    models = [torch.nn.parallel.DistributedDataParallel(model) for model in models]
optimizers = [torch.optim.Adam(model.parameters()) for model in models]
data = torch.utils.data.TensorDataset(torch.ones(1000, 64))
workers = 0 if "ranks" in sys.argv else 1
for step, (batch,) in enumerate(torch.utils.data.DataLoader(data, num_workers=workers)):
    for name, model, optimizer in zip("ab", models, optimizers, strict=True):
        try:
            optimizer.zero_grad()
            model(batch.to(device)).sum().backward()
            print(step, name)  # into a buffer that nobody flushes
            optimizer.step()
        except BaseException as caught:  # noqa: PERF203 (each step must be left alone)
            print("caught", type(caught))
        finally:
            print("finally")
print("came to its end")
