"""Trains the model named on the command line for two steps and prints torch's own peaks."""

import sys

import torch
from counters import finish_holding, peaks_of_all_devices
from torch import nn


def transformer() -> None:
    layer = nn.TransformerEncoderLayer(128, 4, 256, batch_first=True)
    model = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for _ in range(2):
        batch = torch.randn(4, 61, 128, device="cuda")
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch).float().square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)


def resnet50() -> None:
    from torchvision.models import resnet50 as make_resnet50

    model = make_resnet50(weights=None).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(2):
        images = torch.randn(2, 3, 64, 64, device="cuda")
        loss = nn.functional.cross_entropy(model(images), torch.zeros(2, device="cuda").long())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)


def compiled() -> None:
    from torch._inductor.async_compile import shutdown_compile_workers

    model = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.LayerNorm(256), nn.Linear(256, 8))
    fast = torch.compile(model.cuda())
    for _ in range(3):
        fast(torch.randn(40, 64, device="cuda")).square().mean().backward()
        model.zero_grad()
    shutdown_compile_workers()


def two_devices() -> None:
    first = nn.Linear(500, 900).to("cuda:0")
    second = nn.Linear(900, 300).to("cuda:1")
    for _ in range(2):
        hidden = first(torch.randn(64, 500, device="cuda:0")).relu()
        second(hidden.to("cuda:1")).sum().backward()


if __name__ == "__main__":
    {f.__name__: f for f in (transformer, resnet50, compiled, two_devices)}[sys.argv[1]]()
    finish_holding(peaks=peaks_of_all_devices())
