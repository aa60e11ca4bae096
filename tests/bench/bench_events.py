"""What recording costs: nanoseconds added per event, next to torch's own recorder, in one run.

Every mode is a process of its own. They live side by side and take turns, a few loops or steps at
a time. A virtual machine changes its speed by a third from one second to the next: so what a mode
takes is measured between two measurements of the same without it, for peakline three times in every
turn; their difference is one turn's answer, and of these the middle half is averaged. (Lower
quartiles of each, compared, vary twice as much where the machine changes its speed. To choose quiet
turns by what the work took without recording is biased: of two alike the one that was quick by
chance would be the base.)
Without it is, for peakline, the same process, led past the recorder (recording_switch.cpp): another
process is a few per cent faster or slower for all its life, by where it happens to lie in memory,
and that is as much as recording costs. For torch's recorder, which forgets its history when it is
switched off and is cheap with a short one, it is another process, which records nothing; its
history is full when a measurement begins, as in any training run. "base" is
compared with itself: what it adds is noise. Intervals are 95 % of bootstrap samples, of sets of
processes and of turns within them.
On the simulated GPU kernels take no time, so shares of a step are larger than on a real one, and
what is counted is processor time of the whole process; on a real GPU it is elapsed time.
"""

import argparse
import itertools
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypedDict

FOLDER = Path(__file__).resolve().parent
WORKER_ENVIRONMENT = {
    "PEAKLINE_BENCH_SWITCH": str(FOLDER.parents[1] / "build/librecording_switch.so"),
    # The simulated GPU's watch over values observes every operator: its cost is not ours here.
    "PEAKLINE_SIM_COMPANION": "",
    "OMP_NUM_THREADS": "1",
}
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
COMPARISONS = 3  # of peakline with itself, in every turn: its cost is as small as the noise
BOOTSTRAP_SAMPLES = 1000
PAIRS_TO_COMPARE = (
    ("peakline python", "torch python/all", 6),
    ("peakline all", "torch all/all", 8),
)


class Turn(TypedDict):
    """What a worker answered; see _worker.py."""

    seconds: list[float]
    base_seconds: list[float]
    events: float


class Worker:
    """The process of one mode."""

    def __init__(self, mode: str, trace: Path):
        self.mode = mode
        # Torch's recorder is compared with another process.
        self.tells_base = not mode.startswith("torch")
        self.process = subprocess.Popen(
            command_for(mode, trace),
            env={**os.environ, **WORKER_ENVIRONMENT},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def ask(self, work: str, comparisons: int) -> None:
        request = {"work": work, "comparisons": comparisons}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()

    def answer(self, work: str) -> Turn:
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"{self.mode}: the process ended in {work!r}; run it alone to see why")
        return json.loads(answer)

    def do(self, work: str, comparisons: int) -> Turn:
        """The work done; with comparisons, where it can compare, base_seconds, too."""
        self.ask(work, comparisons)
        return self.answer(work)

    def end(self) -> None:
        self.process.stdin.close()
        self.process.wait(timeout=60)


def command_for(mode: str, trace: Path) -> list[str]:
    device = [] if ON_GPU else ["--simulate", "h200x2"]
    run = [sys.executable, "-m", "peakline", "run", "-q", *device]
    options = MODES[mode]
    if isinstance(options, str):
        argument = options
        # Without recording; on a real GPU that is the bare program.
        run = [*run, "--no-record"] if device else [sys.executable]
    else:
        argument = "peakline"
        run = [*run, "-o", str(trace), "--force", *options]
    return [*run, str(FOLDER / "_worker.py"), argument]


# Of one work: by mode, for each set of processes its turns.
Results = dict[str, list[list[Turn]]]


def take_turns(workers: list[Worker], work: str, turns: int) -> dict[str, list[Turn]]:
    """``turns`` measurements of each worker, by mode."""
    results: dict[str, list[Turn]] = {worker.mode: [] for worker in workers}
    # They make their models at the same time, which takes longer than to measure.
    for worker in workers:
        worker.ask(work, comparisons=0)
    for worker in workers:
        worker.answer(work)
    base, *others = workers
    for turn in range(turns):
        results[base.mode].append(base.do(work, comparisons=1))
        # Another one begins each time: nobody always runs after the most expensive.
        shift = turn % len(others)
        for worker in others[shift:] + others[:shift]:
            if worker.tells_base:
                results[worker.mode].append(worker.do(work, COMPARISONS))
                continue
            before = base.do(work, comparisons=0)["seconds"]
            answer = worker.do(work, comparisons=0)
            answer["base_seconds"] = before + base.do(work, comparisons=0)["seconds"]
            results[worker.mode].append(answer)
    return results


