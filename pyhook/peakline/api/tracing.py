"""The tracing API: functions that a program calls to record itself.

Every function is safe to call in a program that runs under ``peakline run``: the recorder is then
already in place and the calls refine its recording. No function changes the results of the program.
Wrong use raises :class:`RecorderError`, whose text suggests a fix.
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

if TYPE_CHECKING:
    from types import ModuleType

_logged: set[str] = set()
# True after library_path(): the program may load the plain allocator interface by hand.
_plain_allocator_wanted = False


class RecorderError(RuntimeError):
    """The recorder cannot do this; the text suggests a fix."""


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
    """A trace that :func:`trace` writes."""

    path: Path


@dataclass(frozen=True)
class Assumption:
    """A rule made by :func:`assume`; leaving its ``with`` block removes it."""

    rule: str

    def __enter__(self) -> Assumption:
        """Return the rule."""
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the rule."""
        with contextlib.suppress(RecorderError):
            _recorder().assume_no_more(self.rule)


def library_path() -> str:
    """Return the path of the native library.

    The library also has the plain allocator interface::

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
    # torch calls the plain allocator without the GIL, so check the interpreter now, while we hold
    # it.
    _recorder().attach_python()
    return str(path)


def switch_allocator() -> None:
    """Put the recorder in place of torch's CUDA allocator, which keeps doing the work.

    Call it at any time after ``import torch``; :func:`start_tracing` and :func:`trace` call it. If
    CUDA is already initialised, torch's allocator stays and is observed. Memory allocated before
    :func:`start_tracing` is reported as ``untraced``. Under ``peakline run`` it does nothing: the
    recorder is already there. The first use builds the part for the installed torch (about ten
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
        # The bootstrap installs the recorder when CUDA initialises, and opens the trace of the run.
        torch_support.initialise_cuda()
        if recorder.status()["is_on"]:
            return
    try:
        torch_support.prepare()
    except BuildError as error:
        _log_once(error.in_short())
    try:
        is_late = recorder.switch_allocator()
    except recorder.RecorderError as error:
        raise RecorderError(str(error)) from None
    if is_late:
        from peakline.api import late_start

        late_start.adopt_held_memory(recorder)


def start_tracing() -> None:
    """Begin a traced range: levels and peaks count from here. May be called again.

    Installs the recorder unless :func:`switch_allocator` did.
    """
    if _plain_allocator_wanted:
        recorder = recorder_that_is_on("start_tracing")
    else:
        switch_allocator()
        recorder = recorder_that_is_on("start_tracing")
    recorder.start_tracing()
    recorder.safe_point(recorder.LOOK)
    _log_if_replaced()


def stop_tracing() -> None:
    """End the traced range. Blocks allocated after it are ``untraced``."""
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
        path: the file to write, usually ``NAME.peak``; missing folders are created.
        overwrite: replace an existing file instead of raising ``FileExistsError``.

    Under ``peakline run``, which already writes a trace of the whole process, the block becomes a
    phase of that trace, named after ``path``.
    """
    switch_allocator()
    recorder = recorder_that_is_on("trace")
    target = Path(path)
    # Under `peakline run` the first record opens the trace: this mark.
    mark(f"trace {target}")
    if recorder.trace_path():
        _log_once(f"already recording to {recorder.trace_path()}: {target} becomes a phase of it")
        with phase(target.name):
            yield TraceFile(Path(recorder.trace_path()))
        return
    was_tracing = bool(recorder.status()["is_tracing"])
    begin_trace(target, overwrite=overwrite)
    try:
        yield TraceFile(target.absolute())  # the block may change the working directory
    finally:
        end_trace(stop=not was_tracing)


def begin_trace(path: Path, *, overwrite: bool) -> None:
    """Open a trace file and begin a traced range in it; :func:`end_trace` ends both."""
    switch_allocator()
    recorder = recorder_that_is_on("trace")
    try:
        recorder.open_trace(str(path), overwrite)
    except FileExistsError:
        raise FileExistsError(
            f"{path} exists: name another file, or pass overwrite=True to replace it"
        ) from None
    recorder.start_tracing()


def end_trace(*, stop: bool = True) -> None:
    """Close the trace file; by default the traced range ends with it."""
    recorder = recorder_that_is_on("trace")
    recorder.safe_point(recorder.LAST_LOOK)
    if stop:
        recorder.stop_tracing()
    recorder.close_trace()


def trace_path() -> str:
    """Return the file that this process is recorded to, or ''."""
    return str(_recorder().trace_path())


@contextlib.contextmanager
def phase(name: str) -> Iterator[None]:
    """Name a part of the run, for ``--at NAME``. Phases nest. Without a recorder it does nothing.

    A phase that is open when CUDA is initialised, or when a trace is opened, begins with the trace.
    """
    _mark("PHASE_BEGIN", name)
    try:
        yield
    finally:
        _mark("PHASE_END", name)


def step(name: str | None = None) -> None:
    """Mark the beginning of a training step; the last mark before a trace opens is its first step.

    If no optimizer makes steps, ``run --hold N`` searches for holders at the end of the Nth step.
    """
    # otherwise nothing reads the result, and a scan per step costs time
    if os.environ.get("PEAKLINE_HOLD"):
        with contextlib.suppress(RecorderError):
            recorder = _recorder()
            recorder.safe_point(recorder.STEP_MARK)  # the previous step has ended
    _mark("STEP", name)


def mark(text: str) -> None:
    """Write a note into the trace at this moment; ``peakline phases`` lists notes.

    A note made before CUDA is initialised appears at the beginning of the trace.
    """
    _mark("NOTE", text)


def assume(where: str, value: float | bool | str) -> Assumption:
    """Set the value of reads from a simulated GPU, whose kernels compute nothing.

    Args:
        where: ``"train.py:57"``, any line of the stack that reads, or an operator: ``"nonzero"``,
            ``"masked_select"``, ``"unique"``, ``"repeat_interleave"``, ``"item"``.
        value: the number that is read. For sizes (``nonzero``, boolean masks, ``unique`` ...) a
            whole number is the count, and a float up to 1.0 or ``"25%"`` the fraction of the
            searched elements.

    The rule holds from now on, or within a ``with`` block::

        with peakline.assume("nonzero", 0.25):
            hidden = tokens[mask]

    A line wins over an operator, a later call over an earlier one. Without a simulated GPU nothing
    happens. ``peakline run --assume WHERE=VALUE`` does the same from outside the program.
    """
    rule = f"{where}={value}"
    if where == assumptions.ROUTING:
        raise ValueError(f"a routing holds for a whole run: peakline run --assume {rule}")
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
    """Print the lines that hold memory at the peak of the traced ranges. Needs no file.

    Args:
        measure: ``"allocated"`` (block sizes, as ``torch.cuda.max_memory_allocated``) or
            ``"requested"`` (bytes requested, before rounding).
        by: ``"line"``, or another key of ``peakline table --by`` that needs no single events.
        frame: ``"caller"`` for the innermost line outside torch, ``"leaf"`` for the innermost
            Python line, ``"user"`` for the innermost line outside libraries.
        at: ``"peak"`` or ``"end"`` (now).
        device: device number, ``"all"`` for the sum of the GPUs, ``"pinned"`` or ``"cpu"`` for
            memory of the host, or None for the GPU with the highest peak.
        top: number of rows, 0 for all.
        file: output stream, default standard output.
    """
    import peakline._report as report
    from peakline.text.document import plain_text

    recorder = recorder_that_is_on("report_stats")
    _log_if_replaced()
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
    """Return the recorder for this function of the API.

    Raises:
        RecorderError: the recorder is off.
    """
    recorder = _recorder()
    if not recorder.status()["is_on"]:
        from peakline.api import torch_support

        # Under `peakline run` the recorder starts with CUDA; an earlier call initialises CUDA.
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


def _log_if_replaced() -> None:
    if not _recorder().status()["allocator_is_ours"]:
        _log_once(
            "the program replaced the allocator after peakline.switch_allocator(): its own "
            "allocations are not recorded"
        )


def _log_once(text: str) -> None:
    if text not in _logged:
        _logged.add(text)
        logger().warning("%s", text)
