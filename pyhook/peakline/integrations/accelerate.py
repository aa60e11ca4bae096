"""The tracker for accelerate: ``Accelerator(log_with=["tensorboard", PeaklineTracker()])``."""

from __future__ import annotations

import sys
from typing import Any

from accelerate.state import PartialState
from accelerate.tracking import GeneralTracker

from peakline.integrations import artifacts
from peakline.integrations.order import owner_of, put_first_in
from peakline.integrations.watch import KeepPage, Watch


class PeaklineTracker(GeneralTracker):  # type: ignore[misc]
    """Adds the memory of the GPU to each ``accelerator.log(...)``, for the other trackers."""

    name = "peakline"
    requires_logging_directory = False
    main_process_only = False  # every rank is recorded; the other trackers log on the main one

    def __init__(self, *, lines: int = 5, output: str = "", page: bool = True) -> None:
        """Begin to record, unless the process is recorded already.

        Args:
            lines: number of the largest lines at the peak that are logged; 0: none.
            output: name of the trace if the recording begins here, with the placeholders of
                ``peakline run -o``.
            page: write the HTML page at ``accelerator.end_training()``.
        """
        super().__init__()
        self._watch = Watch(lines=lines, output=output, page=page)
        self._watch.begin()  # before the model is on the GPU
        self._others: list[Any] = []
        self._log_count = 0

    @property
    def tracker(self) -> PeaklineTracker:
        """This object; nothing else tracks."""
        return self

    def start(self) -> None:
        """Begin to count, and get in front: at the end the others have to be open."""
        self._watch.harmless(self._meet_others, None)
        self._watch.begin_training()

    def store_init_configuration(self, values: dict[str, Any]) -> None:
        """Store nothing."""

    def log(self, values: dict[str, Any], step: int | None = None, **_: Any) -> None:
        """Log the figures with the other trackers, with the step of the values."""
        self._log_count += 1
        self._watch.harmless(lambda: self._log(step), None)

    def log_images(self, *_: Any, **__: Any) -> None:
        """Store nothing."""

    def finish(self) -> None:
        """Write the page, and store it in W&B or MLflow if they are among the trackers."""
        is_main = PartialState().is_main_process
        self._watch.end_training(is_main=is_main, stores=lambda: _stores(self._others))

    def _meet_others(self) -> None:
        put_first_in(self, "trackers")
        accelerator = owner_of(self, "trackers")
        self._others = [one for one in accelerator.trackers if one is not self]

    def _log(self, step: int | None) -> None:
        figures = self._watch.figures(self._log_count if step is None else step)
        for other in self._others if figures else ():
            # W&B would end its step here, without the values that follow.
            more = {"commit": False} if other.name == "wandb" else {}
            other.log(figures, step=step, **more)


def _stores(trackers: list[Any]) -> list[KeepPage]:
    found: list[KeepPage] = []
    for one in trackers:
        if one.name == "wandb":
            found.append(artifacts.in_wandb(one.tracker))
        elif one.name == "mlflow":
            client = sys.modules["mlflow"].MlflowClient()
            found.append(artifacts.in_mlflow(client, one.tracker.info.run_id))
    return found
