"""Runs PyTorch's own CUDA memory tests on the simulated GPU, or on a real one.

    python tests/pytorch/run_cuda_tests.py CHECKOUT [--recorded] [--real] [--out results.json]
    python tests/pytorch/run_cuda_tests.py --again recorded.json --same-as results.json

CHECKOUT is a checkout of PyTorch, best at the tag of the installed torch; nothing of it is copied.
Every test has a time limit, a crash costs only the test that crashed, and the failures are sorted
by reason: the rules are in reasons.json. Ends with status 1 when a failure has no reason, or when
a test ends otherwise than in the run that --same-as names; 2 when no test ran.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
FILES = ("test_cuda.py", "test_cuda_expandable_segments.py", "test_cuda_multigpu.py")
LIMIT_SECONDS = 60
GOOD = ("passed", "skipped", "passed alone")


def command(args: argparse.Namespace) -> list[str]:
    """The words before the tests."""
    pytest = [args.python, "-m", "pytest", "-q", "-p", "progress_plugin", "-p", "no:cacheprovider"]
    if args.real and not args.recorded:
        return pytest
    peakline = [sys.executable, "-m", "peakline", "run", "-q", "--python", args.python]
    if not args.real:
        peakline += ["--simulate", args.device]
    peakline += ["-o", "trace.%p.peak"] if args.recorded else ["--no-record"]
    return [*peakline, "--", *pytest]


def build(args: argparse.Namespace) -> None:
    """Compile what peakline compiles once: a test's time limit is no place for it."""
    if not args.real or args.recorded:
        with tempfile.TemporaryDirectory() as folder:
            words = command(args)[: command(args).index("--") + 1]
            environment = {**os.environ, "PYTHONPATH": str(ROOT / "pyhook")}
            subprocess.run([*words, "true"], cwd=folder, env=environment, check=True)


def read_progress(file: Path) -> tuple[dict[str, dict[str, Any]], str, list[str]]:
    """What ended, what had started and not ended, and what was collected."""
    ended: dict[str, dict[str, Any]] = {}
    running, collected = "", []
    for line in file.read_text().splitlines() if file.exists() else []:
        said = json.loads(line)
        collected = said.get("collected", collected)
        running = said.get("started", running)
        if "ended" in said:
            ended[said["ended"]] = said
            running = "" if said["ended"] == running else running
    return ended, running, collected


def run_file(args: argparse.Namespace, name: str, folder: Path) -> dict[str, dict[str, Any]]:
    """Run one file of tests to its end, in as many processes as crashes make needed."""
    results: dict[str, dict[str, Any]] = {}
    while True:
        progress = folder / f"{name}.progress"
        progress.unlink(missing_ok=True)
        words = [str(args.checkout / "test" / name)]
        for done in results:
            words += ["--deselect", done]
        words = [*command(args), "--rootdir", str(args.checkout / "test"), *words]
        reason = wait(start(words, progress, folder), progress, args)
        ended, running, collected = read_progress(progress)
        results.update(ended)
        left = [test for test in collected if test not in results]
        if not running or not collected:
            if left or not collected:
                print((folder / "output.txt").read_text()[-3000:], file=sys.stderr)
            return results
        results[running] = {"outcome": reason, "text": tail(folder / "output.txt")}


