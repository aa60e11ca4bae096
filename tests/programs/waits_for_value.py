"""Waits for a value that never comes; says that it could clean up."""

import torch


def wait() -> None:
    done = torch.randn(1, device="cuda") * 0
    while not done.item():  # read waiting
        done = done + torch.randn(1, device="cuda")


try:
    wait()
finally:
    print("cleaned up", flush=True)
