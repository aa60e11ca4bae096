"""``MemoryTracker`` of torch.distributed._tools: levels after every operator, saved and drawn."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

from peakline.base.output import write_lines
from peakline.compat.window import Window
from peakline.exports.references import tracker_document
from peakline.imports.plain_pickle import load_plain

_RULER = "-" * 48
_MARKED = "fw_bw_boundary"


class MemoryTracker:
    """Tracks allocated, active and reserved memory, in MB of 1024 * 1024 bytes."""

    def __init__(self) -> None:
        """Prepare; nothing is recorded before `start_monitor`."""
        self._window = Window()
        # The curves of a loaded file, or of a finished part.
        self._finished: dict[str, Any] | None = None
        self._retries = 0

    def start_monitor(self, root_module: Any) -> None:
        """Begin. The module is not touched: a recording knows modules without hooks."""
        assert not self._window.is_running, "start_monitor() was called already"
        del root_module
        self._window, self._finished = Window(), None
        self._retries = _retries_so_far()
        self._window.start()

    def stop(self) -> None:
        """End."""
        self._window.stop()
        self._retries = _retries_so_far() - self._retries

    @property
    def memories_allocated(self) -> dict[int, tuple[str, float]]:
        """Allocated memory after each operator: its name, MB."""
        series: dict[int, tuple[str, float]] = self._document()["memories_allocated"]
        return series

    @property
    def memories_active(self) -> dict[int, tuple[str, float]]:
        """Active memory after each operator: its name, MB."""
        series: dict[int, tuple[str, float]] = self._document()["memories_active"]
        return series

    @property
    def memories_reserved(self) -> dict[int, tuple[str, float]]:
        """Reserved memory after each operator: its name, MB."""
        series: dict[int, tuple[str, float]] = self._document()["memories_reserved"]
        return series

    def summary(self, top: int = 20) -> None:
        """Print the number of retries, and the operators with the largest increases."""
        document = self._document()
        series = document["memories_allocated"]
        added = [(series[i][0], series[i][1] - series[i - 1][1]) for i in series if i - 1 in series]
        added.sort(key=lambda one: -one[1])
        write_lines(
            _RULER,
            f"The number of alloc retries are: {document['num_alloc_retries']}",
            f"Top {top} ops that generates memory are:",
            *(f"{name}: {delta}MB" for name, delta in added[:top]),
            _RULER,
        )

    def show_traces(self, path: str = "") -> None:
        """Draw the three curves together, then each alone; loads `path` first if it is given."""
        import matplotlib.pyplot as plt

        if path:
            self.load(path)
        document = self._document()
        curves = {
            f"{name}_memory": [one[1] for one in document[f"memories_{name}"].values()]
            for name in ("allocated", "active", "reserved")
        }
        for shown in (list(curves), *([name] for name in curves)):
            plt.figure()
            values = [value for name in shown for value in curves[name]] or [0]
            for name in shown:
                plt.plot(curves[name], label=name)
            for name, index in document["markers"].items():
                color = "r" if name.startswith(_MARKED) else "k"
                bounds = (0.999 * min(values), 1.001 * max(values))
                plt.plot([index, index], bounds, color, lw=2, label=name)
            plt.xlabel("# Operator Calls")
            plt.ylabel("Memory (MB)")
            plt.legend()
        plt.show()

    def save_stats(self, path: str) -> None:
        """Save the curves for `load`, here or in torch's own class."""
        Path(path).write_bytes(pickle.dumps(self._document(), protocol=4))

    def load(self, path: str) -> None:
        """Read a file of `save_stats`, here or in torch's own class. Executes nothing."""
        document = load_plain(Path(path).read_bytes())
        document.setdefault("op_index", len(document["memories_allocated"]))
        self._finished = document

    def _document(self) -> dict[str, Any]:
        if self._finished is not None:
            return self._finished
        document = tracker_document(self._window.recording(), self._window.asked())
        document["num_alloc_retries"] = self._retries
        self._finished = None if self._window.is_running else document
        return document


def _retries_so_far() -> int:
    import torch

    if not torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        return 0
    retries: int = torch.cuda.memory_stats().get("num_alloc_retries", 0)
    return retries
