"""The memory of this process as a flat dict of names and numbers, for the loggers of trainers.

It reads the recorder of the process and changes nothing, not even torch's own peaks.
"""

from __future__ import annotations

import json
import re
import weakref
from typing import TYPE_CHECKING, Any

from peakline.api import torch_support
from peakline.integrations.recording import open_recorder

if TYPE_CHECKING:
    from types import ModuleType

PREFIX = "peakline"
# Characters that TensorBoard, MLflow and W&B all accept; they replace or refuse others.
_REPLACED = re.compile(r"[^\w./-]+", re.ASCII)
_NAMES_PER_LINE = 4  # names of lines in the whole run, for each of `lines`
_PATH_PARTS = 2  # of a file's path in the name of a line
_untaken: weakref.WeakKeyDictionary[Figures, int] = weakref.WeakKeyDictionary()


class Figures:
    """The figures of one reader: peaks and growth count from its last call."""

    def __init__(self, lines: int) -> None:
        """`lines`: number of the largest lines at the peak."""
        self._line_count = lines
        self._lines: dict[str, int] = {}
        self._peak_of_lines = 0
        self._last: tuple[int, int] | None = None  # step and bytes held

    def restart(self) -> None:
        """Count peaks from here."""
        self._last = None
        recorder = open_recorder()
        if recorder is not None:
            self._take_peak(recorder)

    def read(self, step: int) -> dict[str, float]:
        """Return the figures at the end of a step; none if nothing is recorded.

        ``peak_bytes`` is the highest level of all GPUs since the last call, ``at_peak`` has the
        lines that hold memory at the peak of the run so far.
        """
        recorder = open_recorder()
        if recorder is None or recorder.status()["allocs"] == 0:
            return {}
        device_count = torch_support.device_count()
        held = sum(recorder.device_bytes(one, 0, False) for one in range(device_count))
        found: dict[str, float] = {
            "peak_bytes": self._take_peak(recorder),
            "held_bytes": held,
            "reserved_bytes": torch_support.reserved_bytes(),
        }
        if self._last is not None and step > self._last[0]:
            found["growth_bytes_per_step"] = (held - self._last[1]) / (step - self._last[0])
        self._last = (step, held)
        if self._line_count > 0:
            self._update_lines(recorder, device_count)
        found.update({f"at_peak/{name}": size for name, size in self._lines.items()})
        return {f"{PREFIX}/{name}": value for name, value in found.items()}

    def _take_peak(self, recorder: ModuleType) -> int:
        """Return the peak since our last call, though other readers take it, too."""
        taken: int = recorder.take_peak_bytes()
        _untaken.setdefault(self, 0)
        for one in _untaken:
            _untaken[one] = max(_untaken[one], taken)
        mine = _untaken[self]
        _untaken[self] = 0
        return mine

    def _update_lines(self, recorder: ModuleType, device_count: int) -> None:
        """Read the lines at the peak of the run, if it is another peak than before."""
        peak = max(recorder.device_bytes(one, 0, True) for one in range(device_count))
        if peak == self._peak_of_lines:
            return
        self._peak_of_lines = peak
        sizes = _sizes_of_lines(recorder)
        largest = sorted(sizes, key=lambda name: -sizes[name])[: self._line_count]
        room = self._line_count * _NAMES_PER_LINE - len(self._lines)
        names = [*self._lines, *[one for one in largest if one not in self._lines][:room]]
        self._lines = {name: sizes.get(name, 0) for name in names}


def _sizes_of_lines(recorder: ModuleType) -> dict[str, int]:
    """Return the bytes of each line at the peak of the GPU that has the highest."""
    from peakline._report import Trace

    table = Trace(recorder.summary_trace()).report("table", json=True, at="peak", top=0)
    sizes: dict[str, int] = {}
    for row in json.loads(table)["rows"]:
        name = _name_of(row)
        sizes[name] = sizes.get(name, 0) + row["bytes"]
    return sizes


def _name_of(row: dict[str, Any]) -> str:
    """Return the name of a row: `gpt2/modeling_gpt2.py_L230`, or its key, such as `untraced`."""
    location, key = row["location"], row["key"]
    if location is not None and location["line"]:
        file = "/".join(location["file"].split("/")[-_PATH_PARTS:])
        key = f"{file}_L{location['line']}"
    return _REPLACED.sub("_", key)
