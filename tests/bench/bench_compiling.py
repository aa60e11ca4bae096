"""CPU time that recording adds to torch.compile: `bench_compiling.py [--models lm] [--runs N]`.

Each run is a process with an empty cache. It compiles a model of tests/fidelity in its own threads
and sums the time within the recorder's hooks. Compile time is what the first step takes beyond the
second one. Prints the median of the runs.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def summed(method: Callable[..., Any], spent: list[float]) -> Callable[..., Any]:
    def timed(*arguments: Any) -> Any:
        begin = time.thread_time()
        try:
            return method(*arguments)
        finally:
            spent.append(time.thread_time() - begin)

    return timed


def sum_hooks(spent: list[float]) -> None:
    """Measure the recorder's functions from now on."""
    from torch._dynamo import convert_frame
    from torch._dynamo.callback import callback_handler

    hooks = convert_frame._bytecode_hooks
    [(number, hook)] = [(n, one) for n, one in hooks.items() if is_ours(one)]
    hooks[number] = summed(hook, spent)
    for callbacks in (callback_handler.start_callbacks, callback_handler.end_callbacks):
        callbacks[:] = [summed(one, spent) if is_ours(one) else one for one in callbacks]
    recorder = type(hook.__self__)
    recorder._register_callbacks = lambda _: None  # they are there
    for name in ("report", "look"):
        setattr(recorder, name, summed(getattr(recorder, name), spent))


def is_ours(function: Any) -> bool:
    return type(getattr(function, "__self__", None)).__name__ == "Compiler"


def work(model: str) -> None:
    """Run in a recorded process."""
    sys.path.insert(0, str(ROOT / "tests" / "fidelity"))
    import torch
    from compiled_models import MODELS

    made, loss_of = MODELS[model]()
    # The recorder connects to the compiler when an optimizer steps.
    torch.optim.SGD(made.parameters()).step()
    spent: list[float] = []
    sum_hooks(spent)
    steps = []
    for _ in range(2):
        begin = time.process_time()
        loss_of().backward()
        torch.cuda.synchronize()
        steps.append(time.process_time() - begin)
    print(json.dumps({"compile": steps[0] - steps[1], "hooks": sum(spent)}), flush=True)
    # torch's autograd thread may abort a program that ends at once.
    os._exit(0)


def measured(model: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT / "pyhook"),
            "TORCHINDUCTOR_CACHE_DIR": f"{folder}/cache",
            "TORCHINDUCTOR_COMPILE_THREADS": "1",
        }
        run = ["run", "-q", "--simulate", "h200", "-o", f"{folder}/run.peak", __file__]
        result = subprocess.run(
            [sys.executable, "-m", "peakline", *run, "--work", model],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    if result.returncode != 0:
        raise SystemExit(result.stderr)
    found: dict[str, float] = json.loads(result.stdout.strip().splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default="images,branches,lm")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--work", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.work:
        work(asked.work)
    for model in asked.models.split(","):
        runs = [measured(model) for _ in range(asked.runs)]
        compile_s = statistics.median(run["compile"] for run in runs)
        hooks_s = statistics.median(run["hooks"] for run in runs)
        share = statistics.median(100 * run["hooks"] / run["compile"] for run in runs)
        print(f"{model}: compiles {compile_s:.1f} s, hooks {hooks_s * 1e3:.1f} ms, {share:.2f} %")


if __name__ == "__main__":
    main()
