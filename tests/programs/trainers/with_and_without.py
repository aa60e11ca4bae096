"""Runs programs of docs/trainers.md without and with the callback; writes what each computed."""

import csv
import hashlib
import json
import shutil
import sys
from pathlib import Path

import torch

CALLBACKS = "callbacks=[PeaklineCallback()]"
TIMES = ("train_runtime", "train_samples_per_second", "train_steps_per_second")


def computed(source, path):
    shutil.rmtree("results", ignore_errors=True)
    torch.manual_seed(0)
    names = {"__name__": "__main__"}
    exec(compile(source, path, "exec"), names)
    if "arguments" in names:
        logs = names["trainer"].state.log_history
    else:
        [file] = Path("results").rglob("metrics.csv")
        logs = list(csv.DictReader(file.open()))
    model = names["trainer"].model.state_dict()
    weights = b"".join(one.cpu().numpy().tobytes() for one in model.values())
    return {
        "logs": [{key: one for key, one in log.items() if key not in TIMES} for log in logs],
        "weights": hashlib.sha256(weights).hexdigest(),
        "random": hashlib.sha256(torch.get_rng_state().numpy().tobytes()).hexdigest(),
    }


said = {}
for path in sys.argv[1:]:
    source = Path(path).read_text()
    assert CALLBACKS in source
    said[path] = [computed(source.replace(CALLBACKS, "callbacks=[]"), path), computed(source, path)]
Path("said.json").write_text(json.dumps(said))
