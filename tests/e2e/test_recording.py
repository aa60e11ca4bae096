"""`peakline.open()`: rows against the JSON they are made of, events against sums done by hand."""

from __future__ import annotations

import argparse
import builtins
import dataclasses
import inspect
import json
import re
import sys
import typing
from collections import defaultdict
from typing import Any

import pytest
from lab import ROOT

sys.path.insert(0, str(ROOT / "pyhook"))

import peakline  # noqa: E402
from peakline.commands.shared.reports import REPORTS  # noqa: E402
from peakline.recording import Event, rows  # noqa: E402
from peakline.recording.reports import FORMS  # noqa: E402


@pytest.fixture(scope="module")
def run(lab: Any) -> Any:
    return lab.once("train_model.py", "two_devices", device="h200x2")


@pytest.fixture(scope="module")
def recording(run: Any) -> peakline.Recording:
    return peakline.open(run.trace)


def plain(events: typing.Iterable[Event]) -> list[Event]:
    """Without the numbers of stacks, which count anew in every reading."""
    return [one._replace(stack_id=None, free_stack_id=None) for one in events]


# Nested lists of a report that its rows leave to `document`.
ONLY_IN_JSON = {
    rows.TableRow: {"stack"},  # with by="stack"
    rows.LedgerRow: {"lines"},
    rows.RefusedRow: {"rows", "categories", "pins", "holders"},
    rows.PredictedRow: {"first_step"},
    rows.HolderPath: {"block_count"},
}
# Programs whose recordings have rows of these reports; any other report has some of any training.
RUNS_OF = {
    "leaks": ("grows.py", ["global_cache"], []),
    "oom": ("refused_requests.py", ["fragmented"], []),
    "holders": ("keeps_alive.py", [], []),
    "plan": ("plan_one.py", [], []),
}
OPTIONS_OF: dict[str, dict[str, Any]] = {
    "whatif": {"settings": ["expandable_segments:True"]},
    "plan": {"peak_budget": 1 << 30},
}


def check_fields(kind: type, document: dict[str, Any]) -> None:
    """Every field of the JSON has one of the class, and what is nested as well."""
    hints = typing.get_type_hints(kind)
    names = {rows.json_name(one): one.name for one in dataclasses.fields(kind)}
    optional = ONLY_IN_JSON.get(kind, set())
    assert names.keys() - optional == document.keys() - optional, kind
    for key in names.keys() & document.keys():
        hint, value = hints[names[key]], document[key]
        nested = [one for one in (hint, *typing.get_args(hint)) if dataclasses.is_dataclass(one)]
        for one in value if isinstance(value, list) else [value]:
            if nested and isinstance(one, dict):
                check_fields(typing.cast("type", nested[0]), one)


@pytest.mark.parametrize("name", FORMS)
def test_rows_have_all_the_fields_of_the_json(lab: Any, recording: Any, name: str) -> None:
    if name in RUNS_OF:
        program, arguments, options = RUNS_OF[name]
        recording = peakline.open(lab.once(program, *arguments, options=options).trace)
    form, options = FORMS[name], OPTIONS_OF.get(name, {})
    document = recording.document(name, **options)
    objects = form.objects(document)
    assert objects, name
    check_fields(form.kind, objects[0])
    made = list(getattr(recording, name)(**options))
    wanted = [rows.row_of(form.kind, one) for one in objects]
    if name == "phases":
        wanted = sorted(
            wanted + [rows.row_of(form.kind, one) for one in document["named"]],
            key=lambda one: (one.begin_seconds, -one.end_seconds),
        )
    if name == "timeline":
        assert len(made) == 1000
        return
    assert made == wanted


# Options of a command that have another name in Python.
RENAMED = {"oom": {"at": "nth"}, "timeline": {"top": "points"}}
# Compares two moments, as diff does, and is no report of the engine.
COMPARED = {"leaks": {"since"}}
OF_THE_SCREEN = {"help", "files", "plain", "no_color", "json", "fail_on_growth"}


