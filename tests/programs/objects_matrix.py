"""Four kinds of models with ten optimizers, three ways to train; what their objects hold then.

Prints {"model.optimizer.way": {kind: bytes of blocks}}; each is a phase of the trace.
"""

import gc
from collections.abc import Callable

import peakline
import torch
from counters import finish_holding
from told_objects import gpt2, held, kept, llama, mixture, resnet50, train

optim = torch.optim
OPTIMIZERS: dict[str, Callable] = {
    "sgd": lambda p: optim.SGD(p, lr=0.1, foreach=False),
    "sgd_foreach": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, foreach=True),
    "sgd_fused": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, fused=True),
    "adamw": lambda p: optim.AdamW(p, foreach=False, amsgrad=True),
    "adamw_foreach": lambda p: optim.AdamW(p, foreach=True),
    "adamw_fused": lambda p: optim.AdamW(p, fused=True),
    "adamw_tensors": lambda p: optim.AdamW(p, lr=torch.tensor(0.1).cuda(), capturable=True),
    "adafactor": optim.Adafactor,
    "adagrad": optim.Adagrad,
    "rmsprop": lambda p: optim.RMSprop(p, momentum=0.9, centered=True),
}
WAYS: dict[str, dict[str, object]] = {
    "plain": {},
    "accumulated": {"micro_batches": 2},
    "scaled": {"scaled": True},
}


def main() -> None:
    torch.cuda.init()
    said = {}
    ways = list(WAYS)
    for first, model in enumerate((gpt2, llama, resnet50, mixture)):
        for second, (name, make) in enumerate(OPTIMIZERS.items()):
            way = ways[(first + second) % len(ways)]
            train(model(), make, **WAYS[way])
            place = f"{model.__name__}.{name}.{way}"
            with peakline.phase(place):
                said[place] = held()
            kept.clear()
            gc.collect()
    finish_holding(**said)


if __name__ == "__main__":
    main()
