"""https://github.com/huggingface/transformers/issues/33902: logits of all tokens become float32."""

import torch

words = torch.nn.Embedding(64000, 256).cuda().bfloat16()
head = torch.nn.Linear(256, 64000, bias=False).cuda().bfloat16()
optimizer = torch.optim.SGD([*words.parameters(), *head.parameters()], lr=0.1)


def train_step():
    tokens = torch.randint(0, 64000, (4, 1024)).cuda()
    logits = head(words(tokens)).float()  # cause
    torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens.flatten()).backward()
    optimizer.step()
    optimizer.zero_grad()


for _ in range(3):
    train_step()
