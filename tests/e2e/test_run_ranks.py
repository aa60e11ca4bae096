"""Every process is in the right run, under its rank; the oracle is what the ranks print."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest
from lab import ON_GPU, PROGRAMS, Lab, Run, together

pytestmark = pytest.mark.skipif(ON_GPU, reason="a rank wants a device of its own")

JOB = str(PROGRAMS / "rank_job.py")


def free_port() -> str:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return str(one.getsockname()[1])


def torchrun(lab: Lab, ranks: int, *options: str) -> list[str]:
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)]
    return [lab.python, *launch, *options, JOB]


def said_by(run: Run) -> dict[int, int]:
    """The peak that torch had last in each rank's process."""
    return {said["rank"]: said["peak"] for said in run.documents}


def compared(lab: Lab, what: Path | str, *options: str) -> dict[str, Any]:
    done = lab.peakline("ranks", str(what), "--json", *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def peaks_of(document: dict[str, Any]) -> dict[int, int]:
    return {one["rank"]: one["peak_bytes"] for one in document["processes"]}


@pytest.fixture(scope="module")
def jobs(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """Two jobs at once in one folder, and others beside it."""
    base = tmp_path_factory.mktemp("jobs")

    def job(folder: str, *words: str, device: str = "h200x4") -> Any:
        return lambda: lab.recorded(base / folder, "--", *words, options=["-q"], device=device)

    spawn = [lab.python, JOB, "spawn", free_port(), "2"]
    done = together(
        {
            "four": job("both", *torchrun(lab, 4)),
            "two": job("both", *torchrun(lab, 2)),
        }
    )
    preloaded = lambda: lab.preloaded(base / "preloaded", *torchrun(lab, 1))  # noqa: E731
    return done | together(
        {
            "spawn": job("spawn", *spawn, device="h200"),
            "dies": job("dies", *torchrun(lab, 2), "dies", "1"),
            "fails": job("fails", *torchrun(lab, 1, "--max-restarts", "1"), "fails"),
            "preloaded": preloaded,
        }
    )


def folder_of(run: Run, ranks: int) -> Path:
    """The folder of the run that has so many traces."""
    folders = [one for one in run.folder.glob("peakline-rank_job.*") if one.is_dir()]
    [found] = [one for one in folders if len(list(one.glob("*.peak"))) == ranks]
    return found


@pytest.mark.parametrize(("name", "count"), [("four", 4), ("two", 2)])
def test_two_jobs_in_one_folder_do_not_mix(
    lab: Lab, jobs: dict[str, Run], name: str, count: int
) -> None:
    run = jobs[name]
    assert run.status == 0, run.stderr
    folder = folder_of(run, count)
    host = socket.gethostname()
    names = {one.name for one in folder.glob("*.peak")}
    assert names == {f"rank{rank}.{host}.peak" for rank in range(count)}
    document = compared(lab, folder)
    assert peaks_of(document) == said_by(run)
    assert (document["world_size"], document["missing_ranks"]) == (count, [])
    assert document["heaviest"]["rank"] == count - 1
    assert {one["complete"] for one in document["processes"]} == {True}
    lines = {row["key"]: row for row in document["rows"]}
    sums = {one["rank"]: 0 for one in document["processes"]}
    for rank in sums:
        table = lab.table(folder / f"rank{rank}.{host}.peak")
        sums[rank] = sum(row["bytes"] for row in table["rows"])
    assert sums == said_by(run)
    assert sum(row["max_bytes"] for row in lines.values()) >= max(sums.values())


def test_a_folder_with_two_runs_gives_the_newest_and_names_the_other(
    lab: Lab, jobs: dict[str, Run]
) -> None:
    folder = jobs["four"].folder
    ids = {compared(lab, folder_of(jobs[name], n))["run"] for name, n in (("four", 4), ("two", 2))}
    assert len(ids) == 2
    done = lab.peakline("ranks", str(folder), "--json")
    shown = json.loads(done.stdout)["run"]
    [other] = ids - {shown}
    assert f"{folder}@{other}" in done.stderr
    assert compared(lab, f"{folder}@{other}")["run"] == other
    wrong = lab.peakline("ranks", f"{folder}@nothing")
    assert (wrong.returncode, "no run there" in wrong.stderr) == (2, True)


def test_a_mesh_gives_every_rank_its_place(lab: Lab, jobs: dict[str, Run]) -> None:
    folder = folder_of(jobs["four"], 4)
    found = {one["rank"]: one["coordinates"] for one in compared(lab, folder)["processes"]}
    assert found == {rank: {"dp": rank // 2, "tp": rank % 2} for rank in range(4)}
    given = compared(lab, folder, "--mesh", "tp=2,pp=2")["processes"]
    assert [one["coordinates"] for one in given][2] == {"tp": 1, "pp": 0}
    refused = lab.peakline("ranks", str(folder), "--mesh", "tp=3")
    assert (refused.returncode, "has 3 ranks, the run has 4" in refused.stderr) == (2, True)


def test_ranks_that_only_torch_knows(lab: Lab, jobs: dict[str, Run]) -> None:
    run = jobs["spawn"]
    assert run.status == 0, run.stderr
    document = compared(lab, run.folder)
    assert peaks_of(document) == said_by(run)
    assert {one["pid"] for one in document["processes"]} == {s["pid"] for s in run.documents}


def test_a_rank_that_dies_is_cut_and_its_peak_is_there(lab: Lab, jobs: dict[str, Run]) -> None:
    run = jobs["dies"]
    assert run.status != 0
    document = compared(lab, folder_of(run, 2))
    assert peaks_of(document)[1] == said_by(run)[1]
    [dead] = [one for one in document["processes"] if one["rank"] == 1]
    assert dead["complete"] is False
    text = lab.peakline("ranks", str(folder_of(run, 2))).stdout
    assert "Cut: " in text


def test_the_last_attempt_counts(lab: Lab, jobs: dict[str, Run]) -> None:
    run = jobs["fails"]
    assert run.status == 0, run.stderr
    document = compared(lab, run.folder)
    assert {one["attempt"] for one in document["processes"]} == {1}
    assert {one["attempt"] for one in document["other_processes"]} == {0}
    assert peaks_of(document) == said_by(run)


def test_without_peakline_run_the_launchers_name_of_the_job_is_the_run(
    lab: Lab, jobs: dict[str, Run]
) -> None:
    run = jobs["preloaded"]
    assert run.status == 0, run.stderr
    document = compared(lab, run.folder)
    assert document["job"].startswith("torchrun ")
    assert peaks_of(document) == said_by(run)


def test_a_folder_is_an_argument_wherever_a_trace_is(
    lab: Lab, jobs: dict[str, Run], tmp_path: Path
) -> None:
    folder = folder_of(jobs["four"], 4)
    heaviest = max(said_by(jobs["four"]).values())
    file = folder / f"rank3.{socket.gethostname()}.peak"
    for command in ("table", "summary", "phases", "layers", "stats", "ledger"):
        done = lab.peakline(command, str(folder), "--json")
        assert done.returncode == 0, done.stderr
        assert "rank 3 is the heaviest of 4" in done.stderr
        assert done.stdout == lab.peakline(command, str(file), "--json").stdout
    assert json.loads(lab.peakline("table", str(folder), "--json").stdout)["peak_bytes"] == heaviest
    page = lab.peakline("html", str(folder))
    assert (page.returncode, (folder / "ranks.html").exists()) == (0, True), page.stderr
    empty = lab.peakline("table", str(tmp_path))
    assert (empty.returncode, "no trace" in empty.stderr) == (2, True)


def test_runs_are_compared_rank_by_rank(lab: Lab, jobs: dict[str, Run]) -> None:
    four, two = folder_of(jobs["four"], 4), folder_of(jobs["two"], 2)
    found = json.loads(lab.peakline("diff", str(two), str(four), "--json").stdout)
    before, after = said_by(jobs["two"]), said_by(jobs["four"])
    assert [(r["rank"], r["bytes_before"], r["bytes_after"]) for r in found["ranks"]] == [
        (rank, before.get(rank, 0), after[rank]) for rank in range(4)
    ]
    assert [one["delta_bytes"] is None for one in found["ranks"]] == [False, False, True, True]
    chosen = json.loads(lab.peakline("diff", str(two), str(four), "--json", "--rank", "0").stdout)
    assert (chosen["rank"], chosen["delta_bytes"]) == (0, after[0] - before[0])
    refused = lab.peakline("diff", str(two), str(four), "--rank", "3")
    assert (refused.returncode, "not in both runs" in refused.stderr) == (2, True)


def test_a_gate_judges_every_rank(lab: Lab, jobs: dict[str, Run]) -> None:
    four, peaks = folder_of(jobs["four"], 4), said_by(jobs["four"])
    limit = str(sorted(peaks.values())[1])
    done = lab.peakline("check", str(four), "--max-peak", limit, "--json")
    verdicts = json.loads(done.stdout)["limits"]
    assert (done.returncode, [one["holds"] for one in verdicts]) == (1, [True, True, False, False])
    same = lab.peakline("check", str(four), "--baseline", str(four))
    assert same.returncode == 0, same.stdout
