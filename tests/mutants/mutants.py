"""Plants small faults, one at a time, and prints those that no test notices: `make mutants`.

A planted fault (a mutant) swaps < and <=, + and -, min and max, drops a `not`, is off by one, ends
a loop after its first pass. Each is tried with the tests of its unit alone. A survivor needs a
test, or a row in EQUIVALENT with the reason why nobody can notice it.

Python units are changed in memory, in a process of their own; C++ units in a copy of the tree.
Arguments: parts of the names of units; none: all. `--sample N`: so many mutants of each unit.
"""

from __future__ import annotations

import argparse
import ast
import importlib.abc
import importlib.util
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "pyhook"
_RUNS, _DIFFERENCES = "tests/unit/pyhook/test_runs.py", "tests/unit/pyhook/test_differences.py"
# A module, and its tests as pytest names them.
PYTHON_UNITS: dict[str, tuple[str, ...]] = {
    "peakline.base.sizes": ("tests/unit/report/test_sizes.py", "-k", "not the_same"),
    "peakline.runs.compare": (_RUNS,),
    "peakline.runs.report": (_RUNS,),
    "peakline.differences.compare": (_DIFFERENCES,),
    "peakline.differences.gate": (_DIFFERENCES, "-k", "gate or phase or limit or baseline or ci"),
    "peakline.differences.matching": (_DIFFERENCES,),
    "peakline.differences.text": (_DIFFERENCES, "-k", "text or line_that_moved or phase"),
    "peakline.recording.growth": ("tests/unit/report/test_growth_lines.py",),
}
# A source, and the tags of its tests in build/unit_tests.
CPP_UNITS = {
    "report/views/growth/growth.cpp": "[growth]",
    "report/views/growth/growth_fit.cpp": "[growth]",
    "report/views/growth/input_fit.cpp": "[growth]",
    "report/views/growth/reserved_growth.cpp": "[growth]",
}
# Unit and change: why it changes nothing that anyone can see.
EQUIVALENT: dict[tuple[str, str], str] = {
    ("peakline.differences.gate", "found > was  ->  found >= was"): "equal sizes returned before",
    ("peakline.differences.gate", "Blamed(sentence, '', 0)  ->  Blamed(sentence, '', 1)"): (
        "a line without a file is not shown"
    ),
    ("peakline.runs.compare", "typical.get(key, 0)  ->  typical.get(key, 1)"): "it has all keys",
    (
        "peakline.runs.compare",
        "sum(own.values()) >= middle  ->  sum(own.values()) > middle",
    ): "neither more nor less: either order is right",
    ("peakline.runs.report", "run.members[0]  ->  run.members[1]"): "the members have one job",
    ("peakline.base.sizes", "range(4)  ->  range(5)"): "no text has four decimals",
    ("peakline.base.sizes", "digits > 0  ->  digits > 1"): "one decimal: below 1000 of the unit",
}

_SECONDS = 120  # for the tests of a mutant; an endless loop is noticed, too
_OPERATORS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.USub: ast.UAdd,
}
_FUNCTIONS = {
    "min": "max",
    "max": "min",
    "median_low": "median_high",
    "median_high": "median_low",
    "median_of": "max",
    "any": "all",
    "all": "any",
    "sorted": "list",
}
_LONGEST = 100  # characters of a change: else the constant is shown without its neighbours
_NOT_COUNTED = {"strict", "frozen", "default"}  # keywords whose constants are no figures


@dataclass(frozen=True)
class Mutant:
    """A fault at a line of a unit, and the way to plant it."""

    unit: str
    line: int
    change: str
    code: CodeType | str  # of the whole unit


