"""Trains a small network. README.md guards its peak in CI.

With --wider the network has a larger middle layer, as a change of the code might make it.
"""

import sys

import torch

WIDTH = 2048


def make_network(middle: int) -> torch.nn.Module:
    return torch.nn.Sequential(
        torch.nn.Linear(WIDTH, middle), torch.nn.GELU(), torch.nn.Linear(middle, WIDTH)
    )


def main() -> None:
    wider = "--wider" in sys.argv
    network = make_network(6 * WIDTH if wider else 4 * WIDTH).cuda()
    optimizer = torch.optim.AdamW(network.parameters())
    for _ in range(3):
        network(torch.ones(4096, WIDTH, device="cuda")).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
