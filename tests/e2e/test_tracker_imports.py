"""What torch's MemoryTracker saved, as traces: against the file itself."""

from __future__ import annotations

import itertools
import json
import pickle
import random
import sys
from pathlib import Path
from typing import Any

import pytest
from lab import ROOT

sys.path.insert(0, str(ROOT / "pyhook"))

import peakline  # noqa: E402
from peakline.imports.tracker_stats import pieces_of  # noqa: E402

MIB = 1 << 20


@pytest.fixture(scope="module")
def saved(lab: Any, tmp_path_factory: Any) -> tuple[dict[str, Any], Any]:
    """What torch's own tracker saved of a program, and the recording made of it."""
    folder = tmp_path_factory.mktemp("tracker")
    file, trace = folder / "stats.pickle", folder / "stats.peak"
    run = lab.run("as_memory_tracker.py", str(file), "torch")
    assert run.status == 0, run.stderr
    done = lab.peakline("import", str(file), "-o", str(trace))
    assert done.returncode == 0, done.stderr
    stats = pickle.loads(file.read_bytes())
    assert f"levels after {len(stats['memories_allocated'])} operators" in done.stdout
    return stats, peakline.open(trace)


def test_the_level_after_every_operator_is_the_files(saved: Any) -> None:
    stats, recording = saved
    wanted = [round(level * MIB) for _, level in stats["memories_allocated"].values()]
    seen = dict.fromkeys(range(len(wanted) + 1), None)
    for event in recording.events():
        if event.kind in ("alloc", "free"):
            seen[round(event.seconds * 1000)] = event.allocated_bytes
    level, found = 0, []
    for place in range(1, len(wanted) + 1):
        level = level if seen[place] is None else seen[place]
        found.append(level)
    assert found == wanted
    assert recording.peak_bytes() == max(wanted)
    assert recording.info()["problems"] == []


def test_operators_and_phases_have_the_names_of_the_file(saved: Any) -> None:
    stats, recording = saved
    names = {name for name, _ in stats["memories_allocated"].values()}
    rows = [row.key for row in recording.table(by="line", full_paths=True)]
    assert rows
    for row in rows:
        where, operator = row.removesuffix(")").split(" (")
        assert f"{where}.{operator}" in names
    assert {"forward", "backward"} <= {one.name for one in recording.phases()}


def test_pieces_sum_to_every_level() -> None:
    choose = random.Random(3)
    for _ in range(300):
        levels = [choose.choice([0, 1, 5, choose.randrange(100)]) for _ in range(30)]
        pieces = list(pieces_of(levels))
        assert all(piece.bytes > 0 for piece in pieces)
        for place, level in enumerate(levels):
            live = [p for p in pieces if p.begin <= place and (p.end is None or p.end > place)]
            assert sum(piece.bytes for piece in live) == level
        # The last made goes first: of two pieces neither begins in the other and outlives it.
        for first, second in itertools.combinations(pieces, 2):
            if first.begin < second.begin and first.end is not None:
                assert second.begin >= first.end or (
                    second.end is not None and second.end <= first.end
                )


def test_hostile_names_are_kept(lab: Any, tmp_path: Path) -> None:
    stats = {
        "memories_allocated": {0: ('a"b\n,c.forward.add\0', 1.0), 1: ("no stage", 3.5)},
        "markers": {"näme": 1},
    }
    (tmp_path / "odd.pickle").write_bytes(pickle.dumps(stats))
    done = lab.peakline("import", str(tmp_path / "odd.pickle"), "-o", str(tmp_path / "odd.peak"))
    assert done.returncode == 0, done.stderr
    table = json.loads(lab.report("table", tmp_path / "odd.peak", "--json"))
    assert {row["key"]: row["bytes"] for row in table["rows"]} == {
        'a"b\n,c.forward (add)': MIB,
        "no stage": 5 * MIB // 2,
    }
    assert "näme" in {one.name for one in peakline.open(tmp_path / "odd.peak").phases()}


@pytest.mark.parametrize("value", [3, {0: 1}, {0: ("a", -1.0)}, {"x": ("a", 1.0)}, None])
def test_what_is_no_tracker_file_is_refused(lab: Any, tmp_path: Path, value: Any) -> None:
    (tmp_path / "bad.pickle").write_bytes(pickle.dumps({"memories_allocated": value}))
    done = lab.peakline("import", str(tmp_path / "bad.pickle"), "-o", str(tmp_path / "bad.peak"))
    assert done.returncode == 2
    assert "not what MemoryTracker.save_stats() writes" in done.stderr
    assert not (tmp_path / "bad.peak").exists()