def midmean(values: list[float]) -> float:
    """The mean of what lies between the quartiles (interquartile mean)."""
    values = sorted(values)
    quarter = len(values) // 4
    return statistics.fmean(values[quarter : len(values) - quarter])


def added(sets: list[list[Turn]]) -> float:
    """Seconds that the work took longer with recording than just before and after without it."""
    return statistics.fmean(
        midmean(
            [
                statistics.fmean(turn["seconds"]) - statistics.fmean(turn["base_seconds"])
                for turn in turns
            ]
        )
        for turns in sets
    )


def base_seconds(results: Results) -> float:
    return statistics.fmean(
        midmean([statistics.fmean(turn["base_seconds"]) for turn in turns])
        for turns in results["base"]
    )


def event_count(results: Results) -> float:
    return statistics.median(turn["events"] for turns in results["base"] for turn in turns)


def interval(statistic: Callable[..., float], *modes: list[list[Turn]]) -> tuple[float, float]:
    """95 % interval of ``statistic(*modes)`` by bootstrap: sets are drawn, then turns in them.

    Turns of one set are no independent measurements of a mode: their process is slower or faster
    than another one would be.
    """
    draw = random.Random(1).choices
    samples = []
    for _ in range(BOOTSTRAP_SAMPLES):
        drawn = [[draw(turns, k=len(turns)) for turns in draw(mode, k=len(mode))] for mode in modes]
        samples.append(statistic(*drawn))
    samples.sort()
    return samples[BOOTSTRAP_SAMPLES // 40], samples[-BOOTSTRAP_SAMPLES // 40]


def per_event(results: Results, seconds: float) -> float:
    """In nanoseconds."""
    return seconds / event_count(results) * 1e9


def print_added(all_results: dict[str, Results], titles: dict[str, str]) -> None:
    clock = "elapsed" if ON_GPU else "processor"
    print(f"\nAdded nanoseconds of {clock} time per event")
    print(f"{'mode':<20}" + "".join(f"{titles[work]:>10}" for work in all_results))
    row = [per_event(results, base_seconds(results)) for results in all_results.values()]
    print(f"{'base takes':<20}" + "".join(f"{value:>10.0f}" for value in row))
    modes = list(next(iter(all_results.values())))
    for mode in modes:
        values = [per_event(results, added(results[mode])) for results in all_results.values()]
        print(f"{mode:<20}" + "".join(f"{value:>10.0f}" for value in values))
    print("\nRatio to torch's own recorder (higher is better for peakline), and its 95 % interval")
    for ours, theirs, target in PAIRS_TO_COMPARE:
        if ours not in modes or theirs not in modes:
            continue
        ratios = [ratio(results, ours, theirs) for results in all_results.values()]
        print(f"{theirs} / {ours}, aim {target}")
        print(f"{'':<20}" + "".join(f"{value:>10}" for value, _ in ratios))
        print(f"{'':<20}" + "".join(f"{around:>10}" for _, around in ratios))
        if any(value == "-" for value, _ in ratios):
            print("  -: our cost was lost in the noise of this machine; more --sets show it")


def ratio(results: Results, ours: str, theirs: str) -> tuple[str, str]:
    """How many times as much theirs costs, with its interval; "-" where ours may be nothing."""
    low, _ = interval(added, results[ours])
    if low <= 0:
        return "-", ""
    low, high = interval(quotient, results[theirs], results[ours])
    return f"{quotient(results[theirs], results[ours]):.1f}x", f"{low:.1f}-{high:.1f}"


def quotient(above: list[list[Turn]], below: list[list[Turn]]) -> float:
    """How many times as much one mode adds as the other."""
    return added(above) / added(below)


def print_steps(all_results: dict[str, Results]) -> None:
    steps = {title: all_results[work] for work, title in STEPS.items() if work in all_results}
    if steps:
        print("\nWhole steps: share of the step that recording adds, with its 95 % interval")
    for title, results in steps.items():
        base = base_seconds(results)
        print(f"{title}: {event_count(results):.0f} events, {base * 1e3:.2f} ms without recording")
        for mode in results:
            if mode != "base":
                low, high = interval(added, results[mode])
                share = added(results[mode]) / base
                print(f"  {mode:<20}{share:>8.2%}   [{low / base:.2%}, {high / base:.2%}]")


def figures(all_results: dict[str, Results]) -> dict[str, object]:
    """What the tables show, for other programs: times in nanoseconds, shares of the base."""
    document = {}
    for work, results in all_results.items():
        base = base_seconds(results)
        modes = {}
        for mode in results:
            low, high = interval(added, results[mode])
            mean = added(results[mode])
            modes[mode] = {
                "added_ns_per_event": [per_event(results, value) for value in (low, mean, high)],
                "added_share": [value / base for value in (low, mean, high)],
            }
        pairs = [(a, b) for a, b, _ in PAIRS_TO_COMPARE if a in results and b in results]
        document[work] = {
            "events": event_count(results),
            "base_seconds": base,
            "modes": modes,
            "ratios": {f"{b} / {a}": quotient(results[b], results[a]) for a, b in pairs},
        }
    return document


def print_trace_size(trace: Path) -> None:
    import peakline._report as engine

    stats = json.loads(engine.Trace(str(trace)).report("stats", json=True))
    events = stats["event_count"]
    size = stats["payload_bytes"] / events
    print(f"\nTrace with both stacks: {events} events, {size:.2f} bytes each")


def measure_set(
    works: list[str], modes: list[str], turns: int, folder: Path
) -> dict[str, dict[str, list[Turn]]]:
    """Results by work and mode, of one process for every mode."""
    results = {}
    workers = [Worker(mode, folder / f"{mode.replace(' ', '-')}.peak") for mode in modes]
    try:
        for work in works:
            say(f", {work}", begins=False)
            results[work] = take_turns(workers, work, turns)
    finally:
        for worker in workers:
            worker.end()
    return results


def say(what: str, begins: bool = True) -> None:
    """Progress, for somebody who looks on; ``begins``: in place of what was said."""
    if sys.stderr.isatty():
        print("\r\033[K" * begins + what, end="", file=sys.stderr, flush=True)


def wanted_sets(sets: int | None, minutes: float) -> Iterator[int]:
    """Counts from 1 to ``sets``, or as long as ``minutes`` allow another one, at least to 2."""
    begin = time.monotonic()
    for number in itertools.count(1):
        yield number
        taken = time.monotonic() - begin
        is_over = number >= 2 and taken * (number + 1) / number > 60 * minutes
        if number == sets or (sets is None and is_over):
            return


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30, help="how long, about")
    parser.add_argument("--sets", type=int, help="sets of processes, however long they take")
    parser.add_argument("--works", nargs="+", choices=[*LOOPS, *STEPS], help="only these")
    parser.add_argument("--modes", nargs="+", choices=MODES, help="only these, and the base")
    parser.add_argument("--turns", type=int, default=10, help="measurements of each, in each set")
    parser.add_argument("--json", type=Path, help="write the figures into this file, too")
    arguments = parser.parse_args()
    titles = {**{loop: loop for loop in LOOPS}, **STEPS}
    # Two devices are simulated; a real machine may have one.
    works = [work for work in titles if not (ON_GPU and work == "devices")]
    works = [work for work in works if work in (arguments.works or works)]
    modes = [m for m in MODES if m == "base" or m in (arguments.modes or MODES)]
    results: dict[str, Results] = {w: {mode: [] for mode in modes} for w in works}
    with tempfile.TemporaryDirectory() as folder:
        for number in wanted_sets(arguments.sets, arguments.minutes):
            say(f"set {number}")
            measured = measure_set(works, modes, arguments.turns, Path(folder))
            for work in works:
                for mode in modes:
                    results[work][mode].append(measured[work][mode])
        say("")
        name = platform.processor() or platform.machine()
        print(f"{name}, {os.cpu_count()} cores, {number} sets of {arguments.turns} turns")
        print_added(results, titles)
        print_steps(results)
        if arguments.json:
            arguments.json.write_text(json.dumps(figures(results), indent=1) + "\n")
        if "peakline all" in modes:
            print_trace_size(Path(folder) / "peakline-all.peak")


if __name__ == "__main__":
    main()
