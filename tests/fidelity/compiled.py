"""Shares of the memory of compiled code that are on the right line and module.

    python tests/fidelity/compiled.py [--models lm,gpt2] [--folder KEPT] [--out FILE.md]

Runs every model of compiled_models.py with an empty cache of torch, with the filled one, and, for
three models, once more with three lines put in front of the program. compiled_oracle.py reads
from torch which node made each buffer. A line is right if it is one of that node's, and a module if
it is the node's; further out is not right. Exit status: 0 the aims are met, 1 one is not.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import compiled_models

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "pyhook"))
LIMIT_SECONDS = 900
EDITED = ("lm", "checkpointed", "branches")
SHIFT = 3
AIM_LINES, AIM_FORWARD, AIM_BACKWARD = 99.0, 99.0, 95.0
_AUTOTUNES = "/torch/_inductor/runtime/"
_ROOT_OF_PATH = re.compile(r"^L\['\w+'\](?:\[[^\]]*\])*\.?")
_KEYS = re.compile(r"(?:\._modules)?\['?(\w+)'?\]")


class Verdict(NamedTuple):
    """The parts of an allocation that are right."""

    direction: str
    line: str  # right, last of several (as the row says), same kernel, wrong, none
    module: str  # right, further out, wrong, or empty: the node is in no module


def path_of(module: str) -> str:
    """Return a path as peakline has it, from the one that Dynamo has."""
    return _KEYS.sub(r".\1", _ROOT_OF_PATH.sub("", module)).lstrip(".")


def without_root(module: str | None) -> str:
    """Return a path without the class of the model, which stands in front if there are several."""
    head, _, rest = (module or "").partition(".")
    return rest if head[:1].isupper() else module or ""


class Judge:
    """Compares rows of `events` with what torch itself knows."""

    def __init__(self, files: Mapping[str, Any], last: set[str], program: str, shift: int) -> None:
        """`files`: of the oracle. `last`: lines of them that have the last of several lines.

        `shift`: so many lines were put in front of the program since.
        """
        self.files, self.last = files, last
        self.program, self.shift = program, shift

    def verdict(self, event: Mapping[str, Any], other: Mapping[str, Any]) -> Verdict | None:
        """Compare an allocation with torch's record of it. None: no memory of a buffer."""
        *inner, (name, line, _) = other["frames"]
        file = self.files.get(Path(name).name)
        buffer = file["buffers"].get(str(line)) if file is not None else None
        if file is None or buffer is None:
            return None
        nodes = [buffer["node"]] if buffer["node"] is not None else buffer["origins"]
        # An operator of the program's own has its lines below the generated file.
        own = [f"{frame[0]}:{frame[1]}" for frame in inner if frame[0] == self.program][:1]
        expected = set(own) or self.lines_of(nodes)
        found = event["line"].rpartition(" (")[0]
        return Verdict(
            "backward" if file["is_backward"] else "forward",
            "right"
            if found in expected
            else "no line"
            if not expected
            else "last of several"
            if f"{Path(name).name}:{line}" in self.last
            else "none"
            if is_definition(event["line"])
            else "same kernel"
            if found in self.lines_of(buffer["origins"])
            else "wrong",
            module_verdict(event["module"], nodes, other.get("gradient_of")),
        )

    def lines_of(self, nodes: list[Mapping[str, Any]]) -> set[str]:
        return {
            f"{file}:{line + self.shift * (file == self.program)}"
            for node in nodes
            for file, line in node["lines"]
        }


def is_definition(shown: str) -> bool:
    """Whether a row is only the first line of a function."""
    place, _, function = shown.removesuffix(")").rpartition(" (")
    return f"def {function}(" in text(place)


def text(place: str) -> str:
    file, _, line = place.rpartition(":")
    lines = Path(file).read_text().splitlines() if Path(file).is_file() else []
    return lines[int(line) - 1] if line.isdecimal() and int(line) <= len(lines) else ""


def module_verdict(
    found: str | None, nodes: list[Mapping[str, Any]], gradient_of: str | None
) -> str:
    paths = {path_of(node["module"]) for node in nodes if node["module"] is not None}
    if not paths:
        return ""
    path = without_root(found)
    if path == gradient_of:
        return "right"
    # A region that is compiled alone has paths that begin with it.
    if any(path == one or (one and path.endswith(f".{one}")) for one in paths):
        return "right"
    if any(not path or f".{one}.".find(f".{path}.") >= 0 for one in paths):
        return "further out"
    return "wrong"


