"""Every backend and every choice of stacks records what it promises."""

from __future__ import annotations

import functools
import subprocess
import sys
from pathlib import Path

import pytest
from checks import check_peak, check_whole, without_device
from lab import ROOT, Lab, together

OWN_ALLOCATOR = r"""
#include <sys/types.h>
extern int cudaMalloc(void**, size_t);
extern int cudaFree(void*);
void* own_malloc(ssize_t size, int device, void* stream) {
    void* block = 0;
    cudaMalloc(&block, size);
    return block;
}
void own_free(void* block, ssize_t size, int device, void* stream) { cudaFree(block); }
"""


@pytest.mark.parametrize("backend", ["delegate", "observe"])
def test_over_torchs_own_allocator_the_peak_is_exact(each_lab: Lab, backend: str) -> None:
    run = each_lab.once("train_model.py", "transformer", options=["--backend", backend])
    check_peak(each_lab.table(run.trace), run.said["peaks"]["0"]["allocated"])
    assert run.notes == []


@pytest.mark.parametrize("backend", ["native", "async", "malloc"])
def test_a_pluggable_backend_counts_what_the_program_asked_for(each_lab: Lab, backend: str) -> None:
    options = ["--backend", f"pluggable:{backend}"]
    run = each_lab.once("holds_sizes.py", options=options)
    table = each_lab.table(run.trace, "--measure", "requested")
    check_peak(table, run.said["peak"])
    assert [row["location"]["line"] for row in table["rows"]] == run.said["lines"]


@pytest.mark.parametrize("backend", ["delegate", "observe", "pluggable"])
def test_what_torch_says_of_its_backend(lab: Lab, backend: str) -> None:
    run = lab.once("holds_sizes.py", options=["--backend", backend])
    expected = "pluggable" if backend == "pluggable" else "native"
    assert run.said["backend"] == expected


@pytest.mark.parametrize("stacks", ["all", "python"])
def test_python_stacks_give_lines(lab: Lab, stacks: str) -> None:
    run = lab.once("holds_sizes.py", options=["--stacks", stacks])
    table = lab.table(run.trace, "--measure", "requested")
    check_peak(table, run.said["peak"])
    assert [row["location"]["line"] for row in table["rows"]] == run.said["lines"]


@pytest.mark.parametrize("stacks", ["native", "none"])
def test_without_python_stacks_the_peak_is_as_exact(lab: Lab, stacks: str) -> None:
    run = lab.once("holds_sizes.py", options=["--stacks", stacks])
    table = lab.table(run.trace, "--measure", "requested")
    check_peak(table, run.said["peak"])
    native = stacks == "native"
    assert any(row["location"] for row in table["rows"]) == native
    assert all(row["location"]["native"] for row in table["rows"] if row["location"])
    assert run.notes == []


@pytest.mark.parametrize("recorded", [False, True])
def test_the_plain_allocator_loaded_by_hand_records_lines(lab: Lab, recorded: bool) -> None:
    run = lab.run("own_allocator.py", recorded=recorded)
    lines = without_device(run.stdout).splitlines()
    assert lines[0] == "Max mem: 4.769 MB"
    assert run.said["peak"] == 5_001_077
    functions = [line.split("  via ")[0].rsplit(" ", 1)[1] for line in lines[3:-1]]
    assert functions == ["(<module>)", "(empty)"]
    if recorded:
        table = lab.table(run.trace, "--measure", "requested")
        check_whole(table)
        assert table["peak_bytes"] == run.said["peak"]


def test_a_program_with_an_allocator_of_its_own_runs_on_and_is_told_once(
    lab: Lab, tmp_path: Path
) -> None:
    library = tmp_path / "libown.so"
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(library)],
        input=OWN_ALLOCATOR,
        text=True,
        check=True,
    )
    plain = lab.run("swaps_allocator.py", str(library), recorded=False)
    run = lab.run("swaps_allocator.py", str(library))
    assert run.said == plain.said
    assert len(run.notes) == 1, run.notes
    assert "allocator" in run.notes[0]


