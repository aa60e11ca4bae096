"""Sentences about growth, of a made-up `leaks` document."""

from __future__ import annotations

from typing import Any

import pytest
from peakline.recording import growth

MIB = 1 << 20


class MadeTrace:
    """Its start only: the documents below need nothing else of a trace."""

    def info(self) -> dict[str, Any]:
        return {"start_realtime_ns": 7}


def lines(monkeypatch: pytest.MonkeyPatch, event_count: int = 1, **document: object) -> list[str]:
    nothing = {"growth": [], "reserved_growth": None, "follows_inputs": [], "peak_bytes": 0}
    made = {**nothing, "unit": "step", **document}
    monkeypatch.setattr(growth, "leaks_document", lambda _trace, _options: made)
    trace: Any = MadeTrace()
    return growth.growth_lines(trace, event_count)


def row(key: str = "train.py:31 (f)", **fields: object) -> dict[str, Any]:
    usual = {"is_certain": True, "bytes_per_step": 12 * MIB, "steps_per_rise": 1}
    return {"key": key, "location": None, **usual, **fields}


def test_the_fastest_line_and_the_number_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def of(*rows: dict[str, Any], unit: str = "step") -> list[str]:
        return lines(monkeypatch, growth=list(rows), unit=unit)

    one = "grows 12.00 MB per step at train.py:31 (f)"
    unsure = row(is_certain=False)
    assert of(row()) == [one]
    assert of(unsure) == of() == []
    assert of(unsure, row(), row("b")) == [f"{one} (and 1 more line)"]
    assert of(row(), row("b"), row("c")) == [f"{one} (and 2 more lines)"]
    assert of(row(steps_per_rise=2), unit="pass") == [
        "grows 12.00 MB per forward pass (every 2 forward passes) at train.py:31 (f)"
    ]


def test_a_long_trace_is_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lines(monkeypatch, 20_000_000, growth=[row()]) != []
    assert lines(monkeypatch, 20_000_001, growth=[row()]) == []


def test_reserved_memory_that_grows_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"begin_bytes": MIB, "end_bytes": 3 * MIB, "allocated_bytes": 512, "is_certain": True}
    found |= {"sentence": "no step frees it", "rows": []}
    text = (
        "reserved memory grows from 1.000 MB to 3.000 MB while allocated is never above 512 B,"
        " no step frees it"
    )
    assert lines(monkeypatch, reserved_growth=found) == [text]
    made_at = {**found, "rows": [row("first"), row("second")]}
    assert lines(monkeypatch, reserved_growth=made_at) == [f"{text}; made at first"]
    assert lines(monkeypatch, reserved_growth={**found, "is_certain": False}) == []


def test_a_line_that_follows_its_inputs_shows_from_a_tenth_of_the_peak(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = [
        {"key": f"{name} (f)", "sentence": f"{name} rises", "total_bytes": size}
        for name, size in (("a", 9), ("b", 10), ("c", 3))
    ]
    assert lines(monkeypatch, follows_inputs=rows, peak_bytes=100) == [
        "b rises at b: it grows because its inputs do"
    ]
    assert lines(monkeypatch, follows_inputs=rows, peak_bytes=101) == []


def test_the_code_of_a_line_is_shown_if_it_is_known() -> None:
    def at(code: str | None, *, line: int | None = 2, native: bool = False) -> str:
        location = {"file": "train.py", "line": line, "native": native, "code": code}
        return growth.location_of(row("t.py:2 (f)", location=location))

    assert at("losses += y") == "t.py:2 losses += y"
    assert at(None) == at(None, line=None) == at(None, native=True) == "t.py:2 (f)"


def test_the_report_is_read_as_json_and_without_findings() -> None:
    class Reporting(MadeTrace):
        def report(self, name: str, *, json: bool, **options: object) -> str:
            assert (name, json, options) == ("leaks", True, {"findings": False, "cwd": "/w"})
            return '{"rows": 3}'

    trace: Any = Reporting()
    assert growth.leaks_document(trace, {"cwd": "/w"}) == {"rows": 3}