class Models:
    """Runs the models."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("compiled_models.py", "compiled_oracle.py"):
            shutil.copy(HERE / name, folder)

    def cache_of(self, model: str) -> Path:
        return self.folder / f"cache-{model}"

    def run(self, model: str, name: str, *, is_shifted: bool = False) -> dict[str, Any]:
        """Return what the oracle wrote and the allocations of the trace."""
        program, said = self.folder / "compiled_models.py", self.folder / f"{model}.{name}.json"
        trace = self.folder / f"{model}.{name}.peak"
        source = (HERE / program.name).read_text()
        program.write_text("#\n" * SHIFT * is_shifted + source)
        run = ["run", "-q", "--force", "--simulate", "h200", "-o", str(trace), str(program), model]
        self._peakline(model, *run, "--said", str(said))
        events = self._peakline(model, "events", "--json", "--full-paths", "--top", "0", str(trace))
        allocations = [e for e in json.loads(events)["events"] if e["kind"] == "alloc"]
        # Pinned and CPU memory has no device.
        found = [e for e in allocations if isinstance(e["device"], int) and e["device"] >= 0]
        return {**json.loads(said.read_text()), "found": found, "last": self._last_of(trace)}

    @staticmethod
    def _last_of(trace: Path) -> set[str]:
        """Return lines of generated files of which the trace has only the last of several lines."""
        from peakline._report import Trace

        facts = Trace(str(trace)).info()["meta"]
        keys = [key for key, value in facts.items() if value.startswith("last\n")]
        found = [key.split(":", 4) for key in keys if key.startswith("compiled:line:")]
        return {f"{Path(file).name}:{line}" for _, _, _, line, file in found}

    def _peakline(self, model: str, *words: str) -> str:
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT / "pyhook"),
            "TORCHINDUCTOR_CACHE_DIR": str(self.cache_of(model)),
            "TORCHINDUCTOR_COMPILE_THREADS": "1",  # starting workers takes longer than they save
        }
        result = subprocess.run(
            [sys.executable, "-m", "peakline", *words],
            env=environment,
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )
        if result.returncode != 0:
            raise SystemExit(f"{model}: {' '.join(words)}\n{result.stderr}")
        return result.stdout


def verdicts(run: Mapping[str, Any], judge: Judge) -> list[tuple[Verdict, Mapping[str, Any]]]:
    """Return every allocation of a buffer of compiled code."""
    theirs = run["allocations"]
    ours = run["found"][-len(theirs) :]
    assert [one["address"] for one in ours] == [one["address"] for one in theirs]
    found = []
    for event, other in zip(ours, theirs, strict=True):
        frames = other["frames"]
        if frames and not any(_AUTOTUNES in frame[0] for frame in frames):
            verdict = judge.verdict(event, other)
            if verdict is not None:
                found.append((verdict, event))
    return found


class Shares(NamedTuple):
    """The result of one run."""

    bytes: int
    line: float
    stated: float  # the row says that it is the last of several lines
    wrong: float
    forward: float
    backward: float


def percent(part: int, whole: int) -> float:
    return 100.0 * part / whole if whole else 100.0


def shares(found: list[tuple[Verdict, Mapping[str, Any]]], title: str) -> Shares:
    lines: Counter[str] = Counter()
    modules: Counter[tuple[str, str]] = Counter()
    lost: Counter[str] = Counter()
    for verdict, event in found:
        lines[verdict.line] += event["bytes"]
        if verdict.module:
            modules[verdict.direction, verdict.module] += event["bytes"]
        if verdict.line not in ("right", "no line") or verdict.module not in ("right", ""):
            place = event["line"].rpartition("/")[2]
            what = f"{verdict.direction}: line {verdict.line}, module {verdict.module or '-'}"
            lost[f"{what}: {place} in {event['module']}"] += event["bytes"]
    for what, size in lost.most_common(12):
        print(f"    {title} {size / 1e6:8.3f} MB {what}", file=sys.stderr)
    total = sum(lines.values())
    known = total - lines["no line"]

    def of_modules(direction: str) -> float:
        whole = sum(size for (where, _), size in modules.items() if where == direction)
        return percent(modules[direction, "right"], whole)

    wrong = lines["wrong"] + lines["same kernel"]
    return Shares(
        total,
        percent(lines["right"], known),
        percent(lines["last of several"], known),
        percent(wrong, known),
        of_modules("forward"),
        of_modules("backward"),
    )


def measured(models: Models, model: str) -> dict[str, Shares]:
    program = str(models.folder / "compiled_models.py")
    shutil.rmtree(models.cache_of(model), ignore_errors=True)
    result = {}
    runs = ["cold", "warm"] + ["edited"] * (model in EDITED)
    files: dict[str, Any] = {}
    for name in runs:
        shift = SHIFT if name == "edited" else 0
        run = models.run(model, name, is_shifted=bool(shift))
        files = files or run["files"]
        found = verdicts(run, Judge(files, run["last"], program, shift))
        result[name] = shares(found, name)
        print(row(model, name, result[name]), file=sys.stderr, flush=True)
    return result


def table(results: Mapping[str, Mapping[str, Shares]]) -> list[str]:
    return [
        "| model | cache | MB | line | last of several | wrong | forward module | backward |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        *(row(model, name, one) for model, runs in results.items() for name, one in runs.items()),
    ]


def row(model: str, name: str, one: Shares) -> str:
    return (
        f"| {model} | {name} | {one.bytes / 1e6:.0f} | {one.line:.1f} % | {one.stated:.1f} %"
        f" | {one.wrong:.1f} % | {one.forward:.1f} % | {one.backward:.1f} % |"
    )


def is_met(results: Mapping[str, Mapping[str, Shares]]) -> bool:
    every = [one for runs in results.values() for one in runs.values()]
    cold = [runs["cold"] for runs in results.values()]
    return (
        all(one.line >= AIM_LINES and not one.wrong for one in every)
        and all(one.forward >= AIM_FORWARD for one in every)
        and all(one.backward >= AIM_BACKWARD for one in cold)
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default=",".join(compiled_models.MODELS))
    parser.add_argument("--folder", type=Path, help="keep traces and caches here")
    parser.add_argument("--out", type=Path, help="also write the table here")
    asked = parser.parse_args()
    folder = asked.folder or Path(tempfile.mkdtemp())
    models = Models(folder.absolute())
    results = {}
    for model in asked.models.split(","):
        print(f"{model} ...", file=sys.stderr, flush=True)
        results[model] = measured(models, model)
    lines = table(results)
    if asked.out is not None:
        asked.out.write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
    if asked.folder is None:
        shutil.rmtree(folder)
    return 0 if is_met(results) else 1


if __name__ == "__main__":
    sys.exit(main())
