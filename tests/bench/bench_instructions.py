"""Instructions that recording adds to an event of a training step, next to torch's own recorder.

Counted by callgrind, so the same on every run and every machine, where times vary by a third.
Instructions are not time: of the same number one that waits for memory takes longer. So with
--misses caches are simulated, too: what an event of ours does not find there, and what of torch's
code and data it pushes out. Takes some minutes; needs valgrind. The model is narrow, which changes
the sizes of blocks and nothing else.
"""

import argparse
import re
import sys
import tempfile
from pathlib import Path

from _recorded_run import said_under

STACKS = ("python", "all")
MODELS = ("gpt2", "llama", "resnet50")
# What a run of the program starts beside it.
NOT_COUNTED = "*callgrind_control*,*/perl,*/gdb,*/vgdb,*/ldconfig,*/uname,*/sh"
SIMULATED = "h200:12GiB"  # more does not fit into valgrind's address space
# 32 kB of instructions, 32 kB of data, 512 kB of both.
CACHES = ["--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64", "--LL=524288,8,64"]
INSTRUCTIONS = "Ir"
MISSES = {
    "first level, instructions": ["I1mr"],
    "first level, data": ["D1mr", "D1mw"],
    "second level, instructions": ["ILmr"],
    "second level, data": ["DLmr", "DLmw"],
}
Counts = dict[str, float]  # of an event, by callgrind's names


def counts(model: str, stacks: str, folder: Path, caches: list[str]) -> dict[str, Counts]:
    """By recorder."""
    valgrind = ["valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", "--trace-children=yes"]
    valgrind += [f"--trace-children-skip={NOT_COUNTED}", f"--callgrind-out-file={folder}/%p"]
    valgrind += caches
    told = said_under(valgrind, folder, stacks, ["_counted_worker.py", model], SIMULATED)
    dumps = sorted(folder.glob("*.[0-9]*"), key=lambda path: int(path.suffix[1:]))
    return {
        one["recorder"]: counts_of(dump, one["events"])
        for one, dump in zip(told, dumps, strict=True)
    }


def counts_of(dump: Path, events: int) -> Counts:
    """The sums of a file that callgrind wrote."""
    text = dump.read_text(errors="replace")
    names = re.search(r"^events: (.+)", text, re.MULTILINE)
    # Not the summary: that goes on counting over a "-z".
    sums = re.search(r"^totals: (.+)", text, re.MULTILINE)
    if names is None or sums is None:
        sys.exit(f"{dump}: callgrind wrote no sum")
    return {
        name: int(number) / events
        for name, number in zip(names[1].split(), sums[1].split(), strict=False)
    }


def print_misses(found: dict[str, Counts], ours: str, theirs: str) -> None:
    width = max(map(len, MISSES))
    print(f"  {'misses of an event':<{width}}{'base':>8}{ours:>18}{theirs:>18}")
    for title, names in MISSES.items():
        base, *others = (
            sum(found[recorder].get(name, 0) for name in names)
            for recorder in ("nothing", "peakline", theirs)
        )
        added = "".join(f"{value - base:>+18.1f}" for value in others)
        print(f"  {title:<{width}}{base:>8.1f}{added}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", choices=MODELS, default=["gpt2"])
    parser.add_argument("--misses", action="store_true", help="of simulated caches, too")
    arguments = parser.parse_args()
    for model in arguments.models:
        for stacks in STACKS:
            with tempfile.TemporaryDirectory() as folder:
                found = counts(model, stacks, Path(folder), CACHES if arguments.misses else [])
            base = found["nothing"][INSTRUCTIONS]
            ours = found["peakline"][INSTRUCTIONS] - base
            theirs = found[f"torch {stacks}/all"][INSTRUCTIONS] - base
            print(
                f"{model}: an event takes {base:,.0f} instructions; peakline {stacks} adds "
                f"{ours:,.0f}, torch {stacks}/all {theirs:,.0f}: {theirs / ours:.1f} times as many",
                flush=True,
            )
            if arguments.misses:
                print_misses(found, f"peakline {stacks}", f"torch {stacks}/all")


if __name__ == "__main__":
    main()
