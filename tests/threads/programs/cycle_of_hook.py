"""A forward hook is a closure over the module that it belongs to: each old model is a cycle.

https://github.com/pytorch/pytorch/issues/46386
https://github.com/pytorch/pytorch/issues/128211
"""

import gc

import torch


class Probe(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(512, 512)

        def note_mean(module, inputs, output):
            self.mean = float(output.shape[0])

        self.body.register_forward_hook(note_mean)  # cause

    def forward(self, batch):
        return self.body(batch)


def main():
    gc.disable()  # as where a program makes few objects
    for _ in range(10):
        probe = Probe().cuda()
        optimizer = torch.optim.SGD(probe.parameters(), lr=0.1)
        probe(torch.ones(8, 512, device="cuda")).sum().backward()
        optimizer.step()


main()
