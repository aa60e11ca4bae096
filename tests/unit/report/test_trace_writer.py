"""Traces written by `_report.TraceWriter`, read back by the reader of every trace."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import NEEDS_ENGINE, ROOT

pytestmark = NEEDS_ENGINE
sys.path.insert(0, str(ROOT / "pyhook"))


def writer_of(path: Path) -> Any:
    from peakline import _report

    return _report.TraceWriter(str(path), 1_700_000_000_000_000_000)


def test_a_long_random_run_is_read_back(tmp_path: Path) -> None:
    import peakline

    chance = random.Random(3)
    writer = writer_of(tmp_path / "long.peak")
    writer.mark(0, 1, 0)
    expected: list[tuple[str, int, int]] = []
    live: list[tuple[int, int]] = []
    level = tick = 0
    for number in range(120_000):
        tick += chance.choice((0, 1, 60, 61, 62, 100_000))
        if not live or chance.random() < 0.55:
            size = 512 * chance.randint(1, 4000)
            node = writer.node(0, f"/a/file{number % 9000}.py", number % 100, "f" * 40)
            context = writer.context(node, 0)
            address = chance.randrange(1 << 46)
            ordinal = writer.alloc(tick, context, 0, 0, size - 7, size, address)
            live.append((ordinal, size))
            level += size
            expected.append(("alloc", size, level))
        else:
            ordinal, size = live.pop(chance.randrange(len(live)))
            writer.free(tick, ordinal, size, 0, 0)
            level -= size
            expected.append(("free", size, level))
    writer.finish()
    recording = peakline.open(tmp_path / "long.peak")
    events = [one for one in recording.events() if one.kind in ("alloc", "free")]
    assert [(one.kind, one.bytes, one.allocated_bytes) for one in events] == expected
    assert round(events[-1].seconds * 1e9 / 128) == tick
    assert recording.peak_bytes() == max(one[2] for one in expected)
    assert recording.info()["chunk_count"] > 5
    assert recording.info()["problems"] == []
    timeline = recording.timeline(points=50)
    assert timeline.document["peak_bytes"] == recording.peak_bytes()
    assert timeline.document["end_bytes"] == level


def test_nothing_is_left_of_a_trace_that_was_not_finished(tmp_path: Path) -> None:
    from peakline import _report

    writer = writer_of(tmp_path / "gone.peak")
    writer.string("a text")
    del writer
    assert not (tmp_path / "gone.peak").exists()
    writer = writer_of(tmp_path / "twice.peak")
    writer.finish()
    with pytest.raises(ValueError, match="was finished"):
        writer.finish()
    with pytest.raises(_report.TraceError, match="File exists"):
        writer_of(tmp_path / "twice.peak")
    with pytest.raises(_report.TraceError, match="No such file"):
        writer_of(tmp_path / "no" / "where.peak")
