"""The programs of docs/trainers.md, with W&B (offline) and MLflow (local) where installed."""

from __future__ import annotations

import importlib.util
import re
import sqlite3
from pathlib import Path

import wandb_files
from lab import ROOT

PREFIX = "peakline/"
STORES = tuple(name for name in ("wandb", "mlflow") if importlib.util.find_spec(name))
_NAMES = ", ".join(f'"{name}"' for name in ("tensorboard", *STORES))
_CSV = 'CSVLogger("results")'
_LIGHTNING = {
    "wandb": 'WandbLogger(project="training", save_dir=".", offline=True)',
    "mlflow": 'MLFlowLogger("training", tracking_uri="sqlite:///store.db")',
}
_LOGGERS = {
    "transformers": ('report_to="tensorboard"', f"report_to=[{_NAMES}]"),
    "lightning": (_CSV, f"[{', '.join([_CSV, *(_LIGHTNING[one] for one in STORES)])}]"),
    "accelerate": ('"tensorboard"', _NAMES),
}
_IMPORTS = {"lightning": "from lightning.pytorch.loggers import MLFlowLogger, WandbLogger\n"}


def documented(trainer: str) -> str:
    """The first program below the heading of a trainer."""
    page = (ROOT / "docs/trainers.md").read_text()
    text = page.partition(f"\n## {trainer}\n")[2]
    return re.search(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)[1]


def with_stores(trainer: str) -> str:
    """The same program, which also logs to the stores that are installed."""
    before, after = _LOGGERS[trainer]
    source = documented(trainer)
    assert before in source
    return _IMPORTS.get(trainer, "") + source.replace(before, after)


def environment(folder: Path) -> dict[str, str]:
    private = {f"WANDB_{name}_DIR": str(folder) for name in ("DATA", "CACHE", "CONFIG")}
    return {"WANDB_MODE": "offline", "MLFLOW_TRACKING_URI": "sqlite:///store.db", **private}


def check_stores(folder: Path, logs: list[dict[str, float]]) -> None:
    """Every store has the figures of each log, and the page."""
    [page] = folder.glob("*.training.html")
    for store in STORES:
        stored, pages = {"wandb": _in_wandb, "mlflow": _in_mlflow}[store](folder)
        assert pages == [page.name]
        assert list(map(figures_of, stored)) == list(map(figures_of, logs))


def figures_of(log: dict[str, float]) -> dict[str, float]:
    return {name.partition(PREFIX)[2]: value for name, value in log.items() if PREFIX in name}


def _in_wandb(folder: Path) -> tuple[list[dict[str, float]], list[str]]:
    [file] = folder.rglob("run-*.wandb")
    history = wandb_files.history_of(file)
    [pages] = wandb_files.artifacts_of(file).values()
    return [log for log in history if figures_of(log)], pages


def _in_mlflow(folder: Path) -> tuple[list[dict[str, float]], list[str]]:
    logs: dict[int, dict[str, float]] = {}
    store = sqlite3.connect(folder / "store.db")
    for key, value, step in store.execute("select key, value, step from metrics"):
        if PREFIX in key:
            logs.setdefault(step, {})[key] = value
    pages = [page.name for page in folder.rglob("artifacts/peakline/*")]
    return [logs[step] for step in sorted(logs)], pages
