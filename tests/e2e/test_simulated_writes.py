"""A simulated run leaves no checkpoint behind and changes none: real torch, safetensors,
transformers, accelerate and Lightning."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from lab import ON_GPU, PROGRAMS

pytestmark = pytest.mark.skipif(ON_GPU, reason="about the simulated GPU")


def needs(*packages: str) -> pytest.MarkDecorator:
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


LIBRARIES = ("accelerate", "safetensors", "transformers")  # of saves_checkpoints.py
WEIGHTS = [
    "saved.pt",
    "opened.pth",
    "plain.safetensors",
    "moved.ckpt",
    "pretrained/model.safetensors",
    "accelerate/model.safetensors",
    "accelerate/optimizer.bin",
    "accelerate/random_states_0.pkl",
]


def run(lab: Any, folder: Path, *options: str, program: str = "saves_checkpoints.py") -> Any:
    words = [str(PROGRAMS / program), "out"]
    done = lab.recorded(folder, *words, options=["-q", "-o", "run.peak", *options])
    assert done.status == 0, done.stderr
    return done


def checkpoints(folder: Path) -> list[str]:
    found = [path for path in (folder / "out").rglob("*") if path.is_file()]
    weights = [path for path in found if path.suffix not in (".json", ".md", ".txt")]
    return sorted(str(path.relative_to(folder / "out")) for path in weights)


@needs(*LIBRARIES)
def test_new_checkpoints_can_be_read_back_and_are_gone_afterwards(lab: Any, tmp_path: Path) -> None:
    done = run(lab, tmp_path)
    assert done.said == {"read_back": [True] * 5}
    assert checkpoints(tmp_path) == []
    assert sum("are removed when the program ends" in note for note in done.notes) == 1
    assert any("removed" in note and "without real values" in note for note in done.notes)


@needs(*LIBRARIES)
def test_existing_checkpoints_stay_as_they_are(lab: Any, tmp_path: Path) -> None:
    for name in [*WEIGHTS, "pretrained/config.json"]:
        path = tmp_path / "out" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"the real {name}")
    done = run(lab, tmp_path)
    assert done.said == {"read_back": [True] * 5}
    for name in [*WEIGHTS, "pretrained/config.json"]:
        assert (tmp_path / "out" / name).read_text() == f"the real {name}"
    assert checkpoints(tmp_path) == sorted(WEIGHTS)
    assert sum("exists and stays unchanged" in note for note in done.notes) == 1


@needs(*LIBRARIES)
def test_allow_writes_overwrites_and_keeps(lab: Any, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "saved.pt").write_text("old")
    done = run(lab, tmp_path, "--allow-writes")
    assert set(WEIGHTS) <= set(checkpoints(tmp_path))
    assert (tmp_path / "out" / "saved.pt").stat().st_size > 1000
    assert [note for note in done.notes if "checkpoint" in note] == []


def test_a_rotation_does_not_remove_real_checkpoints(lab: Any, tmp_path: Path) -> None:
    kept = tmp_path / "out" / "checkpoint-1" / "model.pt"
    kept.parent.mkdir(parents=True)
    kept.write_text("real")
    code = (
        "import os, shutil, torch\n"
        "x = torch.ones(4, device='cuda')\n"
        "shutil.rmtree('out/checkpoint-1')\n"
        "open('notes.txt', 'w').write('mine')\n"
        "os.remove('notes.txt')\n"
        "print('{}', flush=True); os._exit(0)"
    )
    done = lab.recorded(tmp_path, "-c", code)
    assert done.status == 0, done.stderr
    assert kept.read_text() == "real"
    assert not (tmp_path / "notes.txt").exists()


def test_checkpoints_made_before_a_device_is_used_are_real(lab: Any, tmp_path: Path) -> None:
    code = (
        "import os, torch\n"
        "torch.save({'a': torch.ones(3)}, 'real.pt')\n"
        "x = torch.ones(4, device='cuda')\n"
        "print('{}', flush=True); os._exit(0)"
    )
    assert lab.recorded(tmp_path, "-c", code).status == 0
    assert (tmp_path / "real.pt").exists()


@needs("lightning")
def test_lightning_checkpoints_are_guarded(lab: Any, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "best.ckpt").write_text("real")
    run(lab, tmp_path, program="saves_lightning.py")
    assert (tmp_path / "out" / "best.ckpt").read_text() == "real"
    assert checkpoints(tmp_path) == ["best.ckpt"]


@needs("transformers", "accelerate")
def test_the_trainer_neither_leaves_nor_removes_a_checkpoint(lab: Any, tmp_path: Path) -> None:
    real = {"model.safetensors": "real", "config.json": "real", "trainer_state.json": "{}"}
    kept = tmp_path / "out" / "checkpoint-1"
    kept.mkdir(parents=True)
    for name, text in real.items():
        (kept / name).write_text(text)
    done = run(lab, tmp_path, program="saves_trainer.py")
    # save_total_limit=1: only the newest is there for the program.
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "checkpoints": ["checkpoint-4"],
        "final": True,
        "reloaded": 32,
    }
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["checkpoint-1"]
    assert {path.name: path.read_text() for path in kept.iterdir()} == real
