"""Two models vote; their mean is taken at once."""

import torch


def model(width):
    return (
        torch.nn.Sequential(
            torch.nn.Linear(512, width), torch.nn.ReLU(), torch.nn.Linear(width, 100)
        )
        .cuda()
        .eval()
    )


models = [model(2048), model(4096)]


@torch.no_grad()
def vote():
    inputs = torch.randn(4096, 512, device="cuda")
    return torch.stack([one(inputs).softmax(1) for one in models]).mean(0).argmax(1).cpu()


votes = [vote() for _ in range(12)]
