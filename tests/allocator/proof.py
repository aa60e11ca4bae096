"""What peakline says of torch's allocator, against torch: `make whatif-proof`.

    python tests/allocator/proof.py [--programs gpt2,streams] [--out FILE.md] [--folder DIR]

Runs every program of programs.py as it is, asks `peakline whatif` what it would do under other
settings and on smaller devices, runs it so, and compares. Each of these runs is also made again by
the model, segment by segment. Simulated GPU; some ten minutes on two cores. Exit status: 0 all is
equal, 1 something is not.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from verdicts import VARIES, Verdict, report, size_and_calls

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LIMIT_SECONDS = 600
MIB = 1 << 20
COUNTS = ("reserved_peak_bytes", "device_allocs", "device_frees", "retries")
EXPANDABLE = "expandable_segments:True"

# By the name in the table. {f}: a part of the device that is a little less than the program needs.
SETTINGS = {
    "expandable": EXPANDABLE,
    "split 64": "max_split_size_mb:64",
    "power2 4": "roundup_power2_divisions:4",
    "power2 by size": "roundup_power2_divisions:[1:8,16:4,256:2,>:1]",
    "large 64": "large_segment_size_mb:64",
    "split 64, rounding 200": "max_split_size_mb:64,max_non_split_rounding_mb:200",
    "gc 0.6": "garbage_collection_threshold:0.6,per_process_memory_fraction:{f}",
    "gc 0.6, split 40": (
        "garbage_collection_threshold:0.6,max_split_size_mb:40,per_process_memory_fraction:{f}"
    ),
    "fraction": "per_process_memory_fraction:{f}",
    "expandable, split 32, power2 4": (
        f"{EXPANDABLE},max_split_size_mb:32,roundup_power2_divisions:4"
    ),
    "expandable, gc 0.6": (
        f"{EXPANDABLE},garbage_collection_threshold:0.6,per_process_memory_fraction:{{f}}"
    ),
}
# Devices, by the part of the recorded peak that torch may have; with which settings.
DEVICES = {
    "0.95 of the peak": (0.95, ""),
    "0.8": (0.8, ""),
    "0.6": (0.6, ""),
    "0.7, expandable": (0.7, EXPANDABLE),
    "0.9, split 64": (0.9, "max_split_size_mb:64"),
    "0.9, gc 0.6, split 40": (
        0.9,
        "garbage_collection_threshold:0.6,max_split_size_mb:40,per_process_memory_fraction:0.9",
    ),
}
# Their requests depend on the size of the device: recorded on a small one, and only there.
FILLS_THE_DEVICE = ("own_pools", "near_the_end", "busy_streams")
SMALL_DEVICE = "h200:8GiB"
# Events are unfinished when they are asked for, as on a busy device.
LATE = {"PEAKLINE_SIM_LATE_EVENTS": "3"}
CASES = (
    "gpt2",
    "resnet50",
    "variable_length",
    "streams",
    "busy_streams",
    "busy_streams 2",
    "graphs",
    "graphed_calls",
    "graph_trees",
    "own_pools",
    "near_the_end",
    "near_the_end 2",
    "fraction",
    "random_blocks",
    "random_blocks 2",
    "random_blocks 3",
    "new_settings",
)


def peakline(*words: str, settings: str = "", more: dict[str, str] | None = None) -> str:
    """Return what a command prints; it must succeed."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTORCH_")}
    environment.update(more or {})
    environment["PYTHONPATH"] = str(ROOT / "pyhook")
    if settings:
        environment["PYTORCH_CUDA_ALLOC_CONF"] = settings
    result = subprocess.run(
        [sys.executable, "-m", "peakline", *words],
        env=environment,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    if result.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {result.stderr.strip()[-600:]}")
    return result.stdout


class Program:
    """One program, its recorded run and what is predicted from that."""

    def __init__(self, words: str, folder: Path) -> None:
        self.words = words
        self.folder = folder / words.replace(" ", "-")
        self.folder.mkdir(parents=True, exist_ok=True)
        self.fills = words.split()[0] in FILLS_THE_DEVICE
        self.varies = words.split()[0] in VARIES
        self.device = SMALL_DEVICE if self.fills else "h200"
        self.said, self.trace = self.run("base", "", self.device)
        self.found = self.whatif(self.trace)
        self.peak = self.said["reserved_peak_bytes"]
        self.total = self.found["device_bytes"]
        self.others = self.found["other_bytes"] or 0

    def run(self, name: str, settings: str, device: str) -> tuple[dict[str, Any], Path]:
        """Record a run: what torch said, and the trace."""
        trace = self.folder / f"{name}.peak"
        options = ["-q", "-f", "--simulate", device, "--python", sys.executable, "-o", str(trace)]
        words = [str(HERE / "programs.py"), *self.words.split()]
        late = LATE if self.words.startswith("busy") else {}
        printed = peakline("run", *options, *words, settings=settings, more=late)
        line = next(line for line in printed.splitlines() if line.startswith('{"reserved'))
        said: dict[str, Any] = json.loads(line)
        return said, trace

    def whatif(self, trace: Path, *options: str) -> Any:
        """Return the answer of `peakline whatif`."""
        return json.loads(peakline("whatif", str(trace), "--json", *options))

    def first_verdict(self) -> Verdict:
        """Compare the recorded run with itself made again."""
        verdict = self.compare(self.found["recorded"], self.said, self.trace)
        verdict.text = size_and_calls(self.said)
        return verdict

    def settings_verdict(self, name: str, settings: str) -> Verdict:
        """Compare a prediction for other settings with a run under them."""
        part = 0.9 * self.peak / self.total
        settings = settings.replace("{f}", f"{part:.6f}")
        if self.words.startswith("fraction") and "fraction" in settings:
            return Verdict(True, "-")  # the program sets its own
        [predicted] = self.whatif(self.trace, "--set", settings)["runs"]
        said, trace = self.run(file_name(name), settings, self.device)
        return self.compare(predicted, said, trace)

    def device_verdict(self, name: str, part: float, settings: str) -> Verdict:
        """Compare a prediction for a smaller device with a run on it."""
        if self.fills:
            return Verdict(True, "-")
        size = int(self.peak * part + self.others) // MIB
        options = ["--device-memory", str(size * MIB), *(["--set", settings] if settings else [])]
        found = self.whatif(self.trace, *options)
        predicted = found["runs"][0] if settings else found["recorded"]
        said, trace = self.run(file_name("device " + name), settings, f"h200:{size}MiB")
        return self.compare(predicted, said, trace)

    def wrong(self, predicted: dict[str, Any], said: dict[str, Any], trace: Path) -> list[str]:
        """Return a sentence for everything that was predicted otherwise."""
        notes = differences(predicted, said)
        if said["first_step"] is not None:
            first = differences(predicted["first_step"] or {}, said["first_step"])
            notes += [f"first step: {one}" for one in first]
        if (predicted["oom"] is not None) != said["refused"]:
            notes.append(f"out of memory: predicted {predicted['oom']}, was {said['refused']}")
        elif said["refused"]:
            refused = json.loads(peakline("oom", str(trace), "--json"))["ooms"][0]
            notes += differences(predicted["oom"], refused, ("requested_bytes", "location"))
        return notes

    def compare(self, predicted: dict[str, Any], said: dict[str, Any], trace: Path) -> Verdict:
        """Compare counts, the first step and the first request that was refused."""
        # cuBLAS had no memory, which torch was not asked for; or the recorded run ended earlier.
        if said["by"] == "a library" or predicted["served_refusals"]:
            return Verdict(True, "-")
        again = self.found if trace == self.trace else self.whatif(trace)
        if not again["verified"]:
            return Verdict(False, size_and_calls(said), False, [again["first_difference"]])
        notes = differences(again["recorded"], said)
        if not self.varies:
            notes += self.wrong(predicted, said, trace)
        return Verdict(
            not notes,
            size_and_calls(said),
            again["verified"],
            notes,
            again["segment_events"],
            again["requests"],
        )


def differences(
    predicted: dict[str, Any], real: dict[str, Any], names: tuple[str, ...] = COUNTS
) -> list[str]:
    """Return a sentence for each field that was not predicted."""
    return [
        f"{name}: predicted {predicted.get(name)}, was {real[name]}"
        for name in names
        if predicted.get(name) != real[name]
    ]


def file_name(name: str) -> str:
    """Return the name without what files do not like."""
    return "".join(letter if letter.isalnum() else "_" for letter in name)


def prove(words: str, folder: Path) -> dict[str, Verdict]:
    """Every comparison of one program, by column."""
    program = Program(words, folder)
    verdicts = {"as recorded": program.first_verdict()}
    jobs = {
        **{name: (program.settings_verdict, (name, text)) for name, text in SETTINGS.items()},
        **{name: (program.device_verdict, (name, *how)) for name, how in DEVICES.items()},
    }
    with ThreadPoolExecutor(max_workers=2) as pool:
        running = {
            name: pool.submit(judge, *arguments) for name, (judge, arguments) in jobs.items()
        }
        verdicts.update({name: one.result() for name, one in running.items()})
    for name, verdict in verdicts.items():
        for note in verdict.notes:
            print(f"{words} / {name}: {note}", flush=True)
    equal = sum(one.is_equal for one in verdicts.values())
    print(f"{words}: {equal} of {len(verdicts)} equal", flush=True)
    return verdicts


def main() -> int:
    """Run everything, print the tables."""
    parser = argparse.ArgumentParser(description="Predictions of peakline whatif against torch.")
    parser.add_argument("--programs", default=",".join(CASES))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--folder", type=Path, help="keep the traces here")
    given = parser.parse_args()
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for words in given.programs.split(","):
            results[words] = prove(words, given.folder or Path(folder))
            text = report(results, list(SETTINGS), list(DEVICES))
            if given.out is not None:  # what there is so far
                given.out.write_text(text)
    print(text)
    is_equal = all(one.is_equal for verdicts in results.values() for one in verdicts.values())
    return 0 if is_equal else 1


if __name__ == "__main__":
    sys.exit(main())
