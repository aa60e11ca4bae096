"""The tracing API: what a program calls to record itself.

Every function is safe to call in a program that runs under ``peakline run``: the recorder is then
already in place and the calls refine what it records. None of them changes what the program
computes; errors of use raise :class:`RecorderError` with what to do instead.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, cast

from peakline.api import assumptions
from peakline.api.log import logger
from peakline.base.output import write_report
from peakline.text.document import plain_text

if TYPE_CHECKING:
    from types import ModuleType

_told: set[str] = set()
# library_path() was asked for: the program may load the plain allocator interface by hand.
_plain_allocator_wanted = False


class RecorderError(RuntimeError):
    """The recorder cannot do what was asked; the text says what to do instead."""


@dataclass(frozen=True)
class Status:
    """State and counters of this process's recorder. Counts are of records, sizes in bytes.

    ``baseline_corrections`` counts the times torch's own total differed from the recorded blocks
    (memory allocated before recording began); ``note`` says why something is not recorded.
    """

    is_on: bool
    is_tracing: bool
    has_python_stacks: bool
    allocator_is_ours: bool
    backend: str
    note: str
    allocs: int
    frees: int
    unknown_frees: int
    records_dropped: int
    bytes_dropped: int
    baseline_corrections: int
    stack_table_full: int
    trace_bytes: int
    trace_events: int


@dataclass(frozen=True)
class TraceFile:
    """A trace being written by :func:`trace`."""

    path: Path


@dataclass(frozen=True)
class Assumption:
    """A rule made by :func:`assume`; leaving its ``with`` block takes it back."""

    rule: str

    def __enter__(self) -> Assumption:
        """Return the rule."""
        return self

    def __exit__(self, *_: object) -> None:
        """Take the rule back."""
        with contextlib.suppress(RecorderError):
            _recorder().assume_no_more(self.rule)


def library_path() -> str:
    """Return the path of the native library.

    It also has the plain allocator interface::

        torch.cuda.memory.CUDAPluggableAllocator(
            peakline.library_path(), "peakline_malloc", "peakline_free")

    With it, call :func:`start_tracing` and the rest instead of :func:`switch_allocator`.
    """
    from peakline.builds.native_build import NATIVE_FOLDER

    path = NATIVE_FOLDER / "libpeakline.so"
    if not path.exists():
        raise RecorderError(f"{path} is missing: build it with `make build` or `pip install .`")
    global _plain_allocator_wanted
    _plain_allocator_wanted = True
    # torch calls the plain allocator without the GIL; the interpreter is verified now, with it.
    _recorder().attach_python()
    return str(path)


def switch_allocator() -> None:
    """Put the recorder in place of torch's CUDA allocator (which keeps doing the work).

    After ``import torch``, at any time; :func:`start_tracing` and :func:`trace` call it. Where CUDA
    is initialised already, torch's allocator stays and is observed. What is allocated before
    :func:`start_tracing` is reported as ``untraced``. Under ``peakline run`` it does nothing: the
    recorder is already there. Builds the part for the installed torch on first use (about ten
    seconds, once per torch version).

    Raises:
        RecorderError: torch is not imported, or has no CUDA support.
    """
    recorder = _recorder()
    if recorder.status()["is_on"]:
        return
    from peakline.api import torch_support
    from peakline.builds.native_build import BuildError

    if torch_support.preloaded():
        # The bootstrap puts the recorder in place when CUDA comes up, and opens the run's trace.
        torch_support.initialise_cuda()
        if recorder.status()["is_on"]:
            return
    try:
        torch_support.prepare()
    except BuildError as error:
        _tell_once(error.in_short())
    try:
        is_late = recorder.switch_allocator()
    except recorder.RecorderError as error:
        raise RecorderError(str(error)) from None
    if is_late:
        from peakline.api import late_start

        late_start.adopt_held_memory(recorder)


def start_tracing() -> None:
    """Begin a traced range: levels and peaks count from here. May be repeated.

    Puts the recorder in place where :func:`switch_allocator` was not called.
    """
    if _plain_allocator_wanted:
        recorder = recorder_that_is_on("start_tracing")
    else:
        switch_allocator()
        recorder = recorder_that_is_on("start_tracing")
    recorder.start_tracing()
    recorder.safe_point(recorder.LOOK)
    _tell_if_replaced()


def stop_tracing() -> None:
    """End the traced range. Blocks made from here on are ``untraced``."""
    recorder = recorder_that_is_on("stop_tracing")
    recorder.safe_point(recorder.LOOK)
    recorder.stop_tracing()


def reset() -> None:
    """Forget peaks and totals; the live set stays. Like ``torch.cuda.reset_peak_memory_stats``."""
    recorder_that_is_on("reset").reset_peaks()


@contextlib.contextmanager
def trace(path: str | os.PathLike[str], *, overwrite: bool = False) -> Iterator[TraceFile]:
    """Record the ``with`` block into a trace file.

    Args:
        path: the file to write, by custom ``NAME.peak``; folders above it are made.
        overwrite: replace an existing file instead of raising ``FileExistsError``.

    Under ``peakline run``, where a trace of the whole process is being written already, the block
    becomes a phase of that trace, named after ``path``.
    """
    switch_allocator()
    recorder = recorder_that_is_on("trace")
    target = Path(path)
    # Under `peakline run` the trace is opened by the first record: this one.
    mark(f"trace {target}")
    if recorder.trace_path():
        _tell_once(f"already recording to {recorder.trace_path()}: {target} becomes a phase of it")
        with phase(target.name):
            yield TraceFile(Path(recorder.trace_path()))
        return
    try:
        recorder.open_trace(str(target), overwrite)
    except FileExistsError:
        raise FileExistsError(
            f"{target} exists: name another file, or pass overwrite=True to replace it"
        ) from None
    was_tracing = bool(recorder.status()["is_tracing"])
    recorder.start_tracing()
    try:
        yield TraceFile(target.absolute())  # the block may leave this folder
    finally:
        recorder.safe_point(recorder.LAST_LOOK)
        if not was_tracing:
            recorder.stop_tracing()
        recorder.close_trace()


@contextlib.contextmanager
def phase(name: str) -> Iterator[None]:
    """Name a part of the run, for ``--at NAME``. Phases nest; no recorder: nothing happens.

    One that is open when CUDA is initialised, or when a trace is opened, begins with the trace.
    """
    _mark("PHASE_BEGIN", name)
    try:
        yield
    finally:
        _mark("PHASE_END", name)


def step(name: str | None = None) -> None:
    """Mark the beginning of a training step; the last one before a trace is its first.

    Where no optimizer makes steps, ``run --hold N`` looks at the end of the Nth of these.
    """
    if os.environ.get("PEAKLINE_HOLD"):  # else nobody asks, and a look at each step costs
        with contextlib.suppress(RecorderError):
            recorder = _recorder()
            recorder.safe_point(recorder.STEP_MARK)  # the step before has ended
    _mark("STEP", name)


def mark(text: str) -> None:
    """Write a note into the trace at this moment; ``peakline phases`` lists them.

    One made before CUDA is initialised stands at the beginning of the trace.
    """
    _mark("NOTE", text)


def assume(where: str, value: float | bool | str) -> Assumption:
    """Say what is read from a simulated GPU, whose kernels compute nothing.

    Args:
        where: ``"train.py:57"``, any line of the stack that reads, or an operator: ``"nonzero"``,
            ``"masked_select"``, ``"unique"``, ``"repeat_interleave"``, ``"item"``.
        value: the number that is read. For sizes (``nonzero``, boolean masks, ``unique`` ...) a
            whole number is the count, and a float up to 1.0 or ``"25%"`` the fraction of the
            elements searched.

    It holds from now on, or with ``with`` for the block::

        with peakline.assume("nonzero", 0.25):
            hidden = tokens[mask]

    A line wins over an operator, a later call over an earlier. Without a simulated GPU nothing
    happens. ``peakline run --assume WHERE=VALUE`` is the same from outside.
    """
    rule = f"{where}={value}"
    if problem := assumptions.problem_of(rule):
        raise ValueError(problem)
    with contextlib.suppress(RecorderError):
        if not _recorder().assume(rule):
            raise ValueError(f"'{rule}' is one rule too many: take earlier ones back with `with`")
    return Assumption(rule)


def status() -> Status:
    """Return state and counters of this process's recorder."""
    return Status(**cast("dict[str, object]", _recorder().status()))  # type: ignore[arg-type]


