"""So many objects that a search takes its while, and comes to its end."""

import torch

tree = [[[number] for number in range(100)] for _ in range(3000)]
kept = [torch.ones(256, 1024, device="cuda") for _ in range(4)]
