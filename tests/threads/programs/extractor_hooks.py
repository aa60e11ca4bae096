"""https://github.com/KamitaniLab/bdpy/issues/72: hooks of an extractor that is gone still store."""

import torch


class Extractor:
    def __init__(self, encoder):
        self.features = []
        encoder[1].register_forward_hook(lambda module, inputs, out: self.features.append(out))


encoder = torch.nn.Sequential(
    torch.nn.Conv2d(3, 32, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(32, 4, 3, padding=1)
).cuda()


def reconstruct():
    Extractor(encoder)
    with torch.no_grad():
        for _ in range(6):
            encoder(torch.rand(2, 3, 256, 256, device="cuda"))  # cause


for _ in range(3):
    reconstruct()
