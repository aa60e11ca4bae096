"""Snapshots that torch wrote, as traces: against a recording of the same program."""

from __future__ import annotations

import io
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest
from lab import ROOT

sys.path.insert(0, str(ROOT / "pyhook"))

import peakline  # noqa: E402
from peakline.exports import FORMATS  # noqa: E402
from peakline.exports.asked import Asked  # noqa: E402
from peakline.imports.layout import Layout, Rules  # noqa: E402
from peakline.imports.torch_snapshot import write_trace  # noqa: E402
from peakline.imports.writing import UnreadableError


@pytest.fixture(scope="module")
def dumped(lab: Any, tmp_path_factory: Any) -> tuple[Any, Path, Path]:
    """Run a program that dumps torch's snapshot, and import it."""
    folder = tmp_path_factory.mktemp("dumped")
    run = lab.run("dumps_snapshot.py", str(folder / "torch.pickle"))
    done = lab.peakline("import", str(folder / "torch.pickle"), "-o", str(folder / "torch.peak"))
    assert done.returncode == 0, done.stderr
    assert "actions of 1 device" in done.stdout
    return run, folder / "torch.pickle", folder / "torch.peak"


def test_the_peak_and_its_lines_are_those_of_the_recording(dumped: Any) -> None:
    run, _, path = dumped
    recorded, imported = peakline.open(run.trace), peakline.open(path)
    assert imported.peak_bytes() == run.said["peak"]
    assert imported.info()["problems"] == []
    for measure in ("allocated", "requested"):
        asked = {"by": "line", "frame": "user", "measure": measure, "full_paths": True}
        # torch has no Python stack of what the backward pass makes.
        of_forward = {
            row.key: row.bytes - row.backward_bytes
            for row in recorded.table(**asked)
            if row.bytes != row.backward_bytes
        }
        of_backward = sum(row.backward_bytes for row in recorded.table(**asked))
        lines = {row.key: row.bytes for row in imported.table(**asked)}
        assert lines.pop("no python frame", 0) == of_backward
        assert lines == of_forward


def test_every_level_is_that_of_the_recording(dumped: Any) -> None:
    run, _, path = dumped

    def levels(recording: Any) -> list[Any]:
        return [
            (one.kind, one.address, one.bytes, one.allocated_bytes, one.reserved_bytes)
            for one in recording.events()
            if one.device is not None
        ]

    recorded = levels(peakline.open(run.trace))
    assert levels(peakline.open(path)) == recorded
    assert {"free_requested", "free_completed", "segment_alloc"} <= {one[0] for one in recorded}


def test_what_if_makes_the_imported_run_again(lab: Any, dumped: Any) -> None:
    said = peakline.open(dumped[2]).whatif(["expandable_segments:True"]).document
    assert said["verified"], said["first_difference"]
    assert said["recorded_reserved_peak_bytes"] == said["recorded"]["reserved_peak_bytes"]
    for command in ("fragmentation", "map", "table", "phases", "advise"):
        assert lab.peakline(command, str(dumped[2])).returncode == 0


def test_exported_again_it_is_the_same_snapshot(dumped: Any) -> None:
    out = io.BytesIO()
    FORMATS["torch-snapshot"].write(peakline.open(dumped[2]), Asked(), out)
    again, torchs = pickle.loads(out.getvalue()), pickle.loads(dumped[1].read_bytes())

    def actions(snapshot: Any) -> list[Any]:
        return [
            (one["action"], one["addr"], one["size"])
            for one in snapshot["device_traces"][0]
            if one["action"] != "snapshot"
        ]

    def segments(snapshot: Any) -> list[Any]:
        return sorted(
            (one["address"], one["total_size"], one["allocated_size"], one["active_size"])
            for one in snapshot["segments"]
        )

    assert actions(again) == actions(torchs)
    assert segments(again) == segments(torchs)


def test_a_snapshot_that_kept_the_last_actions_begins_with_what_was_there(
    lab: Any, tmp_path: Path
) -> None:
    run = lab.run("dumps_snapshot.py", str(tmp_path / "last.pickle"), "60")
    snapshot = pickle.loads((tmp_path / "last.pickle").read_bytes())
    assert len(snapshot["device_traces"][0]) == 60
    imported = write_trace(snapshot, tmp_path / "last.peak")
    assert imported.blocks_before > 0
    assert imported.unknown_frees == 0
    events = [one for one in peakline.open(tmp_path / "last.peak").events() if one.device == 0]
    whole = [one for one in peakline.open(run.trace).events() if one.device == 0]
    assert [one.allocated_bytes for one in events[-60:]] == [
        one.allocated_bytes for one in whole[-60:]
    ] or events[-1].allocated_bytes == whole[-1].allocated_bytes
    assert events[-1].allocated_bytes == sum(one["allocated_size"] for one in snapshot["segments"])
    assert events[-1].reserved_bytes == sum(one["total_size"] for one in snapshot["segments"])


