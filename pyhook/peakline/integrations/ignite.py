"""The handler for PyTorch Ignite: figures among the metrics of the engine, as GpuInfo has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ignite.distributed import get_rank
from ignite.engine import Events

from peakline.integrations.watch import KeepPage, Watch


class PeaklineHandler:
    """Adds the memory of the GPU to ``engine.state.metrics``.

    ``PeaklineHandler().attach(trainer)`` before the loggers are attached: they then find the
    figures of the same iteration.
    """

    def __init__(self, *, lines: int = 5, output: str = "", page: bool = True) -> None:
        """Begin to record, unless the process is recorded already.

        Args:
            lines: number of the largest lines at the peak in the metrics; 0: none.
            output: name of the trace if the recording begins here, with the placeholders of
                ``peakline run -o``.
            page: write the HTML page when the engine has completed.
        """
        self._watch = Watch(lines=lines, output=output, page=page)
        self._watch.begin()  # before the model is on the GPU

    def attach(
        self,
        engine: Any,
        event_name: Any = Events.ITERATION_COMPLETED,
        stores: Callable[[], Iterable[KeepPage]] = tuple,
    ) -> None:
        """Follow an engine.

        Args:
            engine: the engine that trains.
            event_name: when to read the figures: peaks count from the last time.
            stores: returns functions that take the page and store it.
        """
        engine.add_event_handler(Events.STARTED, lambda _: self._watch.begin_training())
        engine.add_event_handler(Events.EPOCH_STARTED, self._begin_epoch)
        engine.add_event_handler(Events.ITERATION_STARTED, self._begin_step)
        engine.add_event_handler(event_name, self._read)
        engine.add_event_handler(Events.EPOCH_COMPLETED, lambda _: self._watch.end_phases())
        engine.add_event_handler(Events.COMPLETED, lambda _: self._end(stores))

    def _begin_epoch(self, engine: Any) -> None:
        self._watch.begin_phase(f"epoch {engine.state.epoch}")

    def _begin_step(self, engine: Any) -> None:
        self._watch.begin_step(engine.state.iteration)

    def _read(self, engine: Any) -> None:
        engine.state.metrics.update(self._watch.figures(engine.state.iteration))

    def _end(self, stores: Callable[[], Iterable[KeepPage]]) -> None:
        self._watch.end_training(is_main=get_rank() == 0, stores=stores)
