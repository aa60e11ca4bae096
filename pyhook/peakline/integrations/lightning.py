"""The callback for Lightning's Trainer, under both names of the package."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import TYPE_CHECKING, Any

from peakline.integrations import artifacts
from peakline.integrations.watch import KeepPage, Watch

if TYPE_CHECKING:
    from lightning.pytorch import Callback
else:
    # A Trainer accepts the callbacks of either package; importing both would take long.
    _NAMES = ("lightning.pytorch", "pytorch_lightning")
    _LOADED = [name for name in _NAMES if name in sys.modules]
    _FOUND = [name for name in _NAMES if importlib.util.find_spec(name.partition(".")[0])]
    Callback = importlib.import_module([*_LOADED, *_FOUND, *_NAMES][0]).Callback


class PeaklineCallback(Callback):  # type: ignore[misc,unused-ignore]
    """Logs the memory of the GPU to the loggers of a Lightning Trainer.

    ``Trainer(..., callbacks=[PeaklineCallback()])`` is all that it needs.
    """

    def __init__(
        self, *, per: str = "step", lines: int = 5, output: str = "", page: bool = True
    ) -> None:
        """Prepare; recording begins with the Trainer's run, in each of its processes.

        Args:
            per: ``"step"``: every ``log_every_n_steps``; ``"epoch"``: at the end of each.
            lines: number of the largest lines at the peak that are logged; 0: none.
            output: name of the trace if the recording begins here, with the placeholders of
                ``peakline run -o``.
            page: write the HTML page when the training ends.
        """
        if per not in ("step", "epoch"):
            raise ValueError(f"per is 'step' or 'epoch', not {per!r}")
        self._per = per
        self._watch = Watch(lines=lines, output=output, page=page)

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Begin to record, before the model is on the GPU."""
        if stage == "fit":
            self._watch.begin()

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """Begin to count."""
        self._watch.begin_training()

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """Begin the phase of an epoch; epochs count from 1."""
        self._watch.end_phases()
        self._watch.begin_phase(f"epoch {trainer.current_epoch + 1}")

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        """Begin the phase of a validation; within an epoch it is a part of the epoch."""
        self._watch.begin_phase("validation")

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """End the phase."""
        self._watch.end_phase()

    def on_train_batch_start(
        self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int
    ) -> None:
        """Mark a step; the first is step 1."""
        self._watch.harmless(lambda: self._watch.begin_step(_batches(trainer) + 1), None)

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Log when the Trainer logs."""
        if self._per == "step":
            self._watch.harmless(lambda: _log_step(self._watch, trainer), None)

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Log an epoch, and end its phase."""
        if self._per == "epoch":
            self._watch.harmless(lambda: _log(self._watch, trainer), None)
        self._watch.end_phases()

    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        """Write the page, and store it in W&B or MLflow if the Trainer logs there."""
        self._watch.end_training(is_main=trainer.is_global_zero, stores=lambda: _stores(trainer))


def _log_step(watch: Watch, trainer: Any) -> None:
    if trainer._logger_connector.should_update_logs:
        _log(watch, trainer)


def _log(watch: Watch, trainer: Any) -> None:
    # Lightning's own DeviceStatsMonitor logs this way, with this step. Loggers drop the
    # figures of ranks other than 0.
    step = _batches(trainer)
    figures = watch.figures(step)
    for logger in trainer.loggers if figures else ():
        logger.log_metrics(figures, step=step)


def _batches(trainer: Any) -> int:
    batches: int = trainer.fit_loop.epoch_loop._batches_that_stepped
    return batches


def _stores(trainer: Any) -> list[KeepPage]:
    found: list[KeepPage] = []
    for logger in trainer.loggers:
        kind = type(logger).__name__
        if kind == "WandbLogger":
            found.append(artifacts.in_wandb(logger.experiment))
        elif kind == "MLFlowLogger":
            found.append(artifacts.in_mlflow(logger.experiment, logger.run_id))
    return found
