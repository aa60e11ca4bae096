"""Files that `import` must refuse: in one line, in the memory of the file, without a traceback."""

from __future__ import annotations

import copy
import io
import pickle
import resource
import struct
import subprocess
import sys
from collections import OrderedDict, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lab import ROOT

sys.path.insert(0, str(ROOT / "pyhook"))

import peakline  # noqa: E402
from peakline.base.ordered import Ordered, Ranges  # noqa: E402
from peakline.commands import main  # noqa: E402
from peakline.imports import frames as stack_frames  # noqa: E402
from peakline.imports import torch_snapshot, tracker_stats
from peakline.imports.plain_pickle import load_plain  # noqa: E402
from peakline.imports.writing import UnreadableError  # noqa: E402

FRAMES = [{"filename": "/a/model.py", "line": 7, "name": "forward"}]
SNAPSHOT: dict[str, Any] = {
    "segments": [
        {
            "device": 0,
            "address": 1 << 20,
            "total_size": 8192,
            "stream": 3,
            "is_expandable": False,
            "blocks": [
                {
                    "address": 1 << 20,
                    "size": 1024,
                    "requested_size": 1000,
                    "state": "active_allocated",
                    "frames": FRAMES,
                    "history": [{"real_size": 1000, "frames": FRAMES}],
                }
            ],
        }
    ],
    "device_traces": [
        [
            {"action": "segment_map", "addr": 1 << 30, "size": 1 << 20, "stream": 0, "time_us": 10},
            {
                "action": "alloc",
                "addr": 1 << 30,
                "size": 512,
                "stream": 0,
                "time_us": 11,
                "frames": FRAMES,
            },
            {"action": "free_requested", "addr": 1 << 30, "size": 512, "stream": 0, "time_us": 12},
            {"action": "free_completed", "addr": 1 << 30, "size": 512, "stream": 0, "time_us": 900},
            {"action": "oom", "size": 1 << 40, "device_free": 5, "stream": 0, "time_us": 901},
        ]
    ],
    "external_annotations": [{"stage": "START", "name": "warm", "device": 0, "time_us": 10}],
    "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"},
}
TRACKED: dict[str, Any] = {
    "memories_allocated": {0: ("net.forward.mm_0", 1.5), 1: ("net.forward.mm_1", 0.5)},
    "markers": {"fw_start": 0, "fw_bw_boundary": 1},
}
WRONG: list[Any] = [
    None,
    True,
    -1,
    1 << 63,
    (1 << 64) + 5,
    1.5,
    float("nan"),
    "cuda:0",
    b"bytes",
    [],
    [None],
    {},
    {"a": 1},
    (),
]


