"""`peakline.open()`: rows against the JSON they are made of, events against sums done by hand."""

from __future__ import annotations

import dataclasses
import json
import sys
import typing
from collections import defaultdict
from typing import Any

import pytest
from lab import ROOT

sys.path.insert(0, str(ROOT / "pyhook"))

import peakline  # noqa: E402
from peakline.recording import rows  # noqa: E402
from peakline.recording.events import Event  # noqa: E402


@pytest.fixture(scope="module")
def run(lab: Any) -> Any:
    return lab.once("train_model.py", "two_devices", device="h200x2")


@pytest.fixture(scope="module")
def recording(run: Any) -> peakline.Recording:
    return peakline.open(run.trace)


def plain(events: typing.Iterable[Event]) -> list[Event]:
    """Without the numbers of stacks, which count anew in every reading."""
    return [one._replace(stack_id=None, free_stack_id=None) for one in events]


REPORTS = {
    "table": ("rows", rows.TableRow),
    "stats": ("by_bytes", rows.AllocatorRow),
    "layers": ("layers", rows.LayerRow),
    "ops": ("ops", rows.OperatorRow),
    "stages": ("stages", rows.StageRow),
    "tensors": ("tensors", rows.TensorRow),
    "phases": ("phases", rows.PhaseRow),
    "timeline": ("points", rows.TimelinePoint),
    "ledger": ("parts", rows.LedgerRow),
}


def check_fields(kind: type, document: dict[str, Any]) -> None:
    """Every field of the JSON has one of the class, and what is nested as well."""
    hints = typing.get_type_hints(kind)
    names = {one.name.rstrip("_") for one in dataclasses.fields(kind)}
    optional = {"stack"} if kind is rows.TableRow else set()
    optional |= {"lines"} if kind is rows.LedgerRow else set()
    assert names - optional == set(document) - optional, kind
    for name, value in document.items():
        hint = hints.get(name)
        nested = [one for one in (hint, *typing.get_args(hint)) if dataclasses.is_dataclass(one)]
        for one in value if isinstance(value, list) else [value]:
            if nested and isinstance(one, dict):
                check_fields(typing.cast("type", nested[0]), one)


@pytest.mark.parametrize("name", REPORTS)
def test_rows_have_all_the_fields_of_the_json(recording: Any, name: str) -> None:
    key, kind = REPORTS[name]
    document = recording.document(name)
    assert document[key], name
    check_fields(kind, document[key][0])
    made = list(getattr(recording, name)())
    wanted = [rows.row_of(kind, one) for one in document[key]]
    if name == "phases":
        wanted = sorted(
            wanted + [rows.row_of(kind, one) for one in document["named"]],
            key=lambda one: (one.begin_seconds, -one.end_seconds),
        )
    if name == "timeline":
        assert len(made) == 1000
        return
    assert made == wanted


def test_stacks_are_locations(recording: Any) -> None:
    [first, *_] = recording.table(by="stack")
    assert first.stack
    assert all(isinstance(one, rows.Location) for one in first.stack)
    assert str(first.stack[0]).startswith(first.stack[0].file)


@pytest.fixture(scope="module")
def events(recording: Any) -> list[Event]:
    return list(recording.events())


def test_levels_of_events_are_the_sums_of_blocks(
    run: Any, recording: Any, events: list[Event]
) -> None:
    level: dict[int, int] = defaultdict(int)
    reserved: dict[int, int] = defaultdict(int)
    peak: dict[int, int] = defaultdict(int)
    live: dict[int, Event] = {}
    for event in events:
        if event.kind == "alloc":
            assert event.block not in live
            live[event.block] = event
            level[event.device] += event.bytes
        elif event.kind == "free":
            made = live.pop(event.block)
            level[event.device] -= event.bytes
            assert (made.bytes, made.address, made.line, made.stack_id) == (
                event.bytes,
                event.address,
                event.line,
                event.stack_id,
            )
        elif event.kind == "segment_alloc":
            reserved[event.device] += event.bytes
        elif event.kind == "segment_free":
            reserved[event.device] -= event.bytes
        if event.device is not None:
            assert event.allocated_bytes == level[event.device]
            assert event.reserved_bytes == reserved[event.device]
            peak[event.device] = max(peak[event.device], level[event.device])
    devices = recording.document("table")["devices"]
    assert dict(peak) == {one["device"]: one["peak_bytes"] for one in devices}
    assert len(peak) == 2


