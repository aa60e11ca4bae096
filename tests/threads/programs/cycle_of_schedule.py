"""A schedule is given a lambda over the trainer that owns it.

https://github.com/pytorch/pytorch/issues/47589
"""

import gc

import torch

net = torch.nn.Linear(512, 512).cuda()


class Trainer:
    def __init__(self):
        self.rate = 1.0
        self.optimizer = torch.optim.Adam(net.parameters())
        self.schedule = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer,
            lr_lambda=lambda step: self.rate,  # cause
        )

    def run(self):
        net(torch.ones(8, 512, device="cuda")).mean().backward()
        self.optimizer.step()
        self.schedule.step()


gc.disable()
for _ in range(10):
    Trainer().run()
