"""Where the time goes that recording adds to a training step: by library, and by our functions.

A process makes steps by turns with recording and without (recording_switch.cpp), and perf samples
it all the while. What a library takes more with recording is our own code where it is ours, and
elsewhere what our code pushed out of the caches. So a figure does not need a quiet machine: samples
of both kinds are taken in the same second of the same process. Needs perf.
"""

import argparse
import bisect
import collections
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from _recorded_run import said_under
from bench_events import STEPS

SAMPLES_PER_SECOND = 6000
SAMPLE = re.compile(r"^\s*(\d+)\.(\d+):\s+[0-9a-f]+ (.*) \((.*)\)$")
ROWS = 16
OURS = "libpeakline"
Key = tuple[str, str]  # library, function


def record(model: str, stacks: str, seconds: float, folder: Path) -> dict:
    """Runs the steps under perf; what the worker said of them."""
    perf = ["perf", "record", "-q", "-e", "cpu-clock", "-F", str(SAMPLES_PER_SECOND)]
    perf += ["-k", "CLOCK_MONOTONIC", "-o", str(folder / "samples")]
    return said_under(perf, folder, stacks, ["_sampled_worker.py", model, str(seconds)])[0]


def samples(folder: Path) -> Iterator[tuple[int, Key]]:
    """Time in ns, and where the program was."""
    script = ["perf", "script", "-i", str(folder / "samples"), "--ns", "-F", "time,ip,sym,dso"]
    with subprocess.Popen(
        script, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as reading:
        for line in reading.stdout or ():
            if found := SAMPLE.match(line):
                seconds, nanoseconds, function, library = found.groups()
                key = (Path(library).name, function)
                yield int(seconds) * 1_000_000_000 + int(nanoseconds), key


def nanoseconds(told: dict, folder: Path) -> tuple[dict[Key, float], dict[Key, float]]:
    """Of an event, by place: without recording, and with it."""
    turns = told["turns"]
    begins = [turn["begin"] for turn in turns]
    counts: tuple[collections.Counter[Key], ...] = (collections.Counter(), collections.Counter())
    for time, key in samples(folder):
        turn = turns[max(bisect.bisect_right(begins, time) - 1, 0)]
        if turn["begin"] <= time <= turn["end"]:
            counts[turn["is_on"]][key] += 1

    def worth_of_samples(is_on: bool) -> dict[Key, float]:
        of_kind = [turn for turn in turns if turn["is_on"] == is_on]
        spent = sum(turn["processor_ns"] for turn in of_kind)
        events = told["events"] * sum(turn["steps"] for turn in of_kind)
        worth = spent / events / counts[is_on].total()
        return {key: count * worth for key, count in counts[is_on].items()}

    return worth_of_samples(False), worth_of_samples(True)


def by_library(times: dict[Key, float]) -> dict[str, float]:
    total: dict[str, float] = collections.defaultdict(float)
    for (library, _), time in times.items():
        total[library] += time
    return total


def ours(times: dict[Key, float]) -> dict[str, float]:
    return {function: time for (library, function), time in times.items() if OURS in library}


def print_rows(title: str, without: dict[str, float], recorded: dict[str, float]) -> None:
    """Those that recording changes most."""
    print(f"{title:<60} {'without':>9} {'with':>9} {'added':>8}")
    rows = [(key, without.get(key, 0), recorded.get(key, 0)) for key in {*without, *recorded}]
    rows.sort(key=lambda row: -abs(row[2] - row[1]))
    for key, before, now in rows[:ROWS]:
        print(f"{key[:60]:<60} {before:9.1f} {now:9.1f} {now - before:+8.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=STEPS, default="gpt2")
    parser.add_argument("--stacks", choices=("none", "python", "native", "all"), default="all")
    parser.add_argument("--seconds", type=float, default=60)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        told = record(chosen.model, chosen.stacks, chosen.seconds, Path(name))
        without, recorded = nanoseconds(told, Path(name))
    print(
        f"{STEPS[chosen.model]}, stacks {chosen.stacks}, nanoseconds of an event under perf: "
        f"{sum(without.values()):.0f} without recording, {sum(recorded.values()):.0f} with it\n"
    )
    print_rows("library", by_library(without), by_library(recorded))
    print()
    print_rows("function of peakline", ours(without), ours(recorded))


if __name__ == "__main__":
    main()
