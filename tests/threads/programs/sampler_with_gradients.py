"""https://github.com/neonbjb/tortoise-tts/pull/36: a sampler runs with gradients on."""

import torch

denoiser = torch.nn.Sequential(
    torch.nn.Conv2d(4, 64, 3, padding=1), torch.nn.SiLU(), torch.nn.Conv2d(64, 4, 3, padding=1)
).cuda()
latents = torch.randn(1, 4, 128, 128, device="cuda")
for _ in range(30):
    latents = latents - 0.1 * denoiser(latents)  # cause
