"""Changes files in the working folder in every way that touches checkpoints, and says what it sees.

`prepare` makes the folder as an earlier, real run left it; `run` is the run to be watched; `killed`
ends itself and its parent by SIGKILL after its changes.
"""

# The plain functions of os are what is tested, beside those of pathlib.
# ruff: noqa: PTH102, PTH103, PTH104, PTH105, PTH108, PTH110, PTH112, PTH115, PTH208, PTH211
import io
import json
import os
import pickle
import shutil
import signal
import sys
from pathlib import Path

import torch
import torch.distributed.checkpoint


def prepare() -> None:
    for name in ("step1", "rotated", "moved"):
        Path("ck", name).mkdir(parents=True)
        torch.save({"x": torch.full((4,), 7.0)}, f"ck/{name}/model.pt")
        Path(f"ck/{name}/config.json").write_text("real")
        Path(f"ck/{name}/notes.txt").write_text("real")
    os.symlink("step1", "ck/latest")
    for name in (
        "old.pt",
        "opened.pth",
        "appended.pt",
        "atomic.pt",
        "copied.pt",
        "backup.pt",
        "mem.pt",
    ):
        torch.save({"x": torch.full((4,), 7.0)}, name)
    for name in ("unlinked.pt", "child.pt", "plain_name"):
        torch.save({"x": torch.full((4,), 7.0)}, name)
    Path("unknown").write_bytes(b"real, of another kind")
    Path("old.bin").write_bytes(b"0123456789")
    Path("own.pkl").write_bytes(pickle.dumps("old"))
    Path("config.json").write_text("old")
    Path("gone.txt").write_text("old")


def value(name: str) -> float:
    return float(torch.load(name)["x"][0])


def own_files() -> list:
    Path("new.bin").write_bytes(b"a cache of mine")
    Path("new.pkl").write_bytes(pickle.dumps("mine"))
    Path("odd\nname.bin").write_bytes(b"mine")
    Path("empty").mkdir()
    with Path("old.bin").open("r+b") as file:
        file.seek(2)
        file.write(b"XX")
    with Path("old.bin").open("ab") as file:
        file.write(b"tail")
    Path("own.pkl").write_bytes(pickle.dumps("new"))
    Path("config.json").write_text("new")
    Path("gone.txt").unlink()
    texts = [Path(name).read_text() for name in ("new.bin", "old.bin", "config.json")]
    return [*texts, pickle.loads(Path("own.pkl").read_bytes()), Path("gone.txt").exists()]


def existing(state: dict) -> list:
    torch.save(state, "old.pt")
    with Path("opened.pth").open("wb") as file:
        torch.save(state, file)
    with Path("appended.pt").open("ab") as file:
        file.write(b"tail")
    torch.save(state, "temporary")
    os.replace("temporary", "atomic.pt")
    torch.save(state, "temporary")
    os.replace("temporary", "unknown")
    torch.save(state, "plain_name")
    torch.save(state, "odd\nname.pt")
    buffer = io.BytesIO()
    torch.save(state, buffer)
    Path("mem.pt").write_bytes(buffer.getvalue())
    Path("mem2.pt").write_bytes(buffer.getvalue())
    shutil.copy("old.pt", "copied.pt")
    shutil.copy2("old.pt", "copied2.pt")
    names = (
        "old.pt",
        "opened.pth",
        "atomic.pt",
        "plain_name",
        "unknown",
        "odd\nname.pt",
        "mem.pt",
        "mem2.pt",
    )
    appended = Path("appended.pt").read_bytes()
    return [
        *map(value, (*names, "copied.pt", "copied2.pt")),
        appended[:2].hex(),
        appended[-4:].hex(),
    ]


def removed(state: dict) -> list:
    os.unlink("unlinked.pt")
    seen = [
        os.path.exists("unlinked.pt"),
        "unlinked.pt" in os.listdir(),
        os.path.lexists("unlinked.pt"),
    ]
    torch.save(state, "temporary")
    os.replace("temporary", "unlinked.pt")
    seen += [value("unlinked.pt"), "unlinked.pt" in os.listdir()]
    shutil.rmtree("ck/rotated")
    seen += [os.path.isdir("ck/rotated"), sorted(os.listdir("ck"))]
    os.mkdir("ck/rotated")
    seen.append(os.listdir("ck/rotated"))
    torch.save(state, "ck/rotated/model.pt")
    seen += [sorted(entry.name for entry in os.scandir("ck/rotated")), value("ck/rotated/model.pt")]
    os.replace("backup.pt", "backup.prev.pt")
    seen += [os.path.exists("backup.pt"), value("backup.prev.pt")]
    torch.save(state, "backup.pt")
    os.replace("backup.pt", "backup.prev.pt")
    seen += [os.path.exists("backup.pt"), value("backup.prev.pt")]
    os.rename("ck/moved", "ck/moved.old")
    return [*seen, sorted(os.listdir("ck")), value("ck/moved.old/model.pt")]


def folders(state: dict) -> list:
    steps = [name for name in os.listdir("ck") if name.startswith("step")]
    step = f"step{len(steps) + 1}"
    os.makedirs(f"ck/{step}/inner")
    torch.save(state, f"ck/{step}/inner/model.pt")
    torch.save(state, f"ck/{step}/model.pt")
    os.unlink("ck/latest")
    os.symlink(step, "ck/latest")
    os.symlink(f"{step}/model.pt", "ck/last.pt")
    os.makedirs("mixed")
    torch.save(state, "mixed/model.pt")
    Path("mixed/log.txt").write_text("mine")
    torch.distributed.checkpoint.save(state, checkpoint_id="distributed")
    seen = [os.readlink("ck/latest"), value("ck/latest/model.pt"), value("ck/last.pt")]
    return [
        *seen,
        sorted(os.listdir("ck")),
        sorted(os.listdir(f"ck/{step}")),
        os.listdir("distributed") != [],
    ]


def children(state: dict) -> list:
    child = os.fork()
    if child == 0:
        torch.save({"x": torch.full((4,), 3.0)}, "child.pt")
        torch.save({"x": torch.full((4,), 3.0)}, "child2.pt")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    code = "cp child2.pt child3.pt; echo mine > child.txt; rm -f ck/step1/model.pt; ls ck/step1"
    listed = os.popen(code).read().split()
    return [value("child.pt"), value("child2.pt"), value("child3.pt"), listed]


if sys.argv[1] == "prepare":
    prepare()
    sys.exit()
on_device = torch.full((4,), 1.0, device="cuda")
tensors = {"x": torch.full((4,), 5.0)}
seen = {"own": own_files(), "existing": existing(tensors), "removed": removed(tensors)}
seen |= {"folders": folders(tensors), "children": children(tensors)}
seen["listing"] = sorted(os.listdir())
print(json.dumps(seen), flush=True)
if sys.argv[1] == "killed":
    os.kill(os.getppid(), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)
os._exit(0)
