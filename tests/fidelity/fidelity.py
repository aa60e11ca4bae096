"""Compares peaks on the simulated device with those on the real one: `make fidelity`.

    python tests/fidelity/fidelity.py [--models gpt2,lstm] [--out FILE.md] [--device h200]
    python tests/fidelity/fidelity.py --save-real real.json    # only the real side, on a GPU
    python tests/fidelity/fidelity.py --real real.json         # against it, without a GPU

Runs every script of models.py on both and writes the table. Exit status: 0 all peaks agree within
2 %, 1 one does not or a script failed, 3 there is no GPU here, so the real side is unknown.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ALLOWED_PERCENT = 2.0
LIMIT_SECONDS = 600
MODELS = ("gpt2", "llama", "bert", "resnet50", "vit", "unet", "lstm")
MEASURES = ("allocated", "reserved", "outside torch")
UNKNOWN = 3

_FIND_GPU = "import torch; print(torch.cuda.get_device_name() if torch.cuda.is_available() else '')"


def real_device() -> str:
    """The name of the GPU of this machine; '' without one."""
    result = subprocess.run(
        [sys.executable, "-c", _FIND_GPU], capture_output=True, text=True, check=False
    )
    return result.stdout.strip()


def profile_of(name: str) -> str:
    """The profile that simulates a device of this name; '' when there is none."""
    profiles = json.loads((ROOT / "preload" / "simulate" / "gpu" / "profiles.json").read_text())[
        "profiles"
    ]
    return next((key for key, profile in profiles.items() if profile["name"] == name), "")


def run(model: str, device: str | None) -> dict[str, Any]:
    """What a script said, on the real device when none is named."""
    peakline = ["-m", "peakline", "run", "-q", "--no-record", "--simulate", str(device)]
    command = [sys.executable, *(peakline if device else []), str(HERE / "models.py"), model]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "pyhook")}
    result = subprocess.run(
        command,
        env=environment,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    if result.returncode != 0:
        lines = result.stderr.strip().splitlines()
        return {"failed": lines[-1] if lines else f"status {result.returncode}"}
    said: dict[str, Any] = json.loads(result.stdout.strip().splitlines()[-1])
    return said


def difference_percent(simulated: int, real: int) -> float:
    return 100.0 * (simulated - real) / real if real else 0.0


def mib(value: int | None) -> str:
    return "unknown" if value is None else f"{value / (1 << 20):,.1f}"


def table(results: dict[str, dict[str, dict[str, Any]]], device: str, gpu: str) -> list[str]:
    """The lines of the report."""
    lines = [
        f"# Simulated {device} against {gpu or 'a real one: unknown, no GPU here'}",
        "",
        "Peaks in MiB of three training steps (models.py), the simulated device first. "
        "'outside torch' is what the device held besides torch's segments: context, libraries, "
        "loaded modules.",
        "",
        "| model | measure | simulated | real | difference |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    for model, sides in results.items():
        simulated, real = sides["simulated"], sides["real"]
        failed = simulated.get("failed") or real.get("failed")
        if failed:
            lines.append(f"| {model} | failed | {failed} | | |")
            continue
        for measure in MEASURES:
            other = real.get(measure)
            percent = difference_percent(simulated[measure], other) if other else None
            shown = "unknown" if percent is None else f"{percent:+.2f} %"
            lines.append(
                f"| {model} | {measure} | {mib(simulated[measure])} | {mib(other)} | {shown} |"
            )
    return lines


def verdict(results: dict[str, dict[str, dict[str, Any]]], gpu: str) -> int:
    """The exit status."""
    for sides in results.values():
        if "failed" in sides["simulated"] or "failed" in sides["real"]:
            return 1
        if gpu:
            pairs = ((sides["simulated"][m], sides["real"][m]) for m in ("allocated", "reserved"))
            if any(abs(difference_percent(*pair)) >= ALLOWED_PERCENT for pair in pairs):
                return 1
    return 0 if gpu else UNKNOWN


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--device", default="", help="profile (default: that of the GPU here)")
    parser.add_argument("--out", type=Path, default=HERE / "RESULTS.md")
    parser.add_argument("--save-real", type=Path, help="measure the GPU here, write its figures")
    parser.add_argument("--real", type=Path, help="figures of a GPU that --save-real wrote")
    args = parser.parse_args()
    models = args.models.split(",")
    if args.save_real:
        figures = {model: run(model, None) for model in models}
        args.save_real.write_text(json.dumps(figures, indent=1) + "\n")
        return int(any("failed" in figure for figure in figures.values()))
    kept = json.loads(args.real.read_text()) if args.real else {}
    gpu = next(iter(kept.values()))["device"] if kept else real_device()
    device = args.device or profile_of(gpu) or "h200"
    results: dict[str, dict[str, dict[str, Any]]] = {}
    for model in models:
        print(f"{model} ...", file=sys.stderr, flush=True)
        real = kept[model] if kept else run(model, None) if gpu else {}
        results[model] = {"simulated": run(model, device), "real": real}
    lines = table(results, device, gpu)
    args.out.write_text("\n".join(lines) + "\n")
    print("\n".join(lines[2:]))
    print(f"\nWrote {args.out}")
    if not gpu:
        print(
            "Unknown: how far these peaks are from a real device. "
            f"Run `make fidelity` on a machine with a GPU; this run ends with status {UNKNOWN}."
        )
    return verdict(results, gpu)


if __name__ == "__main__":
    sys.exit(main())