def start(words: list[str], progress: Path, folder: Path) -> subprocess.Popen[bytes]:
    """Start pytest with the plugin that writes the progress."""
    environment = {
        **os.environ,
        "PROGRESS_FILE": str(progress),
        "PYTHONPATH": f"{HERE}:{ROOT / 'pyhook'}:{os.environ.get('PYTHONPATH', '')}",
    }
    return subprocess.Popen(
        words,
        cwd=folder,
        env=environment,
        stdout=(folder / "output.txt").open("w"),
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def run_words(args: argparse.Namespace, words: list[str], folder: Path) -> dict[str, Any]:
    """Run one test and return how it ended."""
    progress = folder / "alone.progress"
    progress.unlink(missing_ok=True)
    reason = wait(start(words, progress, folder), progress, args)
    ended, _, _ = read_progress(progress)
    return next(iter(ended.values()), {"outcome": reason, "text": tail(folder / "output.txt")})


def tail(file: Path) -> str:
    return file.read_text(errors="replace")[-1500:]


def wait(process: subprocess.Popen[bytes], progress: Path, args: argparse.Namespace) -> str:
    """Wait for the end, or until one test takes too long; return what an unfinished test did."""
    size, quiet = -1, 0.0
    while True:
        try:
            process.wait(timeout=2)
            return "crashed"
        except subprocess.TimeoutExpired:
            now = progress.stat().st_size if progress.exists() else 0
            quiet = 0 if now != size else quiet + 2
            size = now
        # The first test waits for the import of torch.
        if quiet > args.limit:
            os.killpg(process.pid, 9)
            process.wait()
            return "timed out"


def run_alone(args: argparse.Namespace, test: str, folder: Path) -> dict[str, Any]:
    """Run one test in a process of its own: an earlier failure may have left memory behind."""
    file, rest = test.split("::", 1)
    words = [*command(args), "--rootdir", str(args.checkout / "test")]
    return run_words(args, [*words, f"{args.checkout / 'test' / Path(file).name}::{rest}"], folder)


def reason_of(test: str, result: dict[str, Any], rules: list[dict[str, str]]) -> str:
    """The first rule whose patterns are in the test's name and text."""
    for rule in rules:
        if re.search(rule.get("test", ""), test) and re.search(
            rule.get("text", ""), result.get("text", "")
        ):
            return rule["reason"]
    return ""


def report(results: dict[str, dict[str, Any]], rules: list[dict[str, str]]) -> int:
    outcomes = Counter(result["outcome"] for result in results.values())
    print(", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common()))
    groups: dict[str, list[str]] = {}
    for test, result in results.items():
        if result["outcome"] not in GOOD:
            groups.setdefault(reason_of(test, result, rules), []).append(test)
    for reason, tests in sorted(groups.items(), key=lambda item: -len(item[1])):
        print(f"\n{len(tests)}  {reason or 'NO REASON KNOWN'}")
        for test in tests:
            print(f"    {test.split('::', 1)[-1]}")
            if not reason:
                last = results[test]["text"].strip().splitlines()
                print("        " + " | ".join(line.strip() for line in last[-3:])[:300])
    return 1 if "" in groups else 0


def compare(results: dict[str, dict[str, Any]], other: dict[str, dict[str, Any]]) -> int:
    """Print which tests ended otherwise than in another run."""
    tests = sorted({*results, *other})
    outcome = {
        test: tuple(run.get(test, {}).get("outcome", "not run") for run in (other, results))
        for test in tests
    }
    different = [test for test, (there, here) in outcome.items() if there != here]
    print(f"\n{len(tests) - len(different)} of {len(tests)} tests end as in the other run")
    for test in different:
        print(f"    {test.split('::', 1)[-1]}: {outcome[test][0]} there, {outcome[test][1]} here")
    return 1 if different else 0


def conclude(
    args: argparse.Namespace, results: dict[str, dict[str, Any]], rules: list[dict[str, str]]
) -> int:
    """Print everything; return the exit status."""
    if not results:
        print("no test ran", file=sys.stderr)
        return 2
    status = report(results, rules)
    if args.same_as is not None:
        status |= compare(results, json.loads(args.same_as.read_text()))
    return status


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkout", type=Path, nargs="?")
    parser.add_argument("--recorded", action="store_true", help="under peakline")
    parser.add_argument("--real", action="store_true", help="on a real GPU")
    parser.add_argument("--device", default="h200x2")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--limit", type=float, default=LIMIT_SECONDS, help="seconds for a test")
    parser.add_argument("--out", type=Path, help="write every result as JSON")
    parser.add_argument("--again", type=Path, help="only sort the results of an earlier run")
    parser.add_argument("--same-as", type=Path, help="results of another run to compare with")
    parser.add_argument("--files", default=",".join(FILES))
    args = parser.parse_args()
    rules = json.loads((HERE / "reasons.json").read_text())["rules"]
    if args.again:
        return conclude(args, json.loads(args.again.read_text()), rules)
    if args.checkout is None or not (args.checkout / "test" / "test_cuda.py").exists():
        parser.error("name a checkout of PyTorch: it has test/test_cuda.py")
    args.checkout = args.checkout.resolve()
    results: dict[str, dict[str, Any]] = {}
    build(args)
    with tempfile.TemporaryDirectory() as name:
        for file in args.files.split(","):
            results.update(run_file(args, file, Path(name)))
        for test, result in results.items():
            if result["outcome"] not in GOOD and not reason_of(test, result, rules):
                again = run_alone(args, test, Path(name))
                again["outcome"] = again["outcome"].replace("passed", "passed alone")
                results[test] = again
    if args.out:
        args.out.write_text(json.dumps(results, indent=1))
    return conclude(args, results, rules)


if __name__ == "__main__":
    sys.exit(main())
