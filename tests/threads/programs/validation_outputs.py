"""What validation_step() returns stays.

https://github.com/Lightning-AI/pytorch-lightning/issues/8453
"""

import torch


class Module(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(256, 4096)

    def validation_step(self, batch):
        outputs = self.layer(batch)  # cause
        return {"loss": outputs.mean(), "outputs": outputs}


class Loop:
    def __init__(self, module):
        self.module = module
        self.outputs = []

    @torch.no_grad()
    def run(self, batches):
        for _ in range(batches):
            batch = torch.randn(2048, 256, device="cuda")
            self.outputs.append(self.module.validation_step(batch))


Loop(Module().cuda().eval()).run(20)
