"""diffusers: trains a small UNet with EMA weights, then samples."""

import torch
from _peak import finish
from diffusers import DDPMScheduler, UNet2DModel
from diffusers.training_utils import EMAModel

model = UNet2DModel(
    sample_size=32,
    block_out_channels=(64, 128),
    layers_per_block=1,
    down_block_types=("DownBlock2D", "AttnDownBlock2D"),
    up_block_types=("AttnUpBlock2D", "UpBlock2D"),
).cuda()
average = EMAModel(model.parameters())
average.to("cuda")
scheduler = DDPMScheduler()
optimizer = torch.optim.AdamW(model.parameters())
images = torch.randn(8, 3, 32, 32, device="cuda")
for _ in range(3):
    noise = torch.randn_like(images)
    times = torch.randint(0, 1000, (8,)).cuda()
    predicted = model(scheduler.add_noise(images, noise, times), times).sample
    loss = torch.nn.functional.mse_loss(predicted, noise)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    average.step(model.parameters())
scheduler.set_timesteps(3)
with torch.no_grad():
    for time in scheduler.timesteps:
        images = scheduler.step(model(images, time).sample, time, images).prev_sample
finish(tuple(images.shape))