def places_in(value: Any) -> Iterator[list[Any]]:
    """Yield the path of everything in a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, one in inner:
        yield [key]
        if isinstance(one, (dict, list)):
            yield from ([key, *path] for path in places_in(one))


def with_one_wrong(value: Any) -> Iterator[tuple[str, Any]]:
    for path in places_in(value):
        for wrong in [*WRONG, "left out"]:
            changed = copy.deepcopy(value)
            at = changed
            for key in path[:-1]:
                at = at[key]
            if wrong == "left out":
                del at[path[-1]]
            else:
                at[path[-1]] = wrong
            yield f"{path} = {wrong!r}", changed


@pytest.mark.parametrize(
    ("whole", "write"),
    [(SNAPSHOT, torch_snapshot.write_trace), (TRACKED, tracker_stats.write_trace)],
    ids=["snapshot", "tracker"],
)
def test_a_file_with_one_wrong_field_is_refused_in_a_sentence_or_read_whole(
    tmp_path: Path, whole: Any, write: Any
) -> None:
    read = refused = 0
    for number, (how, changed) in enumerate(with_one_wrong(whole)):
        trace = tmp_path / f"{number}.peak"
        try:
            write(changed, trace)
        except UnreadableError as error:
            assert "\n" not in str(error), how
            refused += 1
        else:
            assert peakline.open(trace).info()["problems"] == [], how
            list(peakline.open(trace).events())
            read += 1
    assert read > 15
    assert refused > 50


def frame_of(*parts: bytes) -> bytes:
    return b"\x80\x04" + b"".join(parts) + b"."


def nested_tuples(levels: int) -> bytes:
    """A dictionary whose key is a tuple of the same tuple twice, and so on."""
    twice = b"".join(
        pickle.BINGET + b"\0" + pickle.BINGET + b"\0" + b"\x86q\0" for _ in range(levels)
    )
    return frame_of(b"}", b")q\0", twice, b"N", b"s")


HOSTILE = {
    "index of a memo": frame_of(b"Nr", struct.pack("<I", 10 << 24)),
    "highest index of a memo": frame_of(b"Nr", struct.pack("<I", 0x7FFFFFFF)),
    "bytes that are not there": frame_of(b"\x96", struct.pack("<Q", 1 << 38)),
    "text that is not there": frame_of(b"\x8d", struct.pack("<Q", 1 << 62)),
    "frame that is not there": frame_of(b"\x95", struct.pack("<Q", 1 << 62), b"N"),
    "number without end": frame_of(b"\x8b", struct.pack("<I", 1 << 20), b"\xff" * (1 << 20)),
    "nested keys": nested_tuples(60),
    "deep keys": frame_of(b"})", b"\x85" * 1_000_000, b"Ns"),
    "colliding keys": frame_of(
        b"}(",
        b"".join(
            b"\x8a\x0e" + (number * (2**61 - 1)).to_bytes(14, "little") + b"N"
            for number in range(2, 60_000)
        ),
        b"u",
    ),
    "marks": frame_of(b"(" * 100_000),
    "pops": frame_of(b"0" * 100),
    "frames named over and over": pickle.dumps(
        {
            "segments": [],
            "device_traces": [[{"action": "alloc", "addr": i, "size": 1} for i in range(9)]] * 50,
        }
    ),
    "blocks named over and over": pickle.dumps(
        {
            "segments": [
                {"address": 1, "total_size": 1, "blocks": blocks}
                for blocks in [[{"address": 1, "size": 1, "state": "x"}] * 5000]
                for _ in range(5000)
            ]
        }
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_pickle_is_refused_in_one_line_and_little_memory(
    tmp_path: Path, name: str
) -> None:
    file = tmp_path / "hostile.pickle"
    file.write_bytes(HOSTILE[name])

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (700 << 20, 700 << 20))
        resource.setrlimit(resource.RLIMIT_CPU, (100, 100))

    program = f"import sys; sys.path.insert(0, {str(ROOT / 'pyhook')!r});"
    program += "from peakline.commands import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", program, "import", str(file), "-o", str(tmp_path / "x.peak")]
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit, check=False)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    [line] = done.stderr.splitlines()
    assert line.startswith(f"peakline: error: {file}: ")
    assert list(tmp_path.iterdir()) == [file]


def test_a_stack_that_many_actions_name_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames = [{"filename": f"/a/{number}.py", "line": 1, "name": "f"} for number in range(3000)]
    actions = [
        {"action": "alloc", "addr": 512 * at, "size": 512, "frames": frames, "time_us": at}
        for at in range(1, 3000)
    ]
    asked: list[Any] = []
    read_frame = stack_frames._frame
    monkeypatch.setattr(stack_frames, "_frame", lambda one: asked.append(one) or read_frame(one))
    torch_snapshot.write_trace({"segments": [], "device_traces": [actions]}, tmp_path / "x.peak")
    assert len(asked) == 3000
    stacks = {one.stack_id for one in peakline.open(tmp_path / "x.peak").events() if one.block}
    assert len(stacks) == 1


def test_what_is_no_file_on_a_disk_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    huge = tmp_path / "huge.pickle"
    with huge.open("wb") as file:
        file.truncate(1 << 40)
    for path, words in (
        ("/dev/zero", "not a file on a disk"),
        (str(tmp_path), "no trace in this folder"),
        (str(huge), "1024 GiB, more than can be read"),
    ):
        assert main(["import", path, "-o", str(tmp_path / "x.peak")]) == 2
        [line] = capsys.readouterr().err.splitlines()
        assert path in line
        assert words in line


def test_plain_values_are_read_as_the_standard_library_reads_them() -> None:
    shared = [1, 2]
    values = [
        None,
        True,
        False,
        *(sign * (1 << bits) for bits in range(0, 120, 7) for sign in (1, -1)),
        1.5,
        float("inf"),
        "text \u20ac \ud800",
        "x" * 70_000,
        b"bytes" * 100,
        b"",
        (),
        (1,),
        (1, 2),
        (1, 2, 3),
        (1, 2, 3, 4),
        {1, "a"},
        frozenset({3}),
        [shared, shared, {"a": shared}],
        {number: [number] for number in range(3000)},
        {"a": {"b": ({},)}},
    ]
    for protocol in range(2, 6):
        # Protocols before the fourth have sets as calls, the second bytes, too.
        calls = (bytes, set, frozenset) if protocol < 3 else (set, frozenset)
        for value in [one for one in values if protocol > 3 or not isinstance(one, calls)]:
            assert load_plain(pickle.dumps(value, protocol)) == value
        assert load_plain(pickle.dumps(OrderedDict(a=1), protocol)) == {"a": 1}
        assert load_plain(pickle.dumps(defaultdict(float, {3: 1.5}), protocol)) == {3: 1.5}
        again = load_plain(pickle.dumps([shared, shared], protocol))
        assert again[0] is again[1]


def test_a_huge_snapshot_is_read_in_the_time_of_its_length(tmp_path: Path) -> None:
    """Addresses in falling order: each goes to the front of those that are known."""
    numbers = Ordered()
    for number in range(60_000, 0, -1):
        numbers.add(number)
    assert list(numbers) == list(range(1, 60_001))
    # No insertion moves more than a bucket.
    assert max(map(len, numbers._buckets)) <= 1024
    for number in range(1, 60_001, 2):
        numbers.discard(number)
    assert list(numbers) == list(range(2, 60_001, 2))
    assert (numbers.at_or_before(7), numbers.after(7), numbers.after(60_000)) == (6, 8, None)
    assert numbers.at_or_before(1) is None


def test_addresses_taken_out_leave_the_rest_of_every_range() -> None:
    ranges: Ranges[str] = Ranges()
    for begin, end, name in ((0, 100, "a"), (100, 200, "b"), (300, 400, "c"), (500, 600, "d")):
        ranges.put(begin, end, name)
    ranges.take_out(150, 550)
    assert list(ranges) == [(0, 100, "a"), (100, 150, "b"), (550, 600, "d")]
    ranges.take_out(20, 30)
    assert list(ranges)[:2] == [(0, 20, "a"), (30, 100, "a")]


def test_an_unread_pickle_is_never_executed(tmp_path: Path) -> None:
    class Touch:
        def __reduce__(self) -> Any:
            return Path.touch, (tmp_path / "ran",)

    for protocol in range(6):
        out = io.BytesIO()
        pickle.dump([Touch()], out, protocol)
        with pytest.raises(pickle.UnpicklingError):
            load_plain(out.getvalue())
    assert not (tmp_path / "ran").exists()
