"""Builds the simulated GPU once, or takes the build that PEAKLINE_SIMGPU_DIR names."""

from __future__ import annotations

import os
import subprocess
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PROGRAMS = ROOT / "tests" / "programs" / "simgpu"


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
        return subprocess.run(
            command,
            env=self.environment(device, **more),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )


@pytest.fixture(scope="session")
def simgpu() -> SimulatedGpu:
    given = os.environ.get("PEAKLINE_SIMGPU_DIR")
    version = f"{sys.version_info.major}{sys.version_info.minor}-{zlib.crc32(sys.prefix.encode())}"
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    folder = Path(given) if given else cache / "peakline" / f"simgpu-tests-{version}"
    build = [
        os.environ.get("PEAKLINE_BUILD_PYTHON", sys.executable),
        str(ROOT / "preload" / "simgpu" / "build.py"),
        *("--python", sys.executable, "--out", str(folder), "--no-audit"),
    ]
    done = subprocess.run(build, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return SimulatedGpu(folder)


@pytest.fixture
def run_program(simgpu: SimulatedGpu) -> Callable[..., str]:
    def run(name: str, device: str = "h200", **more: str) -> str:
        done = simgpu.run([sys.executable, str(PROGRAMS / name)], device, **more)
        assert done.returncode == 0, done.stderr[-3000:]
        assert "peakline simgpu" not in done.stderr, done.stderr[-3000:]
        assert "\nok" in "\n" + done.stdout
        return done.stdout

    return run
