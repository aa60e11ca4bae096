"""An evaluation under no_grad that counts right answers."""

import torch

net = torch.nn.Sequential(
    torch.nn.Linear(512, 4096), torch.nn.ReLU(), torch.nn.Linear(4096, 512)
).cuda()
net.eval()


@torch.no_grad()
def evaluate():
    right = 0
    for _ in range(16):
        labels = torch.randint(0, 512, (4096,)).cuda()
        right += (net(torch.randn(4096, 512, device="cuda")).argmax(1) == labels).sum().item()
    return right


evaluate()
