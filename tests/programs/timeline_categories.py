"""What torch's own memory timeline says each byte is for, at moments of training steps.

Prints {moment: {category: bytes}}; the moments are phases of the trace, too. The whole life of each
model is profiled: sizes are then those of blocks.
"""

from collections import Counter
from collections.abc import Callable, Iterator

import peakline
import torch
from counters import finish_holding
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function
from torch.utils.checkpoint import checkpoint

DEVICE = "cuda"
MARK = "moment "
said: dict[str, Counter[str]] = {}


class Perceptron(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(256, 1024)
        self.norm = nn.LayerNorm(1024)
        self.down = nn.Linear(1024, 64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(self.norm(nn.functional.gelu(self.up(x)).tanh()))


class Convolution(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 32, 3)
        self.norm = nn.BatchNorm2d(32)
        self.second = nn.Conv2d(32, 64, 3)
        self.head = nn.Linear(64, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = nn.functional.max_pool2d(self.norm(self.first(x)).relu(), 2)
        return self.head(self.second(x).mean((2, 3)))


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(700, 128)
        self.layer = nn.TransformerEncoderLayer(128, 4, 256, batch_first=True)
        self.last = nn.TransformerEncoderLayer(128, 4, 256, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.layer(self.table(x))
        hidden = checkpoint(self.last, hidden, use_reentrant=False)
        return hidden @ self.table.weight.T


def moment(name: str) -> None:
    with record_function(MARK + name), peakline.phase(name):
        pass


def train(name: str, model: nn.Module, make: Callable, batch: Callable[[], torch.Tensor]) -> None:
    model.to(DEVICE)
    optimizer = make(model.parameters())
    for step in range(2):
        x = batch()
        loss = model(x).square().mean()
        moment(f"{name}.{step}.forward")
        loss.backward()
        moment(f"{name}.{step}.backward")
        optimizer.step()
        moment(f"{name}.{step}.optimizer")
        optimizer.zero_grad()
        del loss


def all_events(run: profile) -> Iterator:
    pending = list(run.profiler.kineto_results.experimental_event_tree())
    while pending:
        event = pending.pop()
        pending += event.children
        yield event


def live_sets(memory) -> Iterator[tuple[int, dict[object, tuple[int, int]]]]:
    """The version and size of every storage on the device, after each event of the timeline."""
    live: dict[object, tuple[int, int]] = {}
    for time, action, (key, version), size in memory.timeline:
        if key.device.type != DEVICE:
            continue
        if action.name == "DESTROY":
            live.pop(key, None)
        else:
            live[key] = (version + (action.name == "INCREMENT_VERSION"), size)
        yield time, live


def read(name: str, run: profile) -> None:
    """Sum up the categories of what was live at each moment, and at the peak."""
    memory = run._memory_profile()
    found: dict[str, dict[object, tuple[int, int]]] = {}
    moments = [(e.start_time_ns, e.name) for e in all_events(run) if e.name.startswith(MARK)]
    peak = 0
    for time, live in live_sets(memory):
        for at, moment_name in moments:
            if time <= at:
                found[moment_name.removeprefix(MARK)] = dict(live)
        level = sum(size for _, size in live.values())
        if level > peak:
            peak = level
            found[name] = dict(live)
    for place, live in found.items():
        sums = said[place] = Counter()
        for key, (version, size) in live.items():
            category = memory._categories.get(key, version)
            sums[category.name if category else "NONE"] += size


def main() -> None:
    torch.cuda.init()  # phases are recorded from here on
    optim = torch.optim
    for arguments in (
        ("perceptron", Perceptron(), optim.AdamW, lambda: torch.randn(96, 256, device=DEVICE)),
        (
            "convolution",
            Convolution(),
            lambda p: optim.SGD(p, lr=0.1, momentum=0.9),
            lambda: torch.randn(4, 3, 32, 32, device=DEVICE),
        ),
        (
            "attention",
            Attention(),
            lambda p: optim.Adam(p, fused=True),
            lambda: torch.randint(700, (4, 32), device=DEVICE),
        ),
    ):
        with (
            profile(
                activities=[ProfilerActivity.CPU],
                profile_memory=True,
                record_shapes=True,
                with_stack=True,
            ) as run,
            peakline.phase(arguments[0]),
        ):
            train(*arguments)
        read(arguments[0], run)
        arguments[1].to("cpu").zero_grad()
    finish_holding(**said)


if __name__ == "__main__":
    main()
