"""The Python package: a folder imports only folders below it, and argparse stays above all."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "pyhook" / "peakline"
EXTENSIONS = ("_recorder", "_report")
# From bottom to top; a folder may import those before it. The README of the package draws the same.
LAYERS = (
    *("base", "text", "builds", "api", "recording", "differences", "runs", "launch", "attaching"),
    *("trials", "terminal", "pages", "imports", "monitor", "exports", "compat", "assistants"),
    *("fleet", "pytest_plugin", "integrations", "commands"),
)
# Names of `peakline` itself come from these; only layers above may use them.
FACADE = "recording"
# They run in the user's program and import nothing of ours.
IN_PROGRAM = ("startup", "torch_objects")
ARGPARSE_LAYERS = ("commands",)


def imported(path: Path, package: Path) -> Iterator[str]:
    """Yield the full name of every module, or name in one, that a file imports anywhere in it."""
    parents = ["peakline", *path.relative_to(package).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = parents[: len(parents) - node.level + 1] if node.level else []
            module = ".".join([*base, *filter(None, [node.module])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


def layer_of(path: Path, package: Path) -> str:
    first, *rest = path.relative_to(package).parts
    return first if rest else ""


def may_import(layer: str, name: str) -> bool:
    """Whether a file of a layer may import `name`, which begins with "peakline"."""
    target = name.split(".")[1] if "." in name else ""
    if layer in IN_PROGRAM or target in IN_PROGRAM:
        return layer == target
    if target in EXTENSIONS or layer == "":
        return target != "commands"
    if target not in LAYERS:
        return LAYERS.index(layer) > LAYERS.index(FACADE)
    return LAYERS.index(target) <= LAYERS.index(layer)


def wrong_imports(path: Path, package: Path = PACKAGE) -> list[str]:
    layer, own = layer_of(path, package), str(path.relative_to(package))
    names = list(imported(path, package))
    wrong = [
        f"{own} imports {name}"
        for name in names
        if name.split(".")[0] == "peakline" and not may_import(layer, name)
    ]
    if layer not in ARGPARSE_LAYERS and "argparse" in {name.split(".")[0] for name in names}:
        wrong.append(f"{own} imports argparse")
    return wrong


def test_every_import_goes_to_a_lower_layer():
    files = [path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__main__.py"]
    assert len(files) > 150
    assert [line for path in files for line in wrong_imports(path)] == []


def test_every_folder_is_a_layer_that_the_readme_draws():
    folders = {path.name for path in PACKAGE.iterdir() if list(path.glob("*.py"))}
    assert folders == {*LAYERS, *IN_PROGRAM}
    drawn = re.findall(r"^\| `(\w+)/`", (PACKAGE / "README.md").read_text(), re.MULTILINE)
    assert tuple(drawn) == LAYERS


def plant(package: Path, name: str, text: str) -> Path:
    path = package / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_the_rule_finds_imports_that_go_up(tmp_path):
    planted = {
        "runs/a.py": "def late():\n    from peakline.commands import html\n",
        "base/b.py": "from ..api.tracing import trace\n",
        "recording/c.py": "import peakline.pages.page as page\n",
        "launch/d.py": "import argparse\n",
        "terminal/e.py": "if True:\n    from peakline import commands\n",
        "api/f.py": "import peakline\n",
        "torch_objects/g.py": "from peakline.base.output import say\n",
        "__init__.py": "from peakline.commands import main\n",
    }
    for name, text in planted.items():
        assert len(wrong_imports(plant(tmp_path, name, text), tmp_path)) == 1, name


def test_the_rule_lets_imports_pass_that_go_down(tmp_path):
    planted = {
        "commands/a.py": "import argparse\nfrom peakline.pages.making import make_file\n",
        "runs/b.py": "from peakline import _report\nimport peakline._report as engine\n",
        "exports/c.py": "import peakline\nfrom . import protobuf\n",
        "torch_objects/d.py": "from peakline.torch_objects.reading import read\n",
    }
    for name, text in planted.items():
        assert wrong_imports(plant(tmp_path, name, text), tmp_path) == [], name


OTHER_TOOLS = re.compile(
    r"memory_?viz|memray|heaptrack|tdynamics|gpu_?optimizer|memory_?profiler|mem_?tracer"
    r"|memory_?tracker|speedscope|perfetto|bytehound",
    re.IGNORECASE,
)
NAMES_OTHER_TOOLS = ("compat", "exports", "imports")


def names_of_other_tools(path: Path, package: Path = PACKAGE) -> list[str]:
    """Return functions, classes and arguments that are called as another tool is."""
    if layer_of(path, package) in NAMES_OTHER_TOOLS:
        return []
    nodes = list(ast.walk(ast.parse(path.read_text())))
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    names = [node.name for node in nodes if isinstance(node, definitions)]
    names += [node.arg for node in nodes if isinstance(node, ast.arg)]
    return [name for name in names if OTHER_TOOLS.search(name)]


def test_only_compat_and_formats_are_called_as_other_tools_are(tmp_path):
    assert [name for path in PACKAGE.rglob("*.py") for name in names_of_other_tools(path)] == []
    text = "class TDynamics: ...\ndef draw(memray_style): ...\n"
    assert len(names_of_other_tools(plant(tmp_path, "runs/a.py", text), tmp_path)) == 2
    assert names_of_other_tools(plant(tmp_path, "compat/a.py", text), tmp_path) == []
