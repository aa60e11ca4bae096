"""One training script for each kind of model: three steps; prints what torch and the device held.

    python models.py gpt2

Plain torch and transformers, nothing of peakline: the same file runs on a real device and on a
simulated one.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

STEPS = 3


def causal_lm(config: object, batch: int, length: int) -> Callable[[], torch.Tensor]:
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_config(config).cuda()
    ids = torch.zeros(batch, length, dtype=torch.long, device="cuda")
    return with_optimizer(model, lambda: model(ids, labels=ids).loss)


def with_optimizer(
    model: nn.Module, loss_of: Callable[[], torch.Tensor]
) -> Callable[[], torch.Tensor]:
    optimizer = torch.optim.AdamW(model.parameters())

    def step() -> torch.Tensor:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = loss_of()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    return step


def gpt2() -> Callable[[], torch.Tensor]:
    from transformers import GPT2Config

    return causal_lm(GPT2Config(), batch=8, length=1024)


def llama() -> Callable[[], torch.Tensor]:
    from transformers import LlamaConfig

    config = LlamaConfig(
        hidden_size=1024,
        intermediate_size=2816,
        num_hidden_layers=12,
        num_attention_heads=16,
        num_key_value_heads=8,
        vocab_size=32000,
    )
    return causal_lm(config, batch=4, length=2048)


def bert() -> Callable[[], torch.Tensor]:
    from transformers import BertConfig, BertForMaskedLM

    model = BertForMaskedLM(BertConfig()).cuda()
    ids = torch.zeros(32, 512, dtype=torch.long, device="cuda")
    return with_optimizer(model, lambda: model(ids, labels=ids).loss)


def images(model: nn.Module, batch: int) -> Callable[[], torch.Tensor]:
    data = torch.randn(batch, 3, 224, 224, device="cuda")
    labels = torch.zeros(batch, dtype=torch.long, device="cuda")
    return with_optimizer(model, lambda: F.cross_entropy(model(data), labels))


def resnet50() -> Callable[[], torch.Tensor]:
    import torchvision

    return images(torchvision.models.resnet50().cuda(), batch=64)


def vit() -> Callable[[], torch.Tensor]:
    import torchvision

    return images(torchvision.models.vit_b_16().cuda(), batch=64)


class UNet(nn.Module):
    """Halves and doubles the image, with a shortcut at every size."""

    def __init__(self, widths: tuple[int, ...] = (64, 128, 256, 512)) -> None:
        super().__init__()
        self.down = nn.ModuleList(
            self.block(first, second)
            for first, second in zip((3, *widths[:-1]), widths, strict=True)
        )
        pairs = list(zip(widths[:0:-1], widths[-2::-1], strict=True))
        self.grow = nn.ModuleList(nn.ConvTranspose2d(a, b, 2, stride=2) for a, b in pairs)
        self.up = nn.ModuleList(self.block(2 * b, b) for _, b in pairs)
        self.last = nn.Conv2d(widths[0], 3, 1)

    @staticmethod
    def block(inputs: int, outputs: int) -> nn.Sequential:
        return nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, padding=1),
            nn.BatchNorm2d(outputs),
            nn.ReLU(inplace=True),
            nn.Conv2d(outputs, outputs, 3, padding=1),
            nn.BatchNorm2d(outputs),
            nn.ReLU(inplace=True),
        )

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        kept = []
        for index, block in enumerate(self.down):
            image = block(F.max_pool2d(image, 2) if index else image)
            kept.append(image)
        for grow, block, skip in zip(self.grow, self.up, kept[-2::-1], strict=True):
            image = block(torch.cat((grow(image), skip), 1))
        return self.last(image)


def unet() -> Callable[[], torch.Tensor]:
    model = UNet().cuda()
    data = torch.randn(16, 3, 256, 256, device="cuda")
    return with_optimizer(model, lambda: F.mse_loss(model(data).float(), data))


class Tagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(30000, 512)
        self.lstm = nn.LSTM(512, 512, num_layers=2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(1024, 30000)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(self.lstm(self.embed(ids))[0])


def lstm() -> Callable[[], torch.Tensor]:
    model = Tagger().cuda()
    ids = torch.zeros(32, 256, dtype=torch.long, device="cuda")
    return with_optimizer(model, lambda: F.cross_entropy(model(ids).flatten(0, 1), ids.flatten()))


MODELS = {f.__name__: f for f in (gpt2, llama, bert, resnet50, vit, unet, lstm)}


def main() -> None:
    torch.manual_seed(0)
    step = MODELS[sys.argv[1]]()
    for _ in range(STEPS):
        step()
    torch.cuda.synchronize()
    free, total = torch.cuda.mem_get_info()
    said = {
        "allocated": torch.cuda.max_memory_allocated(),
        "reserved": torch.cuda.max_memory_reserved(),
        "outside torch": total - free - torch.cuda.memory_reserved(),
        "capacity": total,
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
    }
    print(json.dumps(said), flush=True)
    # torch's autograd thread may abort a program that ends at once.
    os._exit(0)


if __name__ == "__main__":
    main()