@pytest.mark.parametrize("command", REPORTS, ids=lambda one: one.name)
def test_a_method_takes_the_options_of_its_command(command: Any) -> None:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    shown = [one for one in parser._actions if one.help is not argparse.SUPPRESS]
    renamed = RENAMED.get(command.name, {})
    names = {renamed.get(one.dest, one.dest) for one in shown} - OF_THE_SCREEN
    names -= COMPARED.get(command.name, set())
    method = getattr(peakline.Recording, command.name)
    assert names == {*inspect.signature(method).parameters} - {"self"}
    defaults = {renamed.get(one.dest, one.dest): one.default for one in shown}
    for option in set(names) - {"top", "points", "nth"}:
        default = inspect.signature(method).parameters[option].default
        assert (default or None) == (defaults[option] or None), option


def test_an_option_that_a_report_lacks_is_a_type_error(recording: Any) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'search'"):
        recording.layers(search=3)
    with pytest.raises(TypeError, match="device_memory"):
        recording.table(device_memory=5)


def test_a_closed_recording_gives_no_report(run: Any) -> None:
    with peakline.open(run.trace) as recording:
        table, events = recording.table(), recording.events()
    assert recording.path == run.trace
    for use in (recording.table, recording.info, recording.peak_bytes, lambda: list(events)):
        with pytest.raises(ValueError, match=r"run\.peak is closed"):
            use()
    assert table[0].bytes > 0
    assert "is closed" in repr(table)


def test_errors_have_public_types(tmp_path: Any, recording: Any) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        peakline.open(tmp_path / "none.peak")
    assert missing.value.filename == str(tmp_path / "none.peak")
    (tmp_path / "text.peak").write_text("no trace")
    with pytest.raises(peakline.TraceError):
        peakline.open(tmp_path / "text.peak")
    with pytest.raises(peakline.TraceError, match="nothere"):
        recording.table(at="nothere")


def test_a_star_import_leaves_the_builtins_alone() -> None:
    names: dict[str, Any] = {}
    exec("from peakline import *", names)
    assert not {*names} & {*dir(builtins)} - {"__builtins__", "__doc__", "__name__"}
    assert "open" in dir(peakline)


@pytest.mark.parametrize("name", ["table", "layers", "tensors", "advise", "ledger"])
def test_a_report_shows_the_text_of_its_command(
    lab: Any, run: Any, recording: Any, name: str, monkeypatch: Any
) -> None:
    monkeypatch.chdir(lab.folder)  # paths are shown relative to it
    report = getattr(recording, name)()
    assert repr(report) == lab.report(name, run.trace).rstrip("\n")
    html, markdown = report._repr_html_(), report.to_markdown()
    lines = [line for line in markdown.splitlines() if line.startswith("| ")]
    cells = sum(len(re.findall(r"(?<!\\)\|", line)) - 1 for line in lines)
    assert cells == html.count("<td") + 2 * html.count("<th")  # heads, and the rule below them
    assert cells > 0 or name == "advise"
    assert report.to_dict() == recording.document(name)


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
    [root] = [one for one in recording.layers(during="forward@1") if "." not in one.name][:1]
    assert root.call_count == 1
    assert root.backward_bytes == 0
    assert root.peak_allocated_bytes <= phase.peak_bytes


def test_arrow_and_pandas_have_the_same_events(recording: Any, events: list[Event]) -> None:
    pytest.importorskip("pyarrow")
    table = recording.events().to_arrow()
    assert table.column_names == list(Event._fields)
    for got, event in zip(table.to_pylist(), events, strict=True):
        assert got.pop("time") == pytest.approx(event.time)
        got["shape"] = None if got["shape"] is None else tuple(got["shape"])
        assert got == {name: value for name, value in event._asdict().items() if name != "time"}
    pandas = pytest.importorskip("pandas")
    frame = recording.events().to_pandas()
    assert frame["bytes"].max() == max(one.bytes or 0 for one in events)
    for got, event in zip(frame["address"], events, strict=True):
        assert event.address is None if got is pandas.NA else got == event.address
    assert (str(frame["address"].dtype), str(frame["step"].dtype)) == ("UInt64", "UInt32")
    assert str(frame["time"].dtype) == "datetime64[ns, UTC]"
    assert abs(frame["time"].iloc[-1].timestamp() - events[-1].time) < 1e-5
    dtypes = recording.tensors().to_pandas().dtypes.astype(str)
    assert (dtypes["address"], dtypes["bytes"], dtypes["held_by"]) == ("uint64", "int64", "string")
    assert str(recording.phases().to_pandas()["step"].dtype) == "Int64"
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
