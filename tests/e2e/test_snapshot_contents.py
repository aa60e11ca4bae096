"""What a snapshot of torch holds, and what its import makes of it."""

from __future__ import annotations

import gzip
import pickle
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from lab import ROOT

sys.path.insert(0, str(ROOT / "pyhook"))

import peakline  # noqa: E402
from peakline.commands import main  # noqa: E402
from peakline.imports.torch_snapshot import write_trace  # noqa: E402
from peakline.imports.writing import UnreadableError  # noqa: E402

MIB = 1 << 20
BASE = 0x7F0000000000


def frames(*of: tuple[str, int, str]) -> list[dict[str, Any]]:
    return [{"filename": file, "line": line, "name": name} for file, line, name in of]


def action(kind: str, size: int, time: int, **more: Any) -> dict[str, Any]:
    start = {"action": kind, "addr": BASE, "size": size, "stream": 0, "time_us": time}
    return {**start, "frames": [], **more}


def segment(size: int, *blocks: dict[str, Any], at: int = BASE, **more: Any) -> dict[str, Any]:
    return {
        "device": 0,
        "address": at,
        "total_size": size,
        "stream": 0,
        "blocks": list(blocks),
        **more,
    }


def block(size: int, requested: int, stack: Any = (), at: int = BASE, **more: Any) -> Any:
    state = "active_allocated" if requested else "inactive"
    start = {"address": at, "size": size, "requested_size": requested, "state": state}
    return {**start, "frames": list(stack), **more}


def imported(folder: Path, segments: list[Any], actions: list[Any], **more: Any) -> Any:
    path = folder / "made.peak"
    write_trace({"segments": segments, "device_traces": [actions], **more}, path)
    recording = peakline.open(path)
    assert recording.info()["problems"] == []
    return recording


def lines_of(recording: Any, by: str = "line") -> dict[str, int]:
    return {row.key: row.bytes for row in recording.table(by=by, full_paths=True)}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ("expandable_segments:True", ()),
        ("roundup_power2_divisions:4", ()),
        ("", ("pool",)),
    ],
)
def test_peaks_are_those_that_torch_counted_and_the_model_makes_the_run_again(
    lab: Any, tmp_path: Path, settings: str, words: tuple[str, ...]
) -> None:
    program = str(ROOT / "tests/programs/dumps_sizes.py")
    command = [lab.python, program, str(tmp_path / "s.pickle"), *words]
    run = lab.unrecorded(tmp_path, *command, environment={"PYTORCH_CUDA_ALLOC_CONF": settings})
    allocated, reserved = run.said
    write_trace(pickle.loads((tmp_path / "s.pickle").read_bytes()), tmp_path / "s.peak")
    recording = peakline.open(tmp_path / "s.peak")
    assert recording.peak_bytes() == allocated
    said = peakline.open(tmp_path / "s.peak").whatif(["max_split_size_mb:200"]).document
    assert said["verified"], said["first_difference"]
    assert said["recorded_reserved_peak_bytes"] == reserved
    tags = lines_of(recording, "tag")
    assert tags["weights"] >= 2 * 700 * 2100 * 4
    # torch keeps a dictionary as its JSON; it belongs to the thread, backward has another one.
    assert set(tags) == {"weights", '{"part":"loop"}', "no tag"}