def report_stats(
    *,
    measure: str = "allocated",
    by: str = "line",
    frame: str = "caller",
    at: str = "peak",
    device: int | str | None = None,
    top: int = 0,
    file: TextIO | None = None,
) -> None:
    """Print the table of what holds the memory at the peak of the traced ranges. Needs no file.

    Args:
        measure: ``"allocated"`` (block sizes, as ``torch.cuda.max_memory_allocated``) or
            ``"requested"`` (what was asked for, before rounding).
        by: ``"line"``, or another key of ``peakline table --by`` that needs no single events.
        frame: ``"caller"`` for the innermost line outside torch, ``"leaf"`` for the innermost
            Python line, ``"user"`` for the innermost outside libraries.
        at: ``"peak"`` or ``"end"`` (now).
        device: device number, ``"all"`` for the sum of the GPUs, ``"pinned"`` or ``"cpu"`` for
            memory of the host, or None for the GPU with the highest peak.
        top: number of rows, 0 for all.
        file: where to print, default standard output.
    """
    import peakline._report as report

    recorder = recorder_that_is_on("report_stats")
    _tell_if_replaced()
    summary = report.Trace(recorder.summary_trace())
    chosen = None if device is None else str(device)
    if recorder.status()["allocs"] == 0:
        text = _no_memory_text()
    else:
        document = summary.document(
            "table",
            by=by,
            frame=frame,
            at=at,
            measure=measure,
            device=chosen,
            top=top,
            cwd=str(Path.cwd()),
        )
        text = plain_text(document)
    write_report(text if text.endswith("\n") else f"{text}\n", file)


