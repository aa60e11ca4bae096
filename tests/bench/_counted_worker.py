"""The process of bench_instructions.py: steps of a model under callgrind, recorder by recorder.

Writes one JSON object to stdout for every count that callgrind dumps: {"recorder", "events"}.
"""

import gc
import json
import os
import subprocess
import sys

import torch
from _worker import allocations, peaklines_switch, step_of

WARM_STEPS, COUNTED_STEPS = 8, 2
HISTORY_ENTRIES = 8000  # two steps: before it is full, torch's recorder frees nothing


def control_callgrind(*arguments: str) -> None:
    subprocess.run(["callgrind_control", *arguments, str(os.getpid())], stdout=2, check=True)


def switch_torchs(stacks: str | None) -> None:
    torch.cuda.memory._record_memory_history(
        "all" if stacks else None, stacks=stacks or "all", max_entries=HISTORY_ENTRIES
    )


def main() -> None:
    switch_peaklines = peaklines_switch()
    step = step_of(sys.argv[1], is_narrow=True)
    gc.collect()
    gc.disable()  # it would come in one count and not in another
    for recorder in ("peakline", "nothing", "torch python/all", "torch all/all"):
        switch_peaklines(recorder == "peakline")
        torchs = recorder.startswith("torch")
        switch_torchs(recorder.split()[1].split("/")[0] if torchs else None)
        # One loop, so that the counted steps come from the same line as those before.
        for number in range(WARM_STEPS + COUNTED_STEPS):
            if number == WARM_STEPS - 1:
                control_callgrind("-i", "on")  # a step for the simulated caches
            if number == WARM_STEPS:
                before = allocations()
                control_callgrind("-z")
            step()
        control_callgrind("-d")
        control_callgrind("-i", "off")
        events = 2 * (allocations() - before)
        print(json.dumps({"recorder": recorder, "events": events}), flush=True)
    os._exit(0)


main()
