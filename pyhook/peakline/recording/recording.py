"""``peakline.open(path)``: every report of a trace as rows."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peakline.base.files import here
from peakline.recording import rows
from peakline.recording.events import Events
from peakline.recording.open_trace import OpenTrace
from peakline.recording.reports import Report

if TYPE_CHECKING:
    from collections.abc import Sequence


class Recording(OpenTrace):
    """A trace, with a method for each report. ``with peakline.open(path) as recording`` closes it.

    A method takes the options of the command of the same name, written with underscores, and
    returns all rows; ``top`` limits them. Every call reads the trace again, so a report of a
    running program shows its current state.

    Options that many reports share:

    * ``by``: the key of the rows: ``"line"``, ``"module"``, ``"category"`` ..., or two of them.
    * ``at``: the moment: ``"peak"``, ``"end"``, ``"oom"``, seconds, or a phase (``"backward@3"``).
    * ``during``: a part of the run: a phase, or ``"2..3.5"`` seconds.
    * ``device``: the number of a GPU, ``"all"``, ``"pinned"`` or ``"cpu"``; None: the GPU with the
      highest peak.
    * ``where``: conditions ``"category=activation"``; several of one key are alternatives.
    * ``frame``, ``hide``, ``symbols``, ``full_paths``: the line that represents a stack, files to
      skip, folders with symbols, absolute paths.
    * ``depth``, ``fold``: parts of module paths to keep; repeated layers in one row.

    Raises:
        peakline.TraceError: the trace allows no answer, or not with these options; the text
            suggests a fix.
        ValueError: the recording is closed.
    """

    def peak_bytes(self, device: int | str | None = None, measure: str = "allocated") -> int:
        """Return the exact peak of a device in bytes; default: the device with the highest peak."""
        peak: int = self.document("table", top=1, device=device, measure=measure)["peak_bytes"]
        return peak

    def table(
        self,
        *,
        by: str = "line",
        depth: int = 0,
        fold: bool = False,
        frame: str = "caller",
        hide: Sequence[str] | None = None,
        symbols: Sequence[str] | None = None,
        full_paths: bool = False,
        native: bool = False,
        where: Sequence[str] | str | None = None,
        at: str | float = "peak",
        during: str | None = None,
        device: int | str | None = None,
        measure: str = "allocated",
        top: int | None = None,
    ) -> Report[rows.TableRow]:
        """Return the memory that each line, or other key, holds at a moment, the largest first.

        ``measure``: ``"allocated"``, ``"requested"``, ``"reserved"`` or ``"device"`` bytes.

        >>> rows = recording.table(by="category", top=3)
        >>> sum(row.bytes for row in rows) <= recording.peak_bytes()
        True
        """
        return self.report("table", **_given(locals()))

    def summary(
        self,
        *,
        by: str = "line",
        depth: int = 0,
        fold: bool = False,
        frame: str = "caller",
        hide: Sequence[str] | None = None,
        symbols: Sequence[str] | None = None,
        full_paths: bool = False,
        native: bool = False,
        where: Sequence[str] | str | None = None,
        at: str | float = "peak",
        during: str | None = None,
        device: int | str | None = None,
        measure: str = "allocated",
        top: int | None = None,
    ) -> Report[rows.TableRow]:
        """Return the largest lines; its text also shows what ran and the peak of each device.

        >>> recording.summary().document["simulated"]
        'h200'
        """
        return self.report("summary", **_given(locals()))

    def stats(
        self,
        *,
        by: str = "line",
        depth: int = 0,
        fold: bool = False,
        frame: str = "caller",
        hide: Sequence[str] | None = None,
        symbols: Sequence[str] | None = None,
        full_paths: bool = False,
        native: bool = False,
        where: Sequence[str] | str | None = None,
        measure: str = "allocated",
        top: int | None = None,
    ) -> Report[rows.AllocatorRow]:
        """Return the bytes and blocks that each line, or other key, allocated over the whole run.

        >>> recording.stats()[0].bytes >= recording.stats()[1].bytes
        True
        """
        return self.report("stats", **_given(locals()))

    def phases(
        self,
        *,
        device: int | str | None = None,
        measure: str = "allocated",
        top: int | None = None,
    ) -> Report[rows.PhaseRow]:
        """Return every detected or named phase, in order of beginning.

        >>> "forward" in {row.name for row in recording.phases()}
        True
        """
        options = _given(locals())
        document = self._all_rows("phases", options)
        both = sorted(
            document["phases"] + document["named"],
            key=lambda one: (one["begin_seconds"], -one["end_seconds"]),
        )
        return Report(rows.PhaseRow, both, document, self._drawing("phases", options))

    def steps(
        self,
        *,
        device: int | str | None = None,
        measure: str = "allocated",
        top: int | None = None,
    ) -> Report[rows.PhaseRow]:
        """Return every step of the run; the text is that of `phases`.

        >>> [row.step for row in recording.steps()]
        [0, 1]
        """
        options = _given(locals())
        document = self._all_rows("phases", options)
        draw = self._drawing("phases", options)
        return Report(rows.PhaseRow, document["steps"], document, draw)

    def layers(
        self,
        *,
        depth: int = 0,
        fold: bool = False,
        during: str | None = None,
        device: int | str | None = None,
        top: int | None = None,
    ) -> Report[rows.LayerRow]:
        """Return what every module holds, and the peaks while it runs.

        >>> max(row.peak_allocated_bytes for row in recording.layers()) <= recording.peak_bytes()
        True
        """
        return self.report("layers", **_given(locals()))

    def ops(
        self,
        *,
        depth: int = 0,
        fold: bool = False,
        during: str | None = None,
        device: int | str | None = None,
        top: int | None = None,
    ) -> Report[rows.OperatorRow]:
        """Return every operator call that allocates, in order.

        >>> recording.ops(during="forward@0")[0].phase
        'forward'
        """
        return self.report("ops", **_given(locals()))

    def stages(
        self,
        *,
        depth: int = 0,
        fold: bool = False,
        during: str | None = None,
        device: int | str | None = None,
        top: int | None = None,
    ) -> Report[rows.StageRow]:
        """Return the levels before and after every module, backward pass and optimizer step.

        >>> recording.stages()[0].levels.allocated_bytes >= 0
        True
        """
        return self.report("stages", **_given(locals()))

    def tensors(
        self,
        *,
        where: Sequence[str] | str | None = None,
        frame: str = "caller",
        hide: Sequence[str] | None = None,
        symbols: Sequence[str] | None = None,
        full_paths: bool = False,
        depth: int = 0,
        fold: bool = False,
        at: str | float = "peak",
        during: str | None = None,
        device: int | str | None = None,
        measure: str = "allocated",
        min_bytes: int = 0,
        top: int | None = None,
    ) -> Report[rows.TensorRow]:
        """Return every block that is live at a moment, or with ``during`` in a part of the run.

        ``min_bytes`` leaves smaller blocks out.

        >>> all(row.bytes >= 4096 for row in recording.tensors(min_bytes=4096))
        True
        """
        return self.report("tensors", **_given(locals()))

    def holders(
        self,
        *,
        search: int = 0,
        frame: str = "caller",
        hide: Sequence[str] | None = None,
        symbols: Sequence[str] | None = None,
        full_paths: bool = False,
        top: int | None = None,
    ) -> Report[rows.HeldBlockRow]:
        """Return what keeps the largest blocks alive, as ``peakline run --hold`` found it.

        ``search``: its number, from 1; 0: the last one.

        >>> len(recording.holders())  # recorded without --hold
        Traceback (most recent call last):
            ...
        peakline.TraceError: ...
        """
        return self.report("holders", **_given(locals()))

    def oom(
        self,
        *,
        nth: int | None = None,
        frame: str = "caller",
        hide: Sequence[str] | None = None,
        symbols: Sequence[str] | None = None,
        full_paths: bool = False,
        top: int | None = None,
    ) -> Report[rows.RefusedRow]:
        """Return the reason why a device refused a request: no row, if none was refused.

        ``nth``: the number of the request, from 1; None: the last one.

        >>> len(recording.oom())
        0
        """
        options = _given(locals())
        if nth is not None and nth < 1:
            raise ValueError(f"nth={nth}: requests are counted from 1")
        del options["nth"]
        return self.report("oom", at="oom" if nth is None else f"oom@{nth}", **options)

    def ledger(
        self,
        *,
        at: str | float = "peak",
        frame: str = "caller",
        hide: Sequence[str] | None = None,
        symbols: Sequence[str] | None = None,
        full_paths: bool = False,
        device: int | str | None = None,
        top: int | None = None,
    ) -> Report[rows.LedgerRow]:
        """Return the parts that fill the whole device at a moment; the rest is unexplained.

        >>> sum(row.bytes for row in recording.ledger() if row.kind == "torch") > 0
        True
        """
        return self.report("ledger", **_given(locals()))

    def leaks(
        self,
        *,
        by: str = "line",
        depth: int = 0,
        fold: bool = False,
        frame: str = "caller",
        hide: Sequence[str] | None = None,
        symbols: Sequence[str] | None = None,
        full_paths: bool = False,
        native: bool = False,
        device: int | str | None = None,
        measure: str = "allocated",
        top: int | None = None,
    ) -> Report[rows.GrowthRow]:
        """Return what grows from step to step, the fastest first.

        >>> recording.leaks().document["is_too_short"]
        True
        """
        return self.report("leaks", **_given(locals()))

    def advise(
        self,
        *,
        frame: str = "caller",
        hide: Sequence[str] | None = None,
        symbols: Sequence[str] | None = None,
        full_paths: bool = False,
        device: int | str | None = None,
        measure: str = "allocated",
        top: int | None = None,
    ) -> Report[rows.AdviceRow]:
        """Return changes that would lower the peak, the largest gain first.

        >>> [row.title for row in recording.advise() if row.exact and row.saves_bytes == 0]
        []
        """
        return self.report("advise", **_given(locals()))

    def plan(
        self,
        peak_budget: int,
        *,
        layers: Sequence[str] = (),
        device: int | str | None = None,
        full_paths: bool = False,
    ) -> Report[rows.PlanRow]:
        """Return sets of layers to checkpoint, each the cheapest for its peak.

        ``peak_budget``: bytes for the blocks of torch's allocator. The plan for it is in
        ``document["plan"]``. ``layers``: predict this set instead of searching.

        >>> recording.plan(1 << 40).document["fits_as_it_is"]
        True
        """
        return self.report("plan", **_given(locals()))

    def whatif(
        self,
        settings: Sequence[str] = (),
        *,
        search_settings: bool = False,
        device_memory: int = 0,
        smallest_device: bool = False,
        empty_cache_at: str | None = None,
        unverified: bool = False,
        device: int | str | None = None,
        frame: str = "caller",
        hide: Sequence[str] | None = None,
        symbols: Sequence[str] | None = None,
        full_paths: bool = False,
        top: int | None = None,
    ) -> Report[rows.PredictedRow]:
        """Return the memory that the run would need under other settings of torch's allocator.

        ``settings``: each as PYTORCH_CUDA_ALLOC_CONF takes it; ``search_settings``: also those that
        help many programs. ``device_memory``: bytes of the device, 0: the recorded ones.
        ``smallest_device``: find the smallest device that fits. ``empty_cache_at``: a phase that
        begins with ``torch.cuda.empty_cache()``. ``unverified``: predict even if the model does not
        reproduce the recorded run.

        >>> [run] = recording.whatif(["expandable_segments:True"])
        >>> run.oom is None
        True
        """
        return self.report("whatif", **_given(locals()))

    def fragmentation(
        self,
        *,
        at: str | float = "peak",
        frame: str = "caller",
        hide: Sequence[str] | None = None,
        symbols: Sequence[str] | None = None,
        full_paths: bool = False,
        device: int | str | None = None,
        top: int | None = None,
    ) -> Report[rows.PinningRow]:
        """Return the lines that keep reserved bytes; its document has the cause of every byte.

        >>> document = recording.fragmentation().document
        >>> sum(document["causes"].values()) == document["reserved_bytes"]
        True
        """
        return self.report("fragmentation", **_given(locals()))

    def map(
        self,
        *,
        at: str | float = "peak",
        frame: str = "caller",
        hide: Sequence[str] | None = None,
        symbols: Sequence[str] | None = None,
        full_paths: bool = False,
        device: int | str | None = None,
        top: int | None = None,
    ) -> Report[rows.SegmentRow]:
        """Return torch's segments with their blocks and holes, by address.

        >>> all(row.bytes >= sum(hole.bytes for hole in row.holes) for row in recording.map())
        True
        """
        return self.report("map", **_given(locals()))

    def timeline(
        self,
        *,
        points: int = 1000,
        where: Sequence[str] | str | None = None,
        measure: str = "allocated",
        device: int | str = "all",
    ) -> Report[rows.TimelinePoint]:
        """Return the level over time, by default the sum of all GPUs.

        >>> max(point.max_bytes for point in recording.timeline()) == recording.peak_bytes()
        True
        """
        options = _given(locals())
        del options["points"]
        document = self.document("timeline", **options, top=points)
        draw = self._drawing("timeline", options)
        return Report(rows.TimelinePoint, document["points"], document, draw)

    def events(
        self,
        *,
        during: str | None = None,
        device: int | str | None = None,
        depth: int = 0,
        fold: bool = False,
        frame: str = "caller",
        hide: Sequence[str] | None = None,
        symbols: Sequence[str] | None = None,
        full_paths: bool = False,
    ) -> Events:
        """Return every event in order, read lazily; ``device`` None: of all devices.

        >>> sizes = [event.bytes for event in recording.events() if event.kind == "alloc"]
        >>> max(sizes) <= recording.peak_bytes()
        True
        """
        options = {"cwd": here(), **_given(locals())}
        return Events(lambda: self.trace, options)


def _given(names: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a call from the local names at its beginning."""
    return {name: value for name, value in names.items() if name != "self"}


def open(path: str | os.PathLike[str]) -> Recording:
    """Open a trace (``.peak``, or packed ``.peak.zst``) for its reports.

    >>> with peakline.open(path) as one:
    ...     peak_bytes = one.peak_bytes()
    >>> peak_bytes == recording.peak_bytes()
    True

    Raises:
        FileNotFoundError: there is no such file.
        peakline.TraceError: it is no trace, or nothing of it can be read; the text suggests a fix.
    """
    if not Path(path).exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
    return Recording(path)
