"""Programs of the common training libraries, run with recording and without: `make families`.

    python tests/families/families.py [NAME...] [--python PY] [--keep FOLDER]

Each must end with the same status and output both ways; every rank's peak must be torch's own
counter, and at least 99 % of its bytes must have a line of the program. PY (default: this Python)
has the libraries; what it lacks is skipped by name. Exit status: 0 all hold, 1 one does not.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).resolve().parent / "programs"
ON_GPU = os.environ.get("PEAKLINE_TEST_DEVICE") == "gpu"
LIMIT_SECONDS = 600
LEAST_SHARE = 0.99
PEAK = re.compile(r"^rank (\d+): .*, max_memory_allocated (\d+)$", re.MULTILINE)
_ABORTED_AT_EXIT = "terminate called without an active exception"
_ATTEMPTS = 3
_FIND = (
    "import importlib.util as u, sys; sys.exit(any(u.find_spec(n) is None for n in sys.argv[1:]))"
)


@dataclass(frozen=True)
class Family:
    """A program with its arguments; how many ranks it has, and what it imports."""

    program: str
    needs: tuple[str, ...] = ()
    ranks: int = 1
    launcher: str = "torch.distributed.run"

    def words(self, python: str) -> list[str]:
        """What is typed to run it."""
        name, *arguments = self.program.split()
        script = [str(PROGRAMS / f"{name}.py"), *arguments]
        if self.ranks == 1:
            return [python, *script]
        count = "--num_processes" if "accelerate" in self.launcher else "--nproc_per_node"
        return [python, "-m", self.launcher, count, str(self.ranks), *script]


FAMILIES = {
    "ddp early": Family("ddp early", ranks=2),
    "ddp late": Family("ddp late", ranks=2),
    "fsdp2": Family("fsdp2", ranks=2),
    "tensor parallel": Family("tensor_parallel", ranks=2),
    "accelerate": Family("accelerated", ("accelerate",), 2, "accelerate.commands.launch"),
    "deepspeed 2": Family("zero 2", ("deepspeed",), ranks=2),
    "deepspeed 3": Family("zero 3", ("deepspeed",), ranks=2),
    "megatron": Family("megatron_gpt", ("megatron",), ranks=4),
    "torchtitan": Family("titan", ("torchtitan", "datasets"), ranks=2),
    "trainer": Family("trainer", ("transformers", "accelerate")),
    "trl": Family("sft", ("trl", "peft", "datasets")),
    "qlora": Family("qlora", ("bitsandbytes", "peft", "transformers")),
    "diffusers": Family("diffusion", ("diffusers",)),
    "timm": Family("image_models", ("timm",)),
    "detection": Family("detection", ("torchvision",)),
    "yolo": Family("yolo", ("ultralytics",)),
    "graphs": Family("graphs", ("torch_geometric",)),
    "variational": Family("variational", ("pyro", "torchdiffeq")),
}


@dataclass(frozen=True)
class Found:
    """What a family came to. `trouble` is empty where everything holds."""

    trouble: list[str]
    peak_bytes: list[int]
    shares: list[float]  # of the peak's bytes, those with a line of the program


def lacks(family: Family, python: str) -> bool:
    """Whether a package that the program imports is missing."""
    return subprocess.run([python, "-c", _FIND, *family.needs], check=False).returncode != 0


def run(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a new folder; again, where torch itself aborted as the program ended.

    torch can abort a program that ends within milliseconds after backward(), recorded or not, see
    the README. That says nothing about the program.
    """
    for attempt in range(_ATTEMPTS):
        result = run_once(words, folder / str(attempt))
        if _ABORTED_AT_EXIT not in result.stderr:
            break
    for file in (folder / str(attempt)).glob("*.peak"):
        file.rename(folder / file.name)
    return result


