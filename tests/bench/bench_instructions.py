"""Instructions that recording adds to an event of a training step, next to torch's own recorder.

Counted by callgrind, so the same on every run and every machine, where times vary by a third.
Instructions are not time: of the same number one that waits for memory takes longer. Takes some
minutes; needs valgrind. The model is narrow, which changes the sizes of blocks and nothing else.
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


def counts(model: str, stacks: str, folder: Path) -> dict[str, float]:
    """Instructions an event by recorder."""
    valgrind = ["valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", "--trace-children=yes"]
    valgrind += [f"--trace-children-skip={NOT_COUNTED}", f"--callgrind-out-file={folder}/%p"]
    told = said_under(valgrind, folder, stacks, ["_counted_worker.py", model], SIMULATED)
    dumps = sorted(folder.glob("*.[0-9]*"), key=lambda path: int(path.suffix[1:]))
    return {
        one["recorder"]: instructions_of(dump) / one["events"]
        for one, dump in zip(told, dumps, strict=True)
    }


def instructions_of(dump: Path) -> int:
    """The sum of a file that callgrind wrote."""
    found = re.search(r"^(?:totals|summary): (\d+)", dump.read_text(errors="replace"), re.MULTILINE)
    if found is None:
        sys.exit(f"{dump}: callgrind wrote no sum")
    return int(found[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", choices=MODELS, default=["gpt2"])
    for model in parser.parse_args().models:
        for stacks in STACKS:
            with tempfile.TemporaryDirectory() as folder:
                found = counts(model, stacks, Path(folder))
            base = found["nothing"]
            ours = found["peakline"] - base
            theirs = found[f"torch {stacks}/all"] - base
            print(
                f"{model}: an event takes {base:,.0f} instructions; peakline {stacks} adds "
                f"{ours:,.0f}, torch {stacks}/all {theirs:,.0f}: {theirs / ours:.1f} times as many",
                flush=True,
            )


if __name__ == "__main__":
    main()
