"""`--frame user` and `--hide`: programs that are modules, editable installs, notebooks, imports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lab import ROOT, Lab

MIB = 1 << 20
# Name: size in MiB, and where its user's line is.
PLACES = {
    "module": (3, "app/__main__.py"),
    "package": (5, "app/inner.py"),
    "editable": (7, "work/src/edited/__init__.py"),
    "library": (9, "app/__main__.py"),
    "import": (11, "app/lazy.py"),
    "cell": (13, "<ipython-input-1-0a1b2c>"),
    "kernel": (15, "/tmp/ipykernel_77/12.py"),
    "text": (17, "<string>"),
    "generated": (19, "app/__main__.py"),
    "template": (21, "app/__main__.py"),
}
MAKE = "torch.empty({size} << 20, dtype=torch.uint8, device='cuda')"


def size_of(name: str) -> str:
    return MAKE.format(size=PLACES[name][0])


def write_program(folder: Path) -> None:
    """Write a package that allocates in every kind of place."""
    files = {
        "app/__init__.py": "",
        "app/inner.py": f"import torch\ndef make():\n    return {size_of('package')}\n",
        "app/lazy.py": f"import torch\nheld = {size_of('import')}\n",
        "work/src/edited/__init__.py": (
            f"import torch\ndef make():\n    return {size_of('editable')}\n"
        ),
        "venv/lib/python3.11/site-packages/library/__init__.py": (
            f"import torch\ndef make():\n    return {size_of('library')}\n"
        ),
        "app/__main__.py": f"""
import importlib, os, torch, edited, library
from app import inner

def run(code, name):
    scope = {{"torch": torch}}
    exec(compile(code, name, "exec"), scope)
    return scope["held"]

held = [inner.make(), edited.make()]
held.append({size_of("module")})
held.append(library.make())
held.append(importlib.import_module("app.lazy").held)
held.append(run("held = {size_of("cell")}", "<ipython-input-1-0a1b2c>"))
held.append(run("held = {size_of("kernel")}", "/tmp/ipykernel_77/12.py"))
held.append(run("held = {size_of("text")}", "<string>"))
held.append(run("held = {size_of("generated")}", "<attrs generated init app.Thing>"))
made = "/tmp/torch_geometric.nn.conv.gat_conv_GATConv_propagate_tabbf_3q.py"
scope = {{"torch": torch}}
exec(compile("held = {size_of("template")}", made, "exec"), scope)
held.append(scope["held"])
torch.cuda.synchronize()
os._exit(0)
""",
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture(scope="module")
def run(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the folder of the program and its trace."""
    folder = tmp_path_factory.mktemp("user_frames")
    write_program(folder)
    paths = [folder, folder / "work/src", folder / "venv/lib/python3.11/site-packages"]
    search = ":".join(map(str, [*paths, ROOT / "pyhook"]))
    finished = lab.run("-m", "app", environment={"PYTHONPATH": search})
    assert finished.status == 0, finished.stderr
    return folder, finished.trace


def files_by_size(lab: Lab, trace: Path, *options: str) -> dict[int, Any]:
    table = lab.table(trace, "--measure", "requested", "--by", "line", *options)
    return {row["median_bytes"] // MIB: row["location"]["file"] for row in table["rows"]}


@pytest.mark.parametrize("name", PLACES)
def test_the_users_line_is_found_wherever_it_is(
    lab: Lab, run: tuple[Path, Path], name: str
) -> None:
    size, file = PLACES[name]
    found = files_by_size(lab, run[1], "--frame", "user")
    assert found[size] == (str(run[0] / file) if "app/" in file or "work/" in file else file)


def test_a_hidden_file_is_passed_over_by_either_choice(lab: Lab, run: tuple[Path, Path]) -> None:
    main = str(run[0] / "app/__main__.py")
    size = PLACES["package"][0]
    for frame in ("user", "leaf", "caller"):
        assert files_by_size(lab, run[1], "--frame", frame)[size].endswith("app/inner.py")
        for glob in ("*/app/inner.py", "inner.py"):
            hidden = files_by_size(lab, run[1], "--frame", frame, "--hide", glob)
            assert hidden[size] == main


def test_the_rules_in_words_are_the_rules() -> None:
    words = (ROOT / "report/attribute/FRAMES.md").read_text()
    rules = (ROOT / "report/attribute/stacks/frame_policy.cpp").read_text()
    for name, least in (("kNotUserCode", 20), ("kPassThrough", 25)):
        begin = rules.index(f"{name}[] = {{")
        table = rules[begin : rules.index("};", begin)]
        lines = [line.strip() for line in table.splitlines()]
        globs = [line.strip('",') for line in lines if line[:1] == '"']
        assert len(globs) > least
        assert [glob for glob in globs if f"`{glob}`" not in words] == []
