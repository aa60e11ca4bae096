"""Gradients are read without a crash while another thread destroys them."""

from __future__ import annotations

import json
import subprocess
import sys

from lab import PROGRAMS


def test_a_gradient_that_another_thread_destroys_is_not_read() -> None:
    program = str(PROGRAMS / "gradients_of_threads.py")
    run = subprocess.run(
        [sys.executable, program, "1"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, (run.returncode, run.stderr)
    said = json.loads(run.stdout)
    assert said["same"]
    assert all(said["counts"])
