"""Runs a program of docs/trainers.md with torch's own counters beside the figures that it logs.

Arguments: the trainer, the program. Writes said.json: what was counted, and what the trainer's
logger has.
"""

import csv
import json
import sys
from pathlib import Path

import torch


class Counters:
    """The counters of torch between the logs. Some steps allocate more: peaks rise and fall."""

    def __init__(self):
        self.counted = []

    def disturb(self, step):
        torch.empty((step // 2 % 3) << 24, device="cuda")

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
    history = names["trainer"].state.log_history
    return {"history": history, "tensorboard": tensorboard_scalars("results")}


def with_lightning(before, after, path, counters):
    names = {"__name__": "__main__"}
    run(before, path, names)

    class Counting(names["pl"].Callback):
        def on_fit_start(self, trainer, module):
            counters.begin()

        def on_train_batch_start(self, trainer, module, batch, index):
            counters.disturb(trainer.global_step)

        def on_train_batch_end(self, trainer, module, outputs, batch, index):
            if trainer.global_step % trainer.log_every_n_steps == 0:
                counters.count(trainer.global_step - 1)

    names["trainer"].callbacks.append(Counting())
    run(after, path, names)
    return {"rows": csv_rows("results")}


def with_accelerate(before, after, path, counters):
    from accelerate.tracking import GeneralTracker

    class Counting(GeneralTracker):
        name, requires_logging_directory, tracker = "counting", False, None

        def log(self, values, step=None, **_):
            if "loss" in values:
                counters.count(step)
                counters.disturb((15 - step) // 2)
            else:
                logs.append(values)

    logs = []
    names = {"__name__": "__main__"}
    run(before, path, names)
    counting = Counting()
    names["accelerator"].trackers.append(counting)
    # The tracker has met the others when they were made.
    names["accelerator"].get_tracker("peakline")._others.append(counting)
    run(after, path, names)
    return {"logs": logs, "tensorboard": tensorboard_scalars("results")}


def with_ignite(before, after, path, counters):
    from ignite.engine import Events

    names = {"__name__": "__main__"}
    run(before, path, names)
    trainer = names["trainer"]
    trainer.add_event_handler(Events.STARTED, lambda _: counters.begin())
    trainer.add_event_handler(
        Events.ITERATION_STARTED, lambda engine: counters.disturb(engine.state.iteration - 1)
    )
    logs = []

    @trainer.on(names["every"])
    def count(engine):
        counters.count(engine.state.iteration)
        logs.append(dict(engine.state.metrics))

    run(after, path, names)
    return {"logs": logs, "tensorboard": tensorboard_scalars("results")}


def with_composer(before, after, path, counters):
    names = {"__name__": "__main__"}
    run(before, path, names)
    from composer.core import Callback

    class Counting(Callback):
        def fit_start(self, state, logger):
            counters.begin()

        def batch_start(self, state, logger):
            counters.disturb(state.timestamp.batch.value)

        def batch_end(self, state, logger):
            if state.timestamp.batch.value % 4 == 0:
                counters.count(state.timestamp.batch.value)

    names["trainer"].state.callbacks.append(Counting())
    run(after, path, names)
    logger = names["logger"]
    logs = {}
    for name, values in logger.data.items():
        for timestamp, value in values:
            logs.setdefault(timestamp.batch.value, {})[name] = value
    return {"logs": [logs[step] for step in sorted(logs) if "peakline/peak_bytes" in logs[step]]}


def csv_rows(folder):
    [file] = Path(folder).rglob("metrics.csv")
    with file.open() as lines:
        return [
            {key: float(one) for key, one in row.items() if one} for row in csv.DictReader(lines)
        ]


STARTS = {
    "transformers": "trainer.train()",
    "lightning": "trainer.fit(",
    "accelerate": "for step in",
    "ignite": "trainer.run(",
    "composer": "trainer.fit(",
}
RUNS = {
    "transformers": with_transformers,
    "lightning": with_lightning,
    "accelerate": with_accelerate,
    "ignite": with_ignite,
    "composer": with_composer,
}

trainer, path = sys.argv[1:]
source = Path(path).read_text()
start = source.index(STARTS[trainer])
counters = Counters()
before, after = source[:start], "\n" * source[:start].count("\n") + source[start:]
said = RUNS[trainer](before, after, path, counters)
Path("said.json").write_text(json.dumps({"counted": counters.counted, **said}))
