"""What recording costs: nanoseconds added per event, next to torch's own recorder, in one run.

Every mode is a process of its own. All of them live side by side and take turns, one loop or a few
steps at a time. A virtual machine changes its speed by a third from one second to the next, but
little within a tenth of one: so the base runs just before and just after each turn of a mode, and
its mean is taken off. Shown is the median of these differences, over several sets of processes:
where a process happens to lie in memory makes it a few per cent faster or slower for all its life.
Ratios have a 95 % interval of bootstrap samples.
On the simulated GPU kernels take no time, so shares of a step are larger than on a real one, and
what is counted is processor time of the whole process; on a real GPU it is elapsed time.
"""

import argparse
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ON_GPU = os.environ.get("PEAKLINE_TEST_DEVICE") == "gpu"
MODES = {
    "base": "plain",
    "peakline none": ["--stacks", "none"],
    "peakline python": ["--stacks", "python"],
    "peakline native": ["--stacks", "native"],
    "peakline all": ["--stacks", "all"],
    "peakline all, frees": ["--stacks", "all", "--frees"],
    "torch python/alloc": "torch:python:alloc",
    "torch python/all": "torch:python:all",
    "torch all/alloc": "torch:all:alloc",
    "torch all/all": "torch:all:all",
}
LOOPS = ("depth 5", "depth 20", "depth 60", "threads", "devices")
STEPS = {"gpt2": "GPT-2", "resnet50": "ResNet-50", "llama": "Llama"}
BOOTSTRAP_SAMPLES = 1000
PAIRS_TO_COMPARE = (
    ("peakline python", "torch python/all", 6),
    ("peakline all", "torch all/all", 8),
)