def planted(node: ast.AST) -> Callable[[], None] | None:
    """Return what plants a fault into this node, if it can hold one."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in _OPERATORS:
            return lambda: node.ops.__setitem__(0, _OPERATORS[type(op)]())
        case ast.BinOp() | ast.AugAssign() | ast.BoolOp() if type(node.op) in _OPERATORS:
            return lambda: setattr(node, "op", _OPERATORS[type(node.op)]())
        case ast.UnaryOp(op=ast.USub()):
            return lambda: setattr(node, "op", ast.UAdd())
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return lambda: setattr(node, "operand", ast.UnaryOp(ast.Not(), operand))
        case ast.If(test=test) | ast.IfExp(test=test) if not isinstance(test, ast.Compare):
            return lambda: setattr(node, "test", ast.UnaryOp(ast.Not(), test))
        case ast.Call(func=ast.Name(id=name)) if name in _FUNCTIONS:
            return lambda: setattr(node.func, "id", _FUNCTIONS[name])
        case ast.Constant(value=bool() as value):
            return lambda: setattr(node, "value", not value)
        case ast.Constant(value=int() as value):
            return lambda: setattr(node, "value", value + 1)
        case ast.For(body=body):
            return lambda: body.append(ast.Break())
    return None


def counted(tree: ast.Module) -> list[ast.AST]:
    """Return the nodes of a module in a fixed order, without decorators and types."""
    left_out: set[int] = set()
    for node in ast.walk(tree):
        parts = [*getattr(node, "decorator_list", []), getattr(node, "annotation", None)]
        parts += [getattr(node, "returns", None)]
        if isinstance(node, ast.keyword) and node.arg in _NOT_COUNTED:
            parts.append(node.value)
        left_out |= {id(one) for part in parts if part for one in ast.walk(part)}
    return [node for node in ast.walk(tree) if id(node) not in left_out]


def holder_of(node: ast.AST, tree: ast.Module) -> ast.AST:
    """Return the node that has this one."""
    holders = (one for one in ast.walk(tree) if node in ast.iter_child_nodes(one))
    return next(holders, node)


def python_mutants(unit: str) -> Iterator[Mutant]:
    """Yield the faults of a module."""
    source = path_of(unit).read_text()
    for number, seen in enumerate(counted(ast.parse(source))):
        if planted(seen) is None:
            continue
        tree = ast.parse(source)
        node = counted(tree)[number]
        shown = holder_of(node, tree) if isinstance(node, ast.Constant) else node
        shown = shown if len(ast.unparse(shown)) < _LONGEST else node
        before = ast.unparse(shown).splitlines()[0]
        plant = planted(node)
        assert plant is not None
        plant()
        is_loop = isinstance(node, ast.For)
        after = "only the first" if is_loop else ast.unparse(shown).splitlines()[0]
        code = compile(ast.fix_missing_locations(tree), str(path_of(unit)), "exec")
        yield Mutant(unit, node.lineno, f"{before}  ->  {after}", code)  # type: ignore[attr-defined]


def path_of(unit: str) -> Path:
    """Return the file of a unit."""
    return PACKAGE / f"{unit.replace('.', '/')}.py" if unit in PYTHON_UNITS else ROOT / unit


class Planting(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module with a fault."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def find_spec(self, name: str, _path: object, _target: object = None) -> ModuleSpec | None:
        if name != self.mutant.unit:
            return None
        return importlib.util.spec_from_file_location(name, path_of(name), loader=self)

    def exec_module(self, module: ModuleType) -> None:
        assert isinstance(self.mutant.code, CodeType)
        exec(self.mutant.code, module.__dict__)


def survives_python(mutant: Mutant | None, unit: str) -> bool:
    """Run the tests of a unit with a fault, or without one; in a process that then ends."""
    child = os.fork()
    if child == 0:
        signal.alarm(_SECONDS)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        if mutant is not None:
            sys.meta_path.insert(0, Planting(mutant))
        words = ["-x", "-q", "-p", "no:cacheprovider", "--noconftest"]
        os._exit(min(int(pytest.main([*words, *PYTHON_UNITS[unit]])), 1))
    return os.waitpid(child, 0)[1] == 0


_CPP_CHANGES = (
    (r" < ", " <= "),
    (r" <= ", " < "),
    (r" > ", " >= "),
    (r" >= ", " > "),
    (r" == ", " != "),
    (r" != ", " == "),
    (r" \+ ", " - "),
    (r" - ", " + "),
    (r"std::min", "std::max"),
    (r"std::max", "std::min"),
    (r" && ", " || "),
    (r"\(!", "("),
    (r"\b([2-9])\b", r"(\1 + 1)"),
)


def cpp_mutants(unit: str) -> Iterator[Mutant]:
    """Yield the faults of a source."""
    source = path_of(unit).read_text()
    begin = 0
    for number, line in enumerate(source.splitlines(keepends=True), 1):
        code = line.split("//")[0]
        if not code.lstrip().startswith(("#", "template", "inline constexpr")):
            for pattern, replacement in _CPP_CHANGES:
                for found in re.finditer(pattern, code):
                    changed = (
                        line[: found.start()] + found.expand(replacement) + line[found.end() :]
                    )
                    whole = source[:begin] + changed + source[begin + len(line) :]
                    change = f"{line.strip()}  ->  {changed.strip()}"
                    yield Mutant(unit, number, change, whole)
        begin += len(line)


def copy_of_tree() -> Path:
    """Copy the sources, and what was built of them, with their times."""
    copy = ROOT / "build" / "mutants"
    shutil.rmtree(copy, ignore_errors=True)
    names = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines()
    built = [p for p in (ROOT / "build").rglob("*") if p.suffix in {".o", ".d", ".a"}]
    for path in [*map(ROOT.joinpath, names), *built]:
        target = copy / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target)
    return copy


def survives_cpp(mutant: Mutant | None, unit: str, copy: Path) -> bool:
    """Build and run the unit tests in the copy; a fault that does not compile is noticed."""
    path = copy / unit
    before = path.read_text()
    if mutant is not None:
        path.write_text(str(mutant.code))
    quiet = {"cwd": copy, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    try:
        made = subprocess.run(["make", "-j2", "build/unit_tests"], **quiet, check=False)
        if made.returncode != 0:
            return False
        tests = ["build/unit_tests", CPP_UNITS[unit]]
        return subprocess.run(tests, **quiet, check=False, timeout=_SECONDS).returncode == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        path.write_text(before)


def try_unit(unit: str, sample: int, copy: Path | None) -> int:
    """Try the mutants of a unit; return the number of survivors that no row explains."""
    found = list(python_mutants(unit) if copy is None else cpp_mutants(unit))
    tried = random.Random(unit).sample(found, min(sample or len(found), len(found)))

    def survives(mutant: Mutant | None) -> bool:
        if copy is None:
            return survives_python(mutant, unit)
        return survives_cpp(mutant, unit, copy)

    if not survives(None):
        sys.exit(f"{unit}: its tests fail without a fault, too")
    print(f"{unit}: {len(tried)} of {len(found)} planted", flush=True)
    survivors = 0
    for one in sorted(tried, key=lambda one: one.line):
        if (unit, one.change) not in EQUIVALENT and survives(one):
            survivors += 1
            print(f"  {path_of(unit).relative_to(ROOT)}:{one.line}  {one.change}", flush=True)
    return survivors


def main(words: Sequence[str] | None = None) -> int:
    """Try the mutants of the named units; 1 if one survives."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("units", nargs="*", help="parts of names; none: all")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="so many of each unit")
    asked = parser.parse_args(words)
    os.chdir(ROOT)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # they take most of the time of a mutant
    units = [
        unit
        for unit in (*PYTHON_UNITS, *CPP_UNITS)
        if not asked.units or any(part in unit for part in asked.units)
    ]
    copy = copy_of_tree() if any(unit in CPP_UNITS for unit in units) else None
    survivors = [try_unit(one, asked.sample, copy if one in CPP_UNITS else None) for one in units]
    return min(sum(survivors), 1)


if __name__ == "__main__":
    sys.exit(main())
