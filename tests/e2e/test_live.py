"""`peakline live` follows a program while it runs; torch's own counters in it are the oracle."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from lab import PROGRAMS, Lab
from peakline.recording.live_state import LiveLine, LiveState
from peakline.terminal.live import screen_of
from rich.console import Console


@contextmanager
def waiting_program(lab: Lab, trace: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "peakline", "run", "-q", "--simulate", "h200"]
    process = subprocess.Popen(
        [*command, *options, "-o", str(trace), str(PROGRAMS / "waits_for_reader.py")],
        env=lab.environment(None),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        yield process


def reading(lab: Lab, *words: str) -> dict[str, Any]:
    result = lab.peakline("live", "--once", "--json", *words)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_a_running_program_is_followed_to_its_end(lab: Lab, tmp_path: Path) -> None:
    trace = tmp_path / "run.peak"
    with waiting_program(lab, trace) as program:
        for _ in range(3):
            said = json.loads(program.stdout.readline())
            for source in (str(trace), str(program.pid)):
                state = reading(lab, source)
                assert state["is_being_written"]
                assert state["level_bytes"] == said["level"]
                assert state["peak_bytes"] == said["peak"]
                assert sum(line["held_bytes"] for line in state["lines"]) == said["level"]
                assert sum(line["block_count"] for line in state["lines"]) == said["blocks"]
                assert max(state["levels"]) == said["peak"]
            text = lab.peakline("live", "--once", str(trace)).stdout
            assert f"process {state['pid']}, running for" in text
            assert "waits_for_reader.py:" in text
            assert "killed" not in text
            program.stdin.write("\n")
            program.stdin.flush()
        follower = subprocess.run(
            [sys.executable, "-m", "peakline", "live", "--json", "--interval", "0.1", str(trace)],
            env=lab.environment(None),
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        assert program.wait(timeout=60) == 0
    last = json.loads(follower.stdout.splitlines()[-1])
    assert not last["is_being_written"]
    assert last["peak_bytes"] == said["peak"]
    assert last["level_bytes"] == lab.table(trace, "--at", "end")["total_bytes"]


def test_what_cannot_be_followed_is_said(lab: Lab, tmp_path: Path) -> None:
    missing = lab.peakline("live", str(tmp_path / "none.peak"))
    assert missing.returncode == 2
    assert "cannot open the trace" in missing.stderr
    ended = subprocess.Popen(["true"])
    ended.wait()
    gone = lab.peakline("live", str(ended.pid))
    assert gone.returncode == 2
    assert f"there is no process {ended.pid}" in gone.stderr


HOSTILE = "/srv/\x1b[31mred\u202ename\n漢字漢字.py:7 (" + "f" * 10_000 + ")"


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_the_screen_fits_whatever_names_there_are(width: int, encoding: str) -> None:
    state = LiveState(
        path=HOSTILE,
        pid=1,
        is_being_written=True,
        seconds=4000.0,
        level_bytes=3 << 30,
        peak_bytes=5 << 30,
        peak_seconds=3999.0,
        device_name=HOSTILE,
        device_bytes=80 << 30,
        is_simulated=False,
        step=12,
        phase="forward",
        peak_place="step 11 backward",
        lines=[LiveLine(HOSTILE, 2 << 30, 4, "aten::" + "mm" * 500), LiveLine("x", 1 << 30, 1, "")],
        line_count=5,
        levels=[0, 5 << 30, 3 << 30],
        problems=[],
    )
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="replace")
    console = Console(file=file, width=width)
    console.print(screen_of(state, width, is_ascii=encoding == "ascii"))
    file.seek(0)
    text = file.read()
    assert not any(one in text for one in ("\x1b", "\u202e"))
    lines = text.splitlines()
    assert all(console.measure(line).maximum <= width for line in lines)
    assert len(lines) <= 16
    assert "2.000 GB" in text
    assert "3 more lines: --top 0" in text