def test_a_part_built_for_another_build_of_torch_is_not_used(lab: Lab, tmp_path: Path) -> None:
    part = tmp_path / "libother_part.so"
    source = 'const char peakline_torch_build[] = "another build";'
    command = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(part)]
    subprocess.run(command, input=source, text=True, check=True)
    run = lab.run("train_model.py", "transformer", environment={"PEAKLINE_TORCH_PART": str(part)})
    [note] = run.notes
    assert "'observe'" in note
    assert "of another build of torch" in note
    assert "peakline doctor --build" in note
    check_peak(lab.table(run.trace), run.said["peaks"]["0"]["allocated"])


def cache_with_part(lab: Lab, base: Path) -> Path:
    """A cache with a part for this torch that leaves a file beside the cache when it is loaded."""
    from peakline import _recorder
    from peakline.builds.native_build import find_torch, torch_build

    folder = base / "cache" / "folder"
    folder.mkdir(parents=True)
    source = f"""
        #include <fcntl.h>
        __attribute__((constructor)) void loaded(void) {{
            open("{base}/loaded", O_CREAT | O_WRONLY, 0600);
        }}"""
    command = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(folder / "part.so")]
    subprocess.run(command, input=source, text=True, check=True)
    torch = find_torch(lab.python)
    link = base / "cache" / _recorder.torch_part_name(torch.version, torch_build(torch))
    link.symlink_to("folder/part.so")
    for path in (folder.parent, folder, folder / "part.so"):
        path.chmod(0o755)
    return folder.parent


def test_a_part_that_others_could_have_written_is_not_loaded(lab: Lab, tmp_path: Path) -> None:
    """Under LD_PRELOAD alone, where only the recorder looks at the cache."""
    program = (lab.python, "-c", "import torch; torch.empty(1, device='cuda')")
    opened = {"good": None, "part": "folder/part.so", "folder": "folder", "cache": "."}
    jobs = {}
    for name, path in opened.items():
        cache = cache_with_part(lab, tmp_path / name)
        if path is not None:
            (cache / path).chmod(0o777)
        # The simulated GPU of this run is in the usual cache.
        own = (f"PEAKLINE_CACHE_DIR={cache}", f"HOME={tmp_path}", "PEAKLINE_OUTPUT=run.peak")
        words = ("env", "-u", "XDG_CACHE_HOME", *own, *program)
        jobs[name] = functools.partial(lab.preloaded, tmp_path / name, *words)
    runs = together(jobs)
    assert [run.status for run in runs.values()] == [0] * len(runs)
    assert [name for name in runs if (tmp_path / name / "loaded").exists()] == ["good"]
    notes = {name: run.notes[0] for name, run in runs.items()}
    assert "of another build of torch" in notes["good"]
    for name in ("part", "folder", "cache"):
        refused = (tmp_path / name / "cache" / str(opened[name])).resolve()
        assert f"other users can write to {refused} " in notes[name]


def test_a_build_of_a_library_has_its_own_name(tmp_path: Path) -> None:
    sys.path.insert(0, str(ROOT / "pyhook"))
    from peakline.builds.build_id import library_build

    def build(name: str, *options: str) -> Path:
        library = tmp_path / name
        words = ["cc", "-shared", "-x", "c", "/dev/null", "-o", str(library), *options]
        subprocess.run(words, check=True)
        return library

    assert library_build(build("one.so", "-Wl,--build-id=0x0123456789abcdef00")) == (
        "b0123456789abcdef"
    )
    plain = build("two.so", "-Wl,--build-id=none")
    facts = plain.stat()
    assert library_build(plain) == f"s{facts.st_size:x}-{int(facts.st_mtime):x}"
    assert library_build(tmp_path / "missing.so") == "none"
