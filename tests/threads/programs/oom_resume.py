"""github.com/huggingface/transformers/issues/22123: training fits, resuming it does not.

The checkpoint is loaded to the device, and stays there beside the model that takes a copy.
"""

import io

import torch

WIDTH = 2048


def training() -> tuple[torch.nn.Module, torch.optim.Optimizer]:
    """Return a model on the device and its optimizer."""
    model = torch.nn.Sequential(*[torch.nn.Linear(WIDTH, WIDTH) for _ in range(4)]).cuda()
    return model, torch.optim.AdamW(model.parameters())


def step(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Train one step."""
    model(torch.zeros(8, WIDTH, device="cuda")).mean().backward()
    optimizer.step()
    optimizer.zero_grad()


def save(file: io.BytesIO) -> None:
    """Train one step from the start, and keep its state."""
    model, optimizer = training()
    step(model, optimizer)
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)


file = io.BytesIO()
save(file)
file.seek(0)
checkpoint = torch.load(file, map_location="cuda")  # cause
model, optimizer = training()
model.load_state_dict(checkpoint["model"])
optimizer.load_state_dict(checkpoint["optimizer"])
step(model, optimizer)
