"""Runs a program of docs/trainers.md with torch's own counters beside the figures that it logs.

Arguments: the trainer, the program. Writes said.json: what was counted, and what the trainer's
logger has.
"""

import json
import sys
from pathlib import Path

import torch


class Counters:
    """What torch counted between the logs. Some steps allocate more, so that peaks differ."""

    def __init__(self):
        self.counted = []

    def disturb(self, step):
        torch.empty((step % 3) << 24, device="cuda")

    def begin(self):
        torch.cuda.reset_peak_memory_stats()

    def count(self, step):
        self.counted.append(
            {
                "step": step,
                "peak_bytes": torch.cuda.max_memory_allocated(),
                "held_bytes": torch.cuda.memory_allocated(),
                "reserved_bytes": torch.cuda.memory_reserved(),
            }
        )
        self.begin()


def run(text, path, namespace):
    exec(compile(text, path, "exec"), namespace)


def tensorboard_scalars(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    [file] = Path(folder).rglob("events.out.tfevents.*")
    events = EventAccumulator(str(file)).Reload()
    return {
        tag: [[one.step, one.value] for one in events.Scalars(tag)]
        for tag in events.Tags()["scalars"]
    }


def with_transformers(before, after, path, counters):
    from transformers import TrainerCallback

    class Counting(TrainerCallback):
        def on_train_begin(self, args, state, control, **_):
            counters.begin()

        def on_step_begin(self, args, state, control, **_):
            counters.disturb(state.global_step)

        def on_log(self, args, state, control, logs, **_):
            if "loss" in logs:
                counters.count(state.global_step)

    names = {"__name__": "__main__"}
    run(before, path, names)
    names["trainer"].add_callback(Counting())
    run(after, path, names)
    logged = names["arguments"].report_to == ["tensorboard"]
    return {
        "history": names["trainer"].state.log_history,
        "logged": tensorboard_scalars("results") if logged else None,
    }


STARTS = {"transformers": "trainer.train()"}
RUNS = {"transformers": with_transformers}

trainer, path = sys.argv[1:]
source = Path(path).read_text()
start = source.index(STARTS[trainer])
counters = Counters()
before, after = source[:start], "\n" * source[:start].count("\n") + source[start:]
said = RUNS[trainer](before, after, path, counters)
Path("said.json").write_text(json.dumps({"counted": counters.counted, **said}))
