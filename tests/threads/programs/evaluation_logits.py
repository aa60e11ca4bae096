"""https://github.com/huggingface/transformers/issues/12878: an evaluation keeps all its logits."""

import torch

net = torch.nn.Sequential(
    torch.nn.Linear(512, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 4096)
).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    net(torch.randn(2048, 512, device="cuda")).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
net.eval()
outputs = []
with torch.no_grad():
    for _ in range(20):
        outputs.append(net(torch.randn(2048, 512, device="cuda")))  # cause
    scores = torch.cat(outputs)
