"""Memory of torch.compile itself: its own phases and rows, and the peak without it."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import pytest
from lab import ON_GPU, ROOT, Lab, Run
from peakline.launch.options import RunOptions
from peakline.launch.run_plan import make_plan


@pytest.fixture(scope="module")
def run(lab: Lab) -> Run:
    return lab.once("compiler_frames.py")


def rows_of(lab: Lab, run: Run, *words: str) -> dict[str, int]:
    return {row["key"]: row["bytes"] for row in lab.table(run.trace, *words)["rows"]}


def test_the_peak_with_and_without_the_compiler_is_torchs_own(lab: Lab, run: Run) -> None:
    table = lab.table(run.trace)
    assert table["peak_bytes"] == run.said["peak"]
    assert table["compiling"] == {
        "peak_without_bytes": run.said["steady"],
        "parts": [{"phase": "autotuning", "bytes": run.said["flushed"]}],
    }
    said = "The peak while compiling is 50.00 MB (autotuning 30.00 MB); without this memory the run"
    for command in ("table", "summary"):
        assert f"{said} peaks at 30.00 MB" in lab.report(command, run.trace)
    # Only the peak of the whole run is compared.
    assert lab.table(run.trace, "--at", "end")["compiling"] is None


def test_memory_of_the_compiler_is_no_line_and_no_module_of_the_program(lab: Lab, run: Run) -> None:
    flushed = run.said["flushed"]
    for by in ("phase", "category", "module"):
        assert rows_of(lab, run, "--by", by)["autotuning"] == flushed
    lines = rows_of(lab, run)
    [tuning] = [line for line in lines if line.startswith("autotuning for ")]
    assert lines[tuning] == flushed
    assert re.search(r"compiler_frames\.py:\d+ \(<lambda>\)$", tuning)


def test_every_phase_of_the_compiler_has_its_bytes(lab: Lab, run: Run) -> None:
    stats = json.loads(lab.report("stats", run.trace, "--json", "--by", "phase"))
    found = {row["key"]: row["bytes"] for row in stats["by_bytes"]}
    assert found["compilation"] == 1 << 20
    assert found["autotuning"] == run.said["flushed"]
    assert found["CUDA graph warm-up"] == 20 << 20


def test_advice_names_the_compiler_once(lab: Lab, run: Run) -> None:
    advice = json.loads(lab.report("advise", run.trace, "--json"))["advice"]
    [one] = [one for one in advice if one["rule"] == "compiling_peak"]
    assert one["saves_bytes"] == run.said["peak"] - run.said["steady"]
    assert one["exact"] and one["held_bytes"] == run.said["flushed"]
    others = [other["key"] or "" for other in advice if other is not one]
    assert not [key for key in others if key.startswith("autotuning")]


def frame_rules() -> list[tuple[str, str]]:
    """Return the files and functions of the rules for phases of the compiler."""
    text = (ROOT / "report/attribute/stacks/phase_rules.cpp").read_text()
    phases = "kCompilation|kAutotuning|kGraphWarmUp"
    rule = rf'\{{"([^"]+)",\s*"([^"]+)",\s*When::\w+,\s*Phase::(?:{phases})\}}'
    return re.findall(rule, text)


def test_the_rules_fit_the_functions_of_the_installed_torch() -> None:
    rules = frame_rules()
    assert len(rules) >= 8
    missing = [rule for rule in rules if not is_in_torch(*rule)]
    assert not missing


# Compiling either takes minutes here; so the names that the report looks for are those of torch.
@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("_inductor/codegen/cpp_wrapper_cpu.py", "def g(args):"),
        ("_inductor/codegen/cpp_wrapper_cpu.py", "void inductor_entry_impl("),
        (
            "include/torch/csrc/inductor/aoti_package/model_package_loader.h",
            "namespace torch::inductor",
        ),
        ("include/torch/csrc/inductor/aoti_package/model_package_loader.h", "class TORCH_API AOTI"),
    ],
)
def test_code_in_cpp_has_the_names_that_the_report_knows(file: str, text: str) -> None:
    assert text in text_of(f"*/torch/{file}")


def text_of(file: str) -> str:
    package, _, path = file.removeprefix("*/").partition("/")
    spec: Any = importlib.util.find_spec(package)
    return (Path(spec.origin).parent / path).read_text()


def is_in_torch(file: str, function: str) -> bool:
    text = text_of(file)
    owner, _, name = function.rpartition(".")
    begin = text.index(f"class {owner}:") if owner else 0
    names = name.replace("*", r"\w*")
    return re.search(rf"def {names}\(", text[begin:]) is not None


@pytest.mark.skipif(ON_GPU, reason="kernels tuned on a real GPU belong to it")
def test_kernels_tuned_on_a_simulated_gpu_stay_out_of_the_usual_cache(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = ("-c", "pass")
    for given in ("", "/chosen"):
        if given:
            monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", given)
        else:
            monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR", raising=False)
        plan = make_plan(RunOptions(program=program, simulate="h200"))
        folder = Path(plan.environment["TORCHINDUCTOR_CACHE_DIR"])
        assert folder == Path(given) if given else folder.name.startswith("torchinductor_simulated")