def test_an_older_snapshot_has_its_stacks_in_the_history(tmp_path: Path) -> None:
    frames = [{"filename": "/a/model.py", "line": 7, "name": "forward"}]
    blocks = [
        {
            "size": 1024,
            "state": "active_allocated",
            "history": [{"real_size": 1000, "frames": frames}],
        },
        {"size": 1024, "state": "inactive"},
        {"size": 2048, "state": "active_pending_free"},
    ]
    segment = {"device": 1, "address": 4096, "total_size": 4096, "stream": 5, "blocks": blocks}
    write_trace({"segments": [segment]}, tmp_path / "old.peak")
    recording = peakline.open(tmp_path / "old.peak")
    made = [one for one in recording.events() if one.kind == "alloc"]
    assert [(one.address, one.bytes, one.stream, one.device) for one in made] == [
        (4096, 1024, 5, 1),
        (6144, 2048, 5, 1),
    ]
    assert made[0].requested_bytes == 1000
    assert made[0].line == "/a/model.py:7 (forward)"


def test_annotations_are_phases(tmp_path: Path) -> None:
    actions = [
        {"action": "segment_alloc", "addr": 4096, "size": 4096, "stream": 0, "time_us": 1000},
        {"action": "alloc", "addr": 4096, "size": 512, "stream": 0, "time_us": 3000, "frames": []},
        {"action": "free_requested", "addr": 4096, "size": 512, "stream": 0, "time_us": 3000},
        {"action": "free_completed", "addr": 4096, "size": 512, "stream": 0, "time_us": 5000},
        {"action": "oom", "size": 1 << 30, "device_free": 77, "stream": 0, "time_us": 6000},
    ]
    marks = [
        {"stage": "START", "name": "warm", "device": 0, "time_us": 2000},
        {"stage": "END", "name": "warm", "device": 0, "time_us": 4000},
    ]
    snapshot = {"segments": [], "device_traces": [actions], "external_annotations": marks}
    write_trace(snapshot, tmp_path / "marks.peak")
    recording = peakline.open(tmp_path / "marks.peak")
    kinds = [one.kind for one in recording.events() if one.kind != "tracing_started"]
    assert kinds[:6] == [
        "segment_alloc",
        "phase_begin",
        "alloc",
        "free_requested",
        "phase_end",
        "free_completed",
    ]
    [phase] = [one for one in recording.phases() if one.name == "warm"]
    assert phase.peak_bytes == 512
    assert phase.begin_seconds == pytest.approx(0.001, abs=1e-6)
    [refused] = peakline.open(recording.path).oom().document["ooms"]
    assert (refused["device_request_bytes"], refused["free_bytes"]) == (1 << 30, 77)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"cos\nsystem\n(S'touch ran'\ntR.", "refers to os.system"),
        (b"cbuiltins\nlist\n(tR.", "not a pickle, or cut off"),
        (b"cbuiltins\neval\n(S'1'\ntR.", "refers to builtins.eval"),
        (b"not a pickle", "not a pickle, or cut off"),
        (pickle.dumps({"segments": []})[:-5], "not a pickle, or cut off"),
        (pickle.dumps([1, 2]), "no snapshot of torch"),
        (pickle.dumps({"segments": [{"blocks": 3}]}), "a segment of the snapshot is not one of"),
        (
            pickle.dumps({"segments": [], "device_traces": [[{"size": 1}]]}),
            "an action of the snapshot is not one of",
        ),
    ],
)
def test_what_is_no_snapshot_is_refused(
    lab: Any, tmp_path: Path, content: bytes, message: str
) -> None:
    (tmp_path / "bad.pickle").write_bytes(content)
    out = tmp_path / "bad.peak"
    done = lab.peakline("import", str(tmp_path / "bad.pickle"), "-o", str(out))
    assert done.returncode == 2
    assert message in done.stderr
    assert not list(tmp_path.glob("bad.peak*"))
    assert not Path("ran").exists()


def test_an_existing_file_stays(lab: Any, dumped: Any, tmp_path: Path) -> None:
    (tmp_path / "kept.peak").write_bytes(b"mine")
    done = lab.peakline("import", str(dumped[1]), "-o", str(tmp_path / "kept.peak"))
    assert done.returncode == 2
    assert "add --force" in done.stderr
    assert (tmp_path / "kept.peak").read_bytes() == b"mine"
    missing = lab.peakline("import", str(tmp_path / "nowhere.pickle"))
    assert missing.returncode == 2
    assert "No such file" in missing.stderr


def test_ranges_of_segments_join_and_part() -> None:
    layout = Layout(Rules())
    layout.add_segment(0, 100, joins=True)
    layout.add_segment(200, 100, joins=True)
    layout.add_segment(100, 100, joins=True)
    assert list(layout.segments) == [(0, 300, True)]
    layout.remove_segment(50, 100)
    assert list(layout.segments) == [(0, 50, True), (150, 300, True)]


def test_a_snapshot_without_a_key_is_named() -> None:
    with pytest.raises(UnreadableError, match="no snapshot of torch"):
        write_trace({"traces": []}, Path("/nowhere/x.peak"))
