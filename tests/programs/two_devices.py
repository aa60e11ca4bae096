"""Holds blocks of one line on two devices; the second holds more."""

import torch

places = ["cuda:0"] * 2 + ["cuda:1"] * 3
held = [torch.empty(3 << 20, dtype=torch.uint8, device=place) for place in places]
weights = torch.nn.Linear(64, 64).to("cuda:1")
weights(torch.ones(8, 64, device="cuda:1")).sum().backward()
