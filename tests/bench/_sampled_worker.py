"""The process of bench_samples.py: steps of a model, by turns with recording and without.

Writes one JSON object to stdout: {"events": of a step, "turns": [{"is_on", "begin", "end" (ns of
CLOCK_MONOTONIC), "steps", "processor_ns"}]}.
"""

import gc
import json
import sys
import time

from _worker import allocations, peaklines_switch, step_of

WARM_STEPS, STEPS = 10, 8


def turn(step, is_on: bool) -> dict:
    """One turn, after a step that brings back into the caches what the last turn pushed out."""
    step()
    begin, processor = time.monotonic_ns(), time.process_time_ns()
    for _ in range(STEPS):
        step()
    return {
        "is_on": is_on,
        "begin": begin,
        "end": time.monotonic_ns(),
        "steps": STEPS,
        "processor_ns": time.process_time_ns() - processor,
    }


def main() -> None:
    switch = peaklines_switch()
    step = step_of(sys.argv[1])
    switch(True)
    for _ in range(WARM_STEPS):
        step()
    before = allocations()
    step()
    events = 2 * (allocations() - before)
    gc.collect()
    gc.freeze()
    gc.disable()
    turns = []
    until = time.monotonic() + float(sys.argv[2])
    while time.monotonic() < until:
        for is_on in (False, True):
            switch(is_on)
            turns.append(turn(step, is_on))
        gc.collect()
    print(json.dumps({"events": events, "turns": turns}), flush=True)


main()
