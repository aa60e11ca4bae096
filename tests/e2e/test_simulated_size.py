"""What simulating costs: little time for a small model, little memory for an enormous one."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

import pytest
from lab import ON_GPU, PROGRAMS

pytestmark = pytest.mark.skipif(ON_GPU, reason="about the simulated GPU")


OPTIONS = {"context": [], "meta": [], "host": ["--blank-weights"]}


@pytest.mark.parametrize("way", OPTIONS)
def test_seventy_billion_parameters_live_on_the_device_only(
    lab: Any, tmp_path: Any, way: str
) -> None:
    pytest.importorskip("transformers")
    words = [str(PROGRAMS / "builds_large.py"), way]
    options = ["-q", "-o", "run.peak"]
    command = lab.recording_command(*words, device="h200x8", options=[*options, *OPTIONS[way]])
    process = subprocess.Popen(
        command, cwd=tmp_path, env=lab.environment(None), stdout=subprocess.PIPE
    )
    out = process.stdout.read() if process.stdout else b""
    # Of the process and of the program it waited for, as the kernel counts them.
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    said = json.loads(out)
    assert said["count"] > 70e9
    assert said["bytes"] >= 2 * said["count"]
    assert usage.ru_maxrss < 4 << 20  # KiB


def test_three_steps_of_gpt2_take_seconds(lab: Any, tmp_path: Any) -> None:
    pytest.importorskip("transformers")
    run = lab.recorded(tmp_path, str(PROGRAMS / "gpt2_seconds.py"))
    assert run.status == 0, run.stderr
    assert run.said["peak"] > 12 << 30  # the batch of a real training
    assert run.said["seconds"] < 10
