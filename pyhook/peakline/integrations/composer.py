"""The callback for Composer's Trainer."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from composer.core import Callback
from composer.utils import dist

from peakline.integrations.artifacts import FOLDER
from peakline.integrations.watch import Watch


class PeaklineCallback(Callback):  # type: ignore[misc]
    """Logs the memory of the GPU to the loggers of a Composer Trainer.

    ``Trainer(..., callbacks=[PeaklineCallback()])`` is all that it needs.
    """

    def __init__(
        self, *, every: int = 1, lines: int = 5, output: str = "", page: bool = True
    ) -> None:
        """Begin to record, unless the process is recorded already.

        Args:
            every: number of batches between logs; peaks count from the last log.
            lines: number of the largest lines at the peak that are logged; 0: none.
            output: name of the trace if the recording begins here, with the placeholders of
                ``peakline run -o``.
            page: write the HTML page when the training ends.
        """
        self._every = every
        self._watch = Watch(lines=lines, output=output, page=page)
        self._watch.begin()  # before the model is on the GPU

    def fit_start(self, state: Any, logger: Any) -> None:
        """Begin to count."""
        self._watch.begin_training()

    def epoch_start(self, state: Any, logger: Any) -> None:
        """Begin the phase of an epoch; epochs count from 1."""
        self._watch.end_phases()
        self._watch.begin_phase(f"epoch {state.timestamp.epoch.value + 1}")

    def batch_start(self, state: Any, logger: Any) -> None:
        """Mark a step; the first is step 1."""
        self._watch.begin_step(state.timestamp.batch.value + 1)

    def batch_end(self, state: Any, logger: Any) -> None:
        """Log the figures."""
        batch = state.timestamp.batch.value
        if batch % self._every == 0:
            self._watch.harmless(lambda: logger.log_metrics(self._watch.figures(batch)), None)

    def epoch_end(self, state: Any, logger: Any) -> None:
        """End the phase."""
        self._watch.end_phases()

    def fit_end(self, state: Any, logger: Any) -> None:
        """Write the page, and upload it where a logger keeps files."""
        self._watch.end_training(
            is_main=dist.get_global_rank() == 0, stores=lambda: [partial(_upload, logger)]
        )


def _upload(logger: Any, page: Path) -> None:
    logger.upload_file(f"{FOLDER}/{page.name}", page)
