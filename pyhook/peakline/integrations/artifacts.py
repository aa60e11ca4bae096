"""Stores the page of a training where a logger keeps files. The loggers come from the caller."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

FOLDER = "peakline"  # in MLflow's artifacts; also the type of the artifact in W&B


def in_wandb(run: Any) -> Callable[[Path], None]:
    """Return a function that stores a page as an artifact of a W&B run."""

    def store(page: Path) -> None:
        artifact = sys.modules["wandb"].Artifact(f"{FOLDER}-{run.id}", type=FOLDER)
        artifact.add_file(str(page))
        run.log_artifact(artifact)

    return store


def in_mlflow(client: Any, run_id: str) -> Callable[[Path], None]:
    """Return a function that stores a page in a run of MLflow, given its `MlflowClient`."""

    def store(page: Path) -> None:
        client.log_artifact(run_id, str(page), FOLDER)

    return store
