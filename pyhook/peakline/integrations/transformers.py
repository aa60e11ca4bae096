"""The callback for transformers' Trainer, and for trainers that are made of it (trl)."""

from __future__ import annotations

import sys
from typing import Any

from transformers import TrainerCallback

from peakline.integrations import artifacts
from peakline.integrations.order import put_first_in
from peakline.integrations.watch import KeepPage, Watch


class PeaklineCallback(TrainerCallback):  # type: ignore[misc]
    """Adds the memory of the GPU to the logs of a Trainer.

    ``Trainer(..., callbacks=[PeaklineCallback()])`` is all that it needs. The figures go wherever
    the training loss goes: ``report_to``, ``trainer.state.log_history``, the terminal.
    """

    def __init__(self, *, lines: int = 5, output: str = "", page: bool = True) -> None:
        """Begin to record, unless the process is recorded already.

        Args:
            lines: number of the largest lines at the peak that are logged; 0: none.
            output: name of the trace if the recording begins here, with the placeholders of
                ``peakline run -o``.
            page: write the HTML page when the training ends.
        """
        self._watch = Watch(lines=lines, output=output, page=page)
        self._watch.begin()  # before the model is on the GPU

    def on_init_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Get in front of the loggers."""
        self._get_first()

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Begin to count."""
        self._get_first()
        self._watch.begin_training()

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Begin the phase of an epoch; epochs count from 1."""
        self._watch.end_phases()
        self._watch.begin_phase(f"epoch {int(round(state.epoch or 0, 6)) + 1}")

    def on_epoch_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """End the phase."""
        self._watch.end_phases()

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Mark a step; the Trainer's first is step 1."""
        self._watch.begin_step(state.global_step + 1)

    def on_log(
        self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **_: Any
    ) -> None:
        """Add the figures to the logs of training steps, not to those of evaluations."""
        if logs is None or "loss" not in logs or not state.is_world_process_zero:
            return
        figures: dict[str, float] = self._watch.figures(state.global_step)
        logs.update(figures)
        if state.log_history:  # the Trainer has copied the logs
            state.log_history[-1].update(figures)

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Write the page, and store it in W&B or MLflow if the Trainer logs there."""
        self._watch.end_training(
            is_main=state.is_world_process_zero, stores=lambda: _stores(args.report_to)
        )

    def _get_first(self) -> None:
        self._watch.harmless(lambda: put_first_in(self, "callbacks"), None)


def _stores(report_to: list[str]) -> list[KeepPage]:
    found: list[KeepPage] = []
    wandb, mlflow = sys.modules.get("wandb"), sys.modules.get("mlflow")
    if "wandb" in report_to and wandb is not None and wandb.run is not None:
        found.append(artifacts.in_wandb(wandb.run))
    run = mlflow.active_run() if "mlflow" in report_to and mlflow is not None else None
    if mlflow is not None and run is not None:
        found.append(artifacts.in_mlflow(mlflow.MlflowClient(), run.info.run_id))
    return found
