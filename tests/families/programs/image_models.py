"""timm: a training step of three architectures, channels last, in mixed precision."""

import timm.optim
import torch
from _peak import finish

count = 0
for name in ("resnet50", "vit_small_patch16_224", "convnext_tiny"):
    model = timm.create_model(name, num_classes=10).cuda().to(memory_format=torch.channels_last)
    optimizer = timm.optim.create_optimizer_v2(model, opt="adamw", lr=1e-3)
    images = torch.randn(8, 3, 224, 224, device="cuda")
    labels = torch.zeros(8, dtype=torch.long, device="cuda")
    for _ in range(2):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    count += sum(1 for _ in model.parameters())
    del model, optimizer
finish(count)
