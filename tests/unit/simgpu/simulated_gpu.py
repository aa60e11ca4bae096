"""Runs programs on the simulated GPU."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from warm_popen import WarmPopen, run_to_its_end

ROOT = Path(__file__).resolve().parents[3]
BUILD_SCRIPT = ROOT / "preload" / "simulate" / "gpu" / "build.py"
PROGRAMS = ROOT / "tests" / "programs" / "simgpu"
LIMIT_SECONDS = 180


@dataclass(frozen=True)
class SimulatedGpu:
    folder: Path

    def environment(self, device: str = "h200", **more: str) -> dict[str, str]:
        names = (self.folder / "preload.txt").read_text().split()
        return {
            **os.environ,
            "LD_PRELOAD": ":".join(str(self.folder / name) for name in names),
            "TRITON_LIBCUDA_PATH": str(self.folder),
            "PEAKLINE_SIM_DEVICE": device,
            **more,
        }

    def run(
        self, command: list[str], device: str = "h200", **more: str
    ) -> subprocess.CompletedProcess[str]:
        environment = self.environment(device, **more)
        return run_to_its_end(WarmPopen, command, LIMIT_SECONDS, env=environment)
