"""What recording costs: nanoseconds added per event, next to torch's own recorder, in one run.

Every mode is a process of its own; the modes take turns for several rounds, and medians are shown.
On the simulated GPU kernels take no time, so shares of a step are larger than on a real one.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
DEPTHS = "5,20,60"
MODES = {
    "base": [],
    "peakline none": ["--stacks", "none"],
    "peakline python": ["--stacks", "python"],
    "peakline native": ["--stacks", "native"],
    "peakline all": ["--stacks", "all"],
    "torch python/alloc": "torch:python:alloc",
    "torch python/all": "torch:python:all",
    "torch all/alloc": "torch:all:alloc",
    "torch all/all": "torch:all:all",
}


def command_for(mode: str, trace: Path) -> list[str]:
    device = [] if os.environ.get("PEAKLINE_TEST_DEVICE") == "gpu" else ["--simulate", "h200"]
    run = [sys.executable, "-m", "peakline", "run", "-q", *device]
    options = MODES[mode]
    argument = "plain"
    if isinstance(options, str) or mode == "base":
        argument = options if isinstance(options, str) else "plain"
        # Without recording; on a real GPU that is the bare program.
        run = [*run, "--no-record"] if device else [sys.executable]
    else:
        run = [*run, "-o", str(trace), "--force", *options]
    return [*run, str(FOLDER / "_loop.py"), argument, DEPTHS]


def run_mode(mode: str, trace: Path) -> dict:
    # The simulated GPU's watch over values observes every operator: its cost is not recording's.
    environment = {**os.environ, "PEAKLINE_SIM_COMPANION": ""}
    result = subprocess.run(
        command_for(mode, trace), env=environment, capture_output=True, text=True, check=False
    )
    if result.returncode != 0:
        sys.exit(f"{mode} failed:\n{result.stderr[-2000:]}")
    return json.loads(result.stdout.strip().splitlines()[-1])


def median_of(results: list[dict], *keys: str) -> float:
    values = []
    for result in results:
        value = result
        for key in keys:
            value = value[key]
        values.append(value)
    return statistics.median(values)


def print_table(results: dict[str, list[dict]]) -> None:
    columns = [f"depth {depth}" for depth in DEPTHS.split(",")]
    base = {column: median_of(results["base"], column) for column in columns}
    base_step = median_of(results["base"], "gpt2", "step_ms")
    events = median_of(results["base"], "gpt2", "events")
    print(f"\nAdded nanoseconds per event (base loop: {base['depth 20']:.0f} ns per event)")
    print(f"{'mode':<20}" + "".join(f"{column:>10}" for column in columns) + f"{'GPT-2':>10}")
    added = {}
    for mode, runs in results.items():
        if mode == "base":
            continue
        row = [median_of(runs, column) - base[column] for column in columns]
        step = median_of(runs, "gpt2", "step_ms") - base_step
        row.append(step * 1e6 / events)
        added[mode] = row
        print(f"{mode:<20}" + "".join(f"{value:>10.0f}" for value in row))
    print("\nRatio to torch's own recorder (higher is better for peakline)")
    for ours, theirs in (
        ("peakline python", "torch python/all"),
        ("peakline all", "torch all/all"),
    ):
        pairs = zip(added[ours], added[theirs], strict=True)
        ratios = [their / our if our > 0 else float("inf") for our, their in pairs]
        print(f"{theirs + ' / ' + ours:<40}" + "".join(f"{ratio:>9.1f}x" for ratio in ratios))
    print(f"\nGPT-2 step: {events:.0f} events, {base_step:.1f} ms without recording")


def print_trace_size(trace: Path) -> None:
    import peakline._report as engine

    stats = json.loads(engine.Trace(str(trace)).stats_json())
    events = stats["event_count"]
    size = stats["payload_bytes"] / events
    print(f"Trace of the last recorded mode: {events} events, {size:.2f} bytes each")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, {rounds} rounds")
    results: dict[str, list[dict]] = {mode: [] for mode in MODES}
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "bench.peak"
        for _ in range(rounds):
            for mode in MODES:
                results[mode].append(run_mode(mode, trace))
        print_table(results)
        print_trace_size(trace)


if __name__ == "__main__":
    main()