def test_a_snapshot_without_actions_is_the_state_of_one_moment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    size = 64 * MIB
    segments = [
        segment(
            size,
            block(size, size, frames(("/w/m.py", 3 + at, "load")), BASE + at * size),
            at=BASE + at * size,
        )
        for at in range(3)
    ]
    recording = imported(tmp_path, segments, [])
    assert lines_of(recording) == {f"/w/m.py:{line} (load)": size for line in (3, 4, 5)}
    assert main(["map", str(recording.path)]) == 0
    assert "192.0 MB reserved in 3 segments, largest hole 0 B" in capsys.readouterr().out
    assert main(["fragmentation", str(recording.path)]) == 0
    assert "192.0 MB  100.0  live" in capsys.readouterr().out
    for command in ("phases", "leaks", "advise", "oom", "stats"):
        assert main([command, str(recording.path)]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert f"{recording.path} is the state of one moment" in err
        assert err.count("\n") == 1


def test_frames_of_unwinders_are_left_out_and_those_of_notebooks_stay(tmp_path: Path) -> None:
    of_torch = frames(
        ("??", 0, "torch::unwind::unwind()"),
        ("??", 0, "torch::CapturedTraceback::gather(bool, bool, bool)"),
        ("memory_snapshot.cpp", 0, "torch::cuda::(anonymous namespace)::gather_with_cpp()"),
        ("libpeakline_torch.so", 0, "??"),
        ("??", 0, "at::TensorBase at::detail::_empty_generic<long>(c10::ArrayRef<long>)"),
        ("??", 0, "at::native::mm_out()"),
        ("??", 0, "torch::autograd::generated::AddmmBackward0::apply()"),
    )
    of_cell = frames(
        ("/p/torch/nn/modules/linear.py", 134, "forward"),
        ("<ipython-input-3-a1b2>", 5, "<module>"),
        ("/p/IPython/core/interactiveshell.py", 3553, "run_code"),
    )
    for stack, line in (
        (of_torch, "?? (at::native::mm_out())"),
        (of_cell, "<ipython-input-3-a1b2>:5 (<module>)"),
        (frames(("<stdin>", 1, "f"), ("libc.so", 0, "main")), "<stdin>:1 (f)"),
    ):
        for old in tmp_path.iterdir():
            old.unlink()
        actions = [action("segment_alloc", 20 * MIB, 1), action("alloc", MIB, 2, frames=stack)]
        assert lines_of(imported(tmp_path, [segment(20 * MIB)], actions)) == {line: MIB}


def test_compiled_code_has_the_lines_that_the_snapshot_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = 'File "net.py", line 9, in forward\n    x = self.up(x)\nFile "up.py", line 3, in up\n'
    [graph] = frames(("fx_generated_1.py", 5, "forward"))
    by_inductor = frames((f"/cache/x/c{'a' * 51}.py", 7, "call"), ("net.py", 4, "forward"))
    blocks = [
        block(MIB, MIB, [{**graph, "fx_original_trace": kept}, *frames(("net.py", 8, "forward"))]),
        block(MIB, MIB, by_inductor, BASE + MIB, compile_context="Torch-Compiled Region: 0/0"),
    ]
    recording = imported(tmp_path, [segment(2 * MIB, *blocks)], [])
    assert lines_of(recording, "stack") == {
        "fx_generated_1.py:5 (forward) <- up.py:3 (up) <- net.py:9 (forward)"
        " <- net.py:8 (forward)": MIB,
        f"/cache/x/c{'a' * 51}.py:7 (call) <- net.py:4 (forward)": MIB,
    }
    assert lines_of(recording) == {"up.py:3 (up)": MIB, "net.py:4 (forward)": MIB}
    assert "(compiled Torch-Compiled Region: 0/0)" in lines_of(recording, "tag")
    monkeypatch.chdir(tmp_path)
    for name, held in (("graph", blocks[:1]), ("inductor", blocks)):
        content = {"segments": [segment(2 * MIB, *held)], "device_traces": []}
        Path(f"{name}.pickle").write_bytes(pickle.dumps(content))
        assert main(["import", f"{name}.pickle"]) == 0
        is_warned = "its modules are unknown" in capsys.readouterr().out
        assert is_warned == (name == "inductor")


def test_stacks_of_the_state_are_those_of_live_blocks(tmp_path: Path) -> None:
    stack = frames(("/w/train.py", 7, "main"))
    actions = [action("segment_alloc", 20 * MIB, 1), action("alloc", 20 * MIB, 2)]
    state = [segment(20 * MIB, block(20 * MIB, 20 * MIB, stack))]
    assert lines_of(imported(tmp_path, state, actions)) == {"/w/train.py:7 (main)": 20 * MIB}


def test_sizes_are_those_of_the_state_and_of_the_settings(tmp_path: Path) -> None:
    half = MIB // 2
    freed = [action(kind, 39 * half, 5) for kind in ("free_requested", "free_completed")]
    empty = segment(20 * MIB, block(20 * MIB, 0))
    assert imported(tmp_path, [empty], freed).peak_bytes() == 20 * MIB  # nothing was split off
    (tmp_path / "made.peak").unlink()
    mapped = [action("segment_map", 40 * MIB, 1), action("alloc", 79 * half, 2), *freed]
    piece = segment(40 * MIB, block(40 * MIB, 0), is_expandable=True)
    assert imported(tmp_path, [piece], mapped).peak_bytes() == 79 * half  # 512 KiB was
    (tmp_path / "made.peak").unlink()
    made = [action("segment_alloc", 64 * MIB, 1), action("alloc", 18 * MIB, 2)]
    state = segment(64 * MIB, block(20 * MIB, 18 * MIB))
    assert imported(tmp_path, [state], made).peak_bytes() == 20 * MIB
    (tmp_path / "made.peak").unlink()
    rounding = {"roundup_power2_divisions": {str(1 << at): 8 for at in range(16)}}
    gone = [*made, *(action(kind, 18 * MIB, 5) for kind in ("free_requested", "free_completed"))]
    assert (
        imported(tmp_path, [segment(64 * MIB)], gone, allocator_settings=rounding).peak_bytes()
        == 18 * MIB
    )  # a multiple of 2 MiB, an eighth of 16
    (tmp_path / "made.peak").unlink()
    rounding["roundup_power2_divisions"] = {str(1 << at): 4 for at in range(16)}
    assert (
        imported(tmp_path, [segment(64 * MIB)], gone, allocator_settings=rounding).peak_bytes()
        == 20 * MIB
    )


def test_frees_without_completions_are_whole(tmp_path: Path) -> None:
    kinds = ("segment_alloc", "alloc", "free_requested", "alloc", "free_requested")
    actions = [action(kind, 20 * MIB, 10 * at) for at, kind in enumerate(kinds, 1)]
    recording = imported(tmp_path, [segment(20 * MIB, block(20 * MIB, 0))], actions)
    levels = [one.allocated_bytes for one in recording.events() if one.block is not None]
    assert levels == [20 * MIB, 0, 20 * MIB, 0]


def test_pinned_memory_is_a_device_of_its_own(tmp_path: Path) -> None:
    host = [action("segment_alloc", 4 * MIB, 1), action("alloc", 4 * MIB, 2)]
    state = [segment(4 * MIB, block(4 * MIB, 4 * MIB), device=-1)]
    more = {"host_traces": host, "host_segments": state}
    recording = imported(tmp_path, [], [action("segment_alloc", MIB, 1)], **more)
    assert [row.bytes for row in recording.table(device="pinned", by="device")] == [4 * MIB]


@pytest.mark.parametrize(
    "wrong",
    [
        {"segments": [], "device_traces": [None]},
        {"segments": [], "device_traces": [{"a": 1}]},
        {"segments": [[]], "device_traces": []},
        {"segments": [segment(1, device="cuda:0")], "device_traces": []},
        {"segments": [segment(-1)], "device_traces": []},
        {"segments": [], "device_traces": [[action("alloc", 1 << 63, 1)]]},
        {"segments": [], "device_traces": [[action("alloc", -1, 1)]]},
        {"segments": [], "device_traces": [[action("alloc", 1, 1, user_metadata={})]]},
        {"segments": [], "device_traces": [[action("segment_alloc", 1, 1, pool_id=(1,))]]},
    ],
)
def test_a_malformed_file_is_refused_in_a_sentence(tmp_path: Path, wrong: Any) -> None:
    with pytest.raises(UnreadableError, match="is not one of torch's"):
        write_trace(wrong, tmp_path / "wrong.peak")


def test_a_pickle_in_place_of_a_trace_leads_to_import(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    content = pickle.dumps({"segments": [segment(MIB, block(MIB, MIB))], "device_traces": []})
    Path("a.pickle").write_bytes(content)
    Path("b.pickle.gz").write_bytes(gzip.compress(content))
    for name in ("a.pickle", "b.pickle.gz"):
        for command in ("table", "map", "html"):
            assert main([command, name]) == 2
            [line] = capsys.readouterr().err.splitlines()
            assert line.endswith(f"make one of it: peakline import {name}")
        assert main(["import", name]) == 0
        assert main(["table", f"{name[0]}.peak"]) == 0
        assert "1.000 MB" in capsys.readouterr().out
    Path("zeros.pickle.gz").write_bytes(gzip.compress(bytes(64 * MIB)))
    tracemalloc.start()
    assert main(["import", "zeros.pickle.gz"]) == 2
    assert tracemalloc.get_traced_memory()[1] < 16 * MIB
    tracemalloc.stop()
    capsys.readouterr()
    Path("cut.pickle.gz").write_bytes(gzip.compress(content)[:-20])
    assert main(["import", "cut.pickle.gz"]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "not a file of gzip, or cut off" in line
