"""The shared part of all callbacks: trouble ends the watching, never the training."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from peakline.api import devices
from peakline.integrations import figures, order, recording, watch

FREE_OF_TRAINERS = """
import sys
import peakline.integrations.watch
heavy = {"torch", "transformers", "lightning", "pytorch_lightning", "accelerate", "ignite", "wandb",
         "mlflow", "numpy"}
print(sorted(heavy & set(sys.modules)))
"""


class Recorder:
    """Stands for the recorder: one GPU; `peak` is taken, `held` is now."""

    def __init__(self) -> None:
        self.peak = self.held = self.of_run = 0
        self.rows: list[tuple[str, int]] = []

    def status(self) -> dict[str, int]:
        return {"allocs": 1}

    def device_bytes(self, _device: int, _measure: int, peak: bool) -> int:
        return self.of_run if peak else self.held

    def take_peak_bytes(self) -> int:
        taken, self.peak = self.peak, self.held
        return taken


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    one = Recorder()
    monkeypatch.setattr(figures, "open_recorder", lambda: one)
    monkeypatch.setattr(figures.torch_support, "device_count", lambda: 1)
    monkeypatch.setattr(figures.torch_support, "reserved_bytes", lambda: 5)
    monkeypatch.setattr(figures, "_sizes_of_lines", lambda one: dict(one.rows))
    return one


def test_what_callbacks_share_imports_no_trainer() -> None:
    command = [sys.executable, "-c", FREE_OF_TRAINERS]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[]\n"


def test_without_a_gpu_one_line_reports_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(devices, "missing_device", lambda: "this machine has no GPU")
    monkeypatch.setattr(recording, "open_recorder", lambda: None)
    one = watch.Watch()
    one.begin()
    one.begin_training()
    one.begin_phase("epoch 1")
    assert one.figures(1) == {}
    one.end_training()
    assert [record.getMessage() for record in caplog.records] == [
        "nothing is recorded: this machine has no GPU (peakline run --simulate h200 SCRIPT"
        " simulates one)"
    ]


@pytest.mark.parametrize("error", [RuntimeError("mine"), OSError(28, "no space"), KeyError("x")])
def test_an_error_is_reported_once_and_ends_the_watching(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    def fails(*_: object) -> Any:
        raise error

    one = watch.Watch()
    monkeypatch.setattr(figures.Figures, "read", fails)
    assert one.figures(1) == {}
    assert one.figures(2) == {}
    one.end_training()
    [record] = caplog.records
    assert record.getMessage().startswith("memory is no longer logged: ")


def test_a_page_that_fails_is_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    trace = tmp_path / "run.peak"
    trace.write_bytes(b"no trace")
    watch._write_page(trace, lambda: pytest.fail("there is no page to store"))
    [record] = caplog.records
    assert "its page is missing: " in record.getMessage()
    assert list(tmp_path.iterdir()) == [trace]


def test_two_readers_of_peaks_get_the_whole_peak(recorder: Recorder) -> None:
    first, second = figures.Figures(lines=0), figures.Figures(lines=0)
    first.restart()
    second.restart()
    recorder.peak, recorder.held = 100, 30
    assert first.read(1)["peakline/peak_bytes"] == 100
    recorder.peak = 60
    assert first.read(2)["peakline/peak_bytes"] == 60
    assert second.read(2)["peakline/peak_bytes"] == 100
    assert second.read(3)["peakline/peak_bytes"] == 30


def test_growth_is_that_of_a_step(recorder: Recorder) -> None:
    one = figures.Figures(lines=0)
    recorder.held = 10
    assert "peakline/growth_bytes_per_step" not in one.read(5)
    recorder.held = 40
    assert one.read(15)["peakline/growth_bytes_per_step"] == 3
    assert "peakline/growth_bytes_per_step" not in one.read(15)


def test_the_names_of_lines_are_few_and_stay(recorder: Recorder) -> None:
    one = figures.Figures(lines=2)
    seen: set[str] = set()
    for peak in range(1, 40):
        recorder.of_run = peak
        recorder.rows = [(f"a.py_L{peak}", 3 * peak), (f"b.py_L{peak}", 2 * peak), ("c.py_L1", 1)]
        now = {name for name in one.read(peak) if "at_peak" in name}
        assert seen <= now
        seen = now
    assert len(seen) == 8
    assert one.read(40)["peakline/at_peak/a.py_L1"] == 0  # it holds nothing at this peak


def test_names_of_lines_have_only_what_loggers_accept() -> None:
    at = {"file": "/home/me/my model/été.py", "line": 7}
    assert figures._name_of({"key": "x", "location": at}) == "my_model/_t_.py_L7"
    native = {"key": "scale (libmine.so)", "location": {"file": "libmine.so", "line": None}}
    assert figures._name_of(native) == "scale_libmine.so_"


def test_a_callback_gets_in_front_of_the_loggers() -> None:
    called = []

    class Logger:
        def log(self) -> None:
            called.append("logger")

    class Ours:
        def log(self) -> None:
            called.append("ours")
            order.put_first_in(self, "callbacks")

    class Handler:
        def __init__(self) -> None:
            self.callbacks = [Logger(), Ours(), Logger()]

        def log(self) -> None:
            for one in self.callbacks:
                one.log()

    handler = Handler()
    handler.log()
    handler.log()
    assert called == ["logger", "ours", "logger", "ours", "logger", "logger"]
    Ours().log()  # in no list


def test_a_watch_goes_to_other_processes_before_it_begins() -> None:
    """Lightning's strategy `ddp_spawn` pickles the callbacks."""
    copy = pickle.loads(pickle.dumps(watch.Watch(lines=3)))
    assert copy.figures(1) == {}