def test_blocks_of_events_say_what_tensors_says(recording: Any, events: list[Event]) -> None:
    def moment(seconds: float) -> int:
        return round(seconds * 1e9)  # JSON has fewer digits

    made = {
        (one.device, one.address, moment(one.seconds)): one for one in events if one.kind == "alloc"
    }
    for tensor in recording.tensors():
        event = made[tensor.device, tensor.address, moment(tensor.allocated_seconds)]
        assert event.bytes == tensor.block_bytes
        assert event.requested_bytes == tensor.requested_bytes
        assert event.line == tensor.made_at
        assert event.category == tensor.category
        assert event.lifetime == tensor.lifetime
    frames = [(one.file, one.line) for one in tensor.create_stack]
    reread = recording.events()
    [again] = [one for one in reread if one.event == event.event]
    assert [(one.file, one.line) for one in reread.stack(again.stack_id)] == frames


def test_a_part_of_the_run_has_the_events_of_its_phase(recording: Any, events: list[Event]) -> None:
    [phase] = [one for one in recording.phases() if one.name == "backward" and one.step == 1]
    within = list(recording.events(during="backward@1"))
    assert within
    first, last = within[0].event, within[-1].event
    assert plain(within) == plain(one for one in events if first <= one.event <= last)
    allocated = [one for one in within if one.kind == "alloc" and one.device == 0]
    assert sum(one.bytes for one in allocated) == phase.allocated_bytes
    middle = (phase.begin_seconds + phase.end_seconds) / 2
    later = list(recording.events(during=f"{middle}.."))
    assert plain(later) == plain(one for one in events if one.seconds >= middle)
    assert plain(recording.events(device=1)) == plain(
        one for one in events if one.device in (1, None)
    )


def test_calls_during_a_phase_are_those_that_begin_in_it(recording: Any) -> None:
    [phase] = [one for one in recording.phases() if one.name == "forward" and one.step == 1]

    def within(seconds: float) -> bool:
        return phase.begin_seconds <= seconds < phase.end_seconds

    ops = recording.ops()
    during = recording.ops(during="forward@1")
    assert list(during) == [one for one in ops if within(one.seconds)]
    assert 0 < len(during) < len(ops)
    stages = recording.stages(during="forward@1")
    assert 0 < len(stages) < len(recording.stages())
    assert {one.step for one in stages} == {1}
    [root] = [one for one in recording.layers(during="forward@1") if "." not in one.layer_name][:1]
    assert root.call_count == 1
    assert root.backward_bytes == 0
    assert root.peak_allocated <= phase.peak_bytes


def test_arrow_and_pandas_have_the_same_events(recording: Any, events: list[Event]) -> None:
    pytest.importorskip("pyarrow")
    table = recording.events().to_arrow()
    assert table.column_names == list(Event._fields)
    for got, event in zip(table.to_pylist(), events, strict=True):
        assert got.pop("time") == pytest.approx(event.time)
        got["shape"] = None if got["shape"] is None else tuple(got["shape"])
        assert got == {name: value for name, value in event._asdict().items() if name != "time"}
    pytest.importorskip("pandas")
    assert recording.events().to_pandas()["bytes"].max() == max(one.bytes or 0 for one in events)
    assert recording.table().to_pandas()["bytes"].sum() == recording.peak_bytes()
    assert recording.layers().to_arrow().num_rows == len(recording.layers())


def test_a_reader_may_stop_early(recording: Any, events: list[Event]) -> None:
    reader = iter(recording.events())
    assert [next(reader) for _ in range(3)] == events[:3]
    del reader


def test_the_command_prints_the_same(lab: Any, run: Any, recording: Any) -> None:
    done = lab.peakline("events", "--json", "--full-paths", str(run.trace))
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    full = recording.events(full_paths=True)
    # As JSON has it: a shape is a list.
    assert document["events"] == json.loads(json.dumps([one._asdict() for one in full]))
    text = lab.peakline(
        "events", "--during", "step@1", "--kind", "alloc", "--top", "2", str(run.trace)
    )
    assert text.stdout.count("  alloc  ") == 2
    assert "--top 0 shows all" in text.stdout
    wrong = lab.peakline("events", "--during", "nope", str(run.trace))
    assert wrong.returncode == 2
    assert "phase 'nope' is not in this trace" in wrong.stderr
    unknown = lab.peakline("events", "--kind", "allocs", str(run.trace))
    assert unknown.returncode == 2
    assert "no event is of kind 'allocs'" in unknown.stderr


def test_the_command_knows_the_kinds_of_the_engine(recording: Any) -> None:
    from peakline.commands.events import KINDS

    reader = recording.events()
    next(iter(reader))
    assert list(KINDS) == reader.names.kinds
    said = Event.__doc__ or ""
    assert [kind for kind in KINDS if f"``{kind}``" not in said] == []