def _no_memory_text() -> str:
    from peakline.api.devices import missing_device

    missing = "" if os.environ.get("PEAKLINE_SIMULATED") else missing_device()
    reason = f": {missing} (peakline run --simulate h200 SCRIPT simulates one)" if missing else ""
    return f"No CUDA memory was allocated{reason}\n"


def _recorder() -> ModuleType:
    try:
        import peakline._recorder as recorder
    except ImportError as error:
        raise RecorderError(
            f"the native part of peakline cannot be loaded ({error}): "
            "build it with `make build` or `pip install .`"
        ) from None
    return recorder


def recorder_that_is_on(caller: str) -> ModuleType:
    """Return the recorder for this function of the API; raises RecorderError when it is off."""
    recorder = _recorder()
    if not recorder.status()["is_on"]:
        from peakline.api import torch_support

        # Under `peakline run` the recorder starts with CUDA; a call before that brings it up.
        if torch_support.preloaded():
            torch_support.initialise_cuda()
        elif _plain_allocator_wanted:
            recorder.use_plain_allocator()
    if not recorder.status()["is_on"]:
        raise RecorderError(
            f"peakline.{caller}() needs the recorder: call peakline.start_tracing() first, "
            "or run the program with `peakline run`"
        )
    return recorder


def _mark(kind: str, name: str | None) -> None:
    with contextlib.suppress(RecorderError):
        recorder = _recorder()
        recorder.mark(getattr(recorder, kind), name)


def _tell_if_replaced() -> None:
    if not _recorder().status()["allocator_is_ours"]:
        _tell_once(
            "the program replaced the allocator after peakline.switch_allocator(): its own "
            "allocations are not recorded"
        )


def _tell_once(text: str) -> None:
    if text not in _told:
        _told.add(text)
        logger().warning("%s", text)
