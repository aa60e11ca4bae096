"""Three steps of training; then an evaluation keeps the output of each of its twenty batches.

https://github.com/huggingface/transformers/issues/8476
https://github.com/huggingface/transformers/issues/12878
"""

import torch

net = torch.nn.Linear(512, 256).cuda()
optimizer = torch.optim.SGD(net.parameters())
for _ in range(3):
    net(torch.ones(64, 512, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()

net.eval()
outputs = []
with torch.no_grad():
    for _ in range(20):
        outputs += [net(torch.ones(64, 512, device="cuda"))]  # cause