class Worker:
    """The process of one mode."""

    def __init__(self, mode: str, trace: Path):
        self.mode = mode
        # The simulated GPU's watch over values observes every operator: its cost is not ours here.
        environment = {**os.environ, "PEAKLINE_SIM_COMPANION": "", "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            command_for(mode, trace),
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def do(self, work: str) -> dict:
        self.process.stdin.write(json.dumps({"work": work}) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"{self.mode}: the process ended in {work!r}; run it alone to see why")
        return json.loads(answer)

    def end(self) -> None:
        self.process.stdin.close()
        self.process.wait(timeout=60)


def command_for(mode: str, trace: Path) -> list[str]:
    device = [] if ON_GPU else ["--simulate", "h200x2"]
    run = [sys.executable, "-m", "peakline", "run", "-q", *device]
    options = MODES[mode]
    argument = "plain"
    if isinstance(options, str):
        argument = options
        # Without recording; on a real GPU that is the bare program.
        run = [*run, "--no-record"] if device else [sys.executable]
    else:
        run = [*run, "-o", str(trace), "--force", *options]
    return [*run, str(FOLDER / "_worker.py"), argument]


def take_turns(workers: list[Worker], work: str, turns: int) -> dict[str, list[dict]]:
    """``turns`` measurements of each worker, the first of them left out.

    Each is {"seconds", "events"} and, but for the base, "base_seconds": of the base around it.
    """
    results: dict[str, list[dict]] = {worker.mode: [] for worker in workers}
    base, *others = workers
    for turn in range(turns + 1):
        before = base.do(work)
        # Another one begins each time: nobody always runs after the most expensive.
        shift = turn % len(others)
        for worker in others[shift:] + others[:shift]:
            answer = worker.do(work)
            after = base.do(work)
            if turn > 0:
                around = (before["seconds"] + after["seconds"]) / 2
                results[worker.mode].append({**answer, "base_seconds": around})
                results[base.mode].append(after)
            before = after
    return results


def added(results: dict[str, list[dict]], mode: str) -> list[float]:
    """Seconds that each turn of ``mode`` took longer than the base around it."""
    return [one["seconds"] - one["base_seconds"] for one in results[mode]]


def interval(values: list[float]) -> tuple[float, float]:
    """95 % confidence interval of the median, from order statistics (any distribution)."""
    ordered = sorted(values)
    half_width = 0.98 * len(ordered) ** 0.5
    low = max(0, round(len(ordered) / 2 - half_width))
    high = min(len(ordered) - 1, round(len(ordered) / 2 + half_width))
    return ordered[low], ordered[high]


def per_event(results: dict[str, list[dict]], mode: str) -> float:
    events = statistics.median(answer["events"] for answer in results["base"])
    return statistics.median(added(results, mode)) / events * 1e9


def print_added(all_results: dict[str, dict[str, list[dict]]], titles: dict[str, str]) -> None:
    clock = "elapsed" if ON_GPU else "processor"
    print(f"\nAdded nanoseconds of {clock} time per event (medians)")
    print(f"{'mode':<20}" + "".join(f"{titles[work]:>10}" for work in all_results))
    row = []
    for results in all_results.values():
        base = statistics.median(answer["seconds"] for answer in results["base"])
        row.append(base / statistics.median(answer["events"] for answer in results["base"]) * 1e9)
    print(f"{'base takes':<20}" + "".join(f"{value:>10.0f}" for value in row))
    for mode in MODES:
        if mode != "base":
            values = [per_event(results, mode) for results in all_results.values()]
            print(f"{mode:<20}" + "".join(f"{value:>10.0f}" for value in values))
    print("\nRatio to torch's own recorder (higher is better for peakline), and its 95 % interval")
    for ours, theirs, target in PAIRS_TO_COMPARE:
        ratios = [ratio(results, ours, theirs) for results in all_results.values()]
        print(f"{theirs} / {ours}, aim {target}")
        print(f"{'':<20}" + "".join(f"{middle:>10}" for middle, _ in ratios))
        print(f"{'':<20}" + "".join(f"{around:>10}" for _, around in ratios))
        if any(middle == "-" for middle, _ in ratios):
            print("  -: our cost was lost in the noise of this machine; more --sets show it")


def ratio(results: dict[str, list[dict]], ours: str, theirs: str) -> tuple[str, str]:
    """How many times as much theirs costs, with its interval; "-" where ours may be nothing."""
    ours_added, theirs_added = added(results, ours), added(results, theirs)
    low, _ = interval(ours_added)
    if low <= 0:
        return "-", ""
    middle = statistics.median(theirs_added) / statistics.median(ours_added)
    low, high = ratio_interval(theirs_added, ours_added)
    return f"{middle:.1f}x", f"{low:.1f}-{high:.1f}"


def ratio_interval(above: list[float], below: list[float]) -> tuple[float, float]:
    """95 % interval of the ratio of two medians, from bootstrap samples."""
    draw = random.Random(1).choices
    ratios = sorted(
        statistics.median(draw(above, k=len(above))) / statistics.median(draw(below, k=len(below)))
        for _ in range(BOOTSTRAP_SAMPLES)
    )
    return ratios[BOOTSTRAP_SAMPLES // 40], ratios[-BOOTSTRAP_SAMPLES // 40]


def print_steps(all_results: dict[str, dict[str, list[dict]]]) -> None:
    print("\nWhole steps: share of the step that recording adds, with its 95 % interval")
    for work, title in STEPS.items():
        if work not in all_results:
            continue
        results = all_results[work]
        base = statistics.median(answer["seconds"] for answer in results["base"])
        events = statistics.median(answer["events"] for answer in results["base"])
        print(f"{title}: {events:.0f} events, {base * 1e3:.2f} ms without recording")
        for mode in MODES:
            if mode != "base":
                differences = added(results, mode)
                low, high = interval(differences)
                share = statistics.median(differences) / base
                print(f"  {mode:<20}{share:>8.2%}   [{low / base:.2%}, {high / base:.2%}]")


def print_trace_size(trace: Path) -> None:
    import peakline._report as engine

    stats = json.loads(engine.Trace(str(trace)).stats_json())
    events = stats["event_count"]
    size = stats["payload_bytes"] / events
    print(f"\nTrace with both stacks: {events} events, {size:.2f} bytes each")


def measure_set(works: list[str], turns: int, folder: Path) -> dict[str, dict[str, list[dict]]]:
    """Results by work and mode, of one process for every mode."""
    workers = [Worker(mode, folder / f"{mode.replace(' ', '-')}.peak") for mode in MODES]
    try:
        return {work: take_turns(workers, work, turns) for work in works}
    finally:
        for worker in workers:
            worker.end()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=4, help="sets of processes")
    parser.add_argument("--works", nargs="+", help="only these: loops as titled, gpt2, ...")
    parser.add_argument("--turns", type=int, default=24, help="measurements of each, in each set")
    arguments = parser.parse_args()
    name = platform.processor() or platform.machine()
    print(f"{name}, {os.cpu_count()} cores, {arguments.sets} sets of {arguments.turns} turns")
    titles = {**{loop: loop for loop in LOOPS}, **STEPS}
    # Two devices are simulated; a real machine may have one.
    works = [work for work in titles if not (ON_GPU and work == "devices")]
    works = [work for work in works if work in (arguments.works or works)]
    results: dict[str, dict[str, list[dict]]] = {w: {mode: [] for mode in MODES} for w in works}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(arguments.sets):
            measured = measure_set(works, arguments.turns, Path(folder))
            for work in works:
                for mode in MODES:
                    results[work][mode] += measured[work][mode]
        print_added(results, titles)
        print_steps(results)
        print_trace_size(Path(folder) / "peakline-all.peak")


if __name__ == "__main__":
    main()
