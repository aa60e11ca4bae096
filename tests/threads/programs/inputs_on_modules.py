"""Modules keep their inputs after the hooks are gone.

https://github.com/jmschrei/tangermeme/pull/84
"""

import torch

models = [
    torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(4)]).cuda() for _ in range(6)
]


def keep(module, inputs, outputs):
    module.input = inputs[0].clone().detach()  # cause


@torch.no_grad()
def explain(model):
    hooks = [layer.register_forward_hook(keep) for layer in model]
    model(torch.randn(8192, 1024, device="cuda"))
    for hook in hooks:
        hook.remove()


for model in models:
    explain(model)