def run_once(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a new folder, by a script that makes no choice of its own."""
    folder.mkdir(parents=True)
    fixed = {"PYTHONPATH": str(ROOT / "pyhook"), "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
    # The same temporary names and no network: outputs are compared.
    fixed |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    return subprocess.run(
        words,
        cwd=folder,
        env={**os.environ, **fixed},
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )


def shown(output: str) -> list[str]:
    """The lines of an output in an order, since ranks print when they like.

    Times differ from run to run, and with them how often a bar of progress is drawn: only the lines
    of the programs themselves keep their numbers, and of a bar its last state counts.
    """
    numbers = re.compile(r"/tmp/\S+|[\d.:]+(e[-+]?\d+)?[kKM]?")
    last_states = [re.split(r"\r|\x1b\[K", line)[-1] for line in output.split("\n")]
    kept = [line if line.startswith("rank ") else numbers.sub("N", line) for line in last_states]
    return sorted(set(kept))


def peakline(*words: str) -> Any:
    """What a command answers in JSON."""
    command = [sys.executable, "-m", "peakline", *words, "--json"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "pyhook")}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(result.stdout)


def share_of_program(trace: Path) -> float:
    """The share of the peak whose rows name a line of the program."""
    table = peakline("table", str(trace), "--frame", "user", "--top", "0")
    files = [(row["location"] or {}).get("file", "") for row in table["rows"]]
    own = [
        row["bytes"]
        for row, file in zip(table["rows"], files, strict=True)
        if file.startswith((str(PROGRAMS), str(ROOT / "examples")))  # some run an example
    ]
    return sum(own) / table["peak_bytes"]


def compare(family: Family, python: str, folder: Path) -> Found:
    """Run a family both ways."""
    device = [] if ON_GPU else ["--simulate", f"h200x{family.ranks}"]
    command = [sys.executable, "-m", "peakline", "run", "-q", "--python", python, *device]
    words = family.words(python)
    bare = words if ON_GPU else [*command, "--no-record", "--", *words]
    plain = run(bare, folder / "plain")
    recorded = run([*command, "-o", "%r.peak", "--", *words], folder / "recorded")
    (folder / "plain.txt").write_text(plain.stdout + plain.stderr)
    (folder / "recorded.txt").write_text(recorded.stdout + recorded.stderr)
    trouble = []
    if plain.returncode != recorded.returncode:
        trouble.append(f"status {recorded.returncode}, without recording {plain.returncode}")
    if shown(plain.stdout) != shown(recorded.stdout):
        trouble.append("another output than without recording")
    counted = {int(rank): int(peak) for rank, peak in PEAK.findall(recorded.stdout)}
    if len(counted) != family.ranks:
        trouble.append(f"{len(counted)} of {family.ranks} ranks printed a peak")
    shares = []
    for rank, peak in sorted(counted.items()):
        trace = folder / "recorded" / f"{rank if family.ranks > 1 else '0'}.peak"
        traces = [trace] if trace.exists() else sorted((folder / "recorded").glob("*.peak"))
        tables = {path: peakline("table", str(path))["peak_bytes"] for path in traces}
        same = [path for path, ours in tables.items() if ours == peak]
        if not same:
            trouble.append(f"rank {rank}: torch counted {peak}, peakline {list(tables.values())}")
            continue
        shares.append(share_of_program(same[0]))
        if shares[-1] < LEAST_SHARE:
            trouble.append(f"rank {rank}: {shares[-1]:.1%} of the peak has a line of the program")
    return Found(trouble, list(counted.values()), shares)


def main() -> int:
    """Run what is named and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(FAMILIES))
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--keep", type=Path, help="folder for traces and outputs")
    arguments = parser.parse_args()
    passed = True
    with tempfile.TemporaryDirectory() as scratch:
        for name in arguments.names or FAMILIES:
            family = FAMILIES[name]
            if lacks(family, arguments.python):
                print(f"{name:18} skipped: needs {', '.join(family.needs)}", flush=True)
                continue
            folder = (arguments.keep or Path(scratch)).resolve() / name.replace(" ", "-")
            found = compare(family, arguments.python, folder)
            passed = passed and not found.trouble
            shares = " ".join(f"{share:.2%}" for share in found.shares)
            peaks = " ".join(f"{peak / 1e6:.1f} MB" for peak in found.peak_bytes)
            print(f"{name:18} {'; '.join(found.trouble) or 'holds'}: {peaks}, {shares}", flush=True)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
