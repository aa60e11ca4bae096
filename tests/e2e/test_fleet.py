"""Tables of real runs, and questions about them; expected values are torch's own counters."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from lab import PROGRAMS, ROOT, Lab, Run

sys.path.insert(0, str(ROOT / "tests" / "fleet"))
from s3_store import BUCKET, LACKING, s3_server  # noqa: E402

pytestmark = pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("duckdb", "pyarrow"))),
    reason="needs duckdb and pyarrow: make setup",
)
RANKS = (0, 1, 2)


def run_ranks(lab: Lab, folder: Path, ranks: Sequence[int]) -> Run:
    """One run of several processes; each prints its peak."""
    program = f"{lab.python} {PROGRAMS / 'differs_by_rank.py'}"
    words = "; ".join(f"RANK={rank} {program}" for rank in ranks)
    run = lab.recorded(
        folder, "--", "bash", "-c", words, options=["-q", "-o", str(folder / "run.%r.peak")]
    )
    assert run.status == 0, run.stderr
    assert len(run.traces) == len(ranks)
    return run


@pytest.fixture(scope="module")
def runs(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Run]:
    """Two versions of a job; the later one has ranks that hold more."""
    folder = tmp_path_factory.mktemp("runs")
    return run_ranks(lab, folder / "old", (0,)), run_ranks(lab, folder / "new", RANKS)


@pytest.fixture(scope="module")
def fleet(lab: Lab, runs: tuple[Run, Run], tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = str(tmp_path_factory.mktemp("fleet"))
    for run, version in zip(runs, ("1.0", "1.1"), strict=True):
        traces = [str(run.folder)] if version == "1.0" else list(map(str, run.traces))
        labels = ["--label", f"version={version}", "--label", "team=a b"]
        done = lab.peakline("export", "parquet", *traces, "-o", folder, *labels)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.splitlines()[0].startswith(f"Wrote {folder}: ")
    return folder


def rows(lab: Lab, fleet: str, *words: str) -> list[dict[str, Any]]:
    done = lab.peakline("fleet", fleet, "--json", *words)
    assert (done.returncode, done.stderr) == (0, "")
    found: list[dict[str, Any]] = json.loads(done.stdout)["rows"]
    return found


def test_ranks_are_those_of_the_runs_with_the_peaks_of_torch(
    lab: Lab, runs: tuple[Run, Run], fleet: str
) -> None:
    found = rows(lab, fleet, "--sql", "select * from ranks order by version, rank")
    told = [said["peak"] for run in runs for said in run.documents]
    assert [row["peak_bytes"] for row in found] == told
    assert [row["rank_name"] for row in found] == ["rank 0", "rank 0", "rank 1", "rank 2"]
    assert len({row["run_id"] for row in found[1:]}) == 1
    assert found[0]["run_id"] != found[1]["run_id"]
    for row in found:
        assert row["labels"]["team"] == "a b"
        assert (row["end_reason"], row["refused_count"], row["complete"]) == ("end", 0, True)
        assert row["peak_bytes"] <= row["reserved_peak_bytes"] <= row["used_peak_bytes"]
        assert row["used_peak_bytes"] <= row["device_total_bytes"]


def test_lines_and_groups_sum_to_the_peaks(lab: Lab, fleet: str) -> None:
    for table, kinds in (("sites", 1), ("groups", 3)):
        found = rows(
            lab,
            fleet,
            "--sql",
            f"select r.peak_bytes * {kinds} - sum(t.bytes) as rest, count(*) as found"
            f" from {table} t join ranks r on r.rank_id = t.rank_id"
            " group by r.rank_id, r.peak_bytes",
        )
        assert [row["rest"] for row in found] == [0] * 4
        assert all(row["found"] > 1 for row in found)


def test_lines_are_those_of_the_table_with_paths_of_the_repository(
    lab: Lab, runs: tuple[Run, Run], fleet: str
) -> None:
    table = lab.table(runs[0].traces[0])
    found = rows(
        lab, fleet, "--sql", "select * from sites where version = '1.0' order by bytes desc, line"
    )
    expected = sorted(table["rows"], key=lambda row: (-row["bytes"], row["location"]["line"]))
    for row, wanted in zip(found, expected, strict=True):
        assert row["file"] == "tests/programs/differs_by_rank.py"
        assert wanted["location"]["file"] == str(PROGRAMS / "differs_by_rank.py")
        assert (row["line"], row["function"]) == (
            wanted["location"]["line"],
            wanted["location"]["qualified_name"],
        )
        for ours, theirs in (("bytes", "bytes"), ("blocks", "count")):
            assert row[ours] == wanted[theirs]
        for name in ("median_bytes", "backward_bytes"):
            assert row[name] == wanted[name]


def test_the_ranks_that_differ_are_found(lab: Lab, runs: tuple[Run, Run], fleet: str) -> None:
    told = [said["peak"] for said in runs[1].documents]
    [row] = rows(lab, fleet, "ranks")
    assert (row["highest_rank"], row["highest_bytes"]) == ("rank 2", max(told))
    assert (row["lowest_rank"], row["lowest_bytes"]) == ("rank 0", min(told))
    assert row["spread_bytes"] == max(told) - min(told)


def test_a_version_is_compared_with_the_one_before(
    lab: Lab, runs: tuple[Run, Run], fleet: str
) -> None:
    old, new = ([said["peak"] for said in run.documents] for run in runs)
    found = rows(lab, fleet, "regressions")
    grown = sum(row["more_bytes"] for row in found)
    assert grown == pytest.approx(sum(new) / len(new) - sum(old) / len(old))
    assert {row["ranks_after"] for row in found} == {3}
    back = rows(lab, fleet, "regressions", "--version", "1.1", "--version", "1.0")
    assert back == []


def test_text_has_units_and_names_lines(lab: Lab, fleet: str) -> None:
    listed = lab.peakline("fleet", fleet)
    for name in ("waste", "regressions", "gb-hours", "limits", "ranks"):
        done = lab.peakline("fleet", fleet, name, "--near", "0", "--top", "1")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.splitlines()[0] in listed.stdout
        assert " GB" in done.stdout or " MB" in done.stdout
    assert "tests/programs/differs_by_rank.py:" in lab.peakline("fleet", fleet, "gb-hours").stdout


def test_a_trace_that_cannot_be_read_is_named_and_the_others_are_written(
    lab: Lab, runs: tuple[Run, Run], tmp_path: Path
) -> None:
    broken = tmp_path / "broken.peak"
    broken.write_bytes(b"no trace")
    traces = [str(broken), str(runs[0].traces[0])]
    done = lab.peakline("export", "parquet", *traces, "-o", str(tmp_path / "fleet"))
    assert done.returncode == 2
    assert str(broken) in done.stderr
    assert "1 trace," in done.stdout
    assert len(rows(lab, str(tmp_path / "fleet"), "waste")) == 1


def test_one_run_of_a_folder_is_chosen_by_its_id(
    lab: Lab, runs: tuple[Run, Run], fleet: str, tmp_path: Path
) -> None:
    folder = runs[1].folder.parent
    [row] = rows(lab, fleet, "--sql", "select min(run_id) as id from ranks where version = '1.0'")
    chosen = f"{folder}@{row['id'][:8]}"
    done = lab.peakline("export", "parquet", chosen, "-o", str(tmp_path / "one"))
    assert (done.returncode, done.stderr) == (0, "")
    done = lab.peakline("export", "parquet", str(folder), "-o", str(tmp_path / "both"))
    assert (done.returncode, done.stderr) == (0, "")
    for name, count in (("one", 1), ("both", 4)):
        assert len(rows(lab, str(tmp_path / name), "--sql", "select * from ranks")) == count


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A store that is found by what users of AWS set."""
    with s3_server() as environment:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        yield f"s3://{BUCKET}"


@pytest.mark.skipif(bool(LACKING), reason=f"needs {', '.join(LACKING)}: make setup")
def test_a_store_has_the_tables_of_a_folder(
    lab: Lab, runs: tuple[Run, Run], fleet: str, bucket: str
) -> None:
    url = f"{bucket}/fleet"
    for run, version in zip(runs, ("1.0", "1.1"), strict=True):
        labels = ["--label", f"version={version}", "--label", "team=a b"]
        done = lab.peakline("export", "parquet", str(run.folder), "-o", url, *labels)
        assert (done.returncode, done.stderr) == (0, "")
        assert f"Next: peakline fleet {url}" in done.stdout
    for question in ("waste", "regressions", "gb-hours", "limits", "ranks"):
        assert rows(lab, url, question) == rows(lab, fleet, question)
    done = lab.peakline("export", "parquet", str(runs[0].folder), "-o", "s3://nobody/fleet")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "there is no bucket nobody" in done.stderr
    done = lab.peakline("fleet", url, "--compact")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_running_out_of_memory_is_a_limit_that_was_reached(lab: Lab, tmp_path: Path) -> None:
    run = lab.once("runs_out_of_memory.py")
    folder = str(tmp_path / "fleet")
    done = lab.peakline("export", "parquet", "--tables", str(run.trace), "-o", folder)
    assert done.returncode == 0, done.stderr
    [row] = rows(lab, folder, "limits")
    [refused] = run.said["refused"]
    assert row["refused"] == 1
    assert row["device_total_bytes"] == refused["total"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("waste", "--sql", "select 1"), "not both"),
        (("wastes",), "did you mean waste"),
        (("waste", "--by", "line"), "--by is about lines"),
        (("regressions", "--version", "1.0"), "name both"),
        (("--sql", "select nothing"), "DuckDB"),
        (("waste", "--since", "soon"), "is no time"),
    ],
)
def test_what_cannot_be_asked_is_told(
    lab: Lab, fleet: str, words: tuple[str, ...], said: str
) -> None:
    done = lab.peakline("fleet", fleet, *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("csv", "{trace}", "{trace}"), "takes one trace"),
        (("parquet", "{trace}", "{trace}"), "name it with -o"),
        (("parquet", "{trace}", "--label", "version=1"), "add --tables"),
        (("parquet", "{trace}", "--tables", "--during", "step@1", "-o", "x"), "whole runs"),
        (("parquet", "{trace}", "--tables", "--label", "version", "-o", "x"), "not NAME=VALUE"),
    ],
)
def test_what_cannot_be_exported_is_told(
    lab: Lab, runs: tuple[Run, Run], words: tuple[str, ...], said: str
) -> None:
    trace = str(runs[0].traces[0])
    done = lab.peakline("export", *(word.format(trace=trace) for word in words))
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.parametrize(
    ("module", "words", "said"),
    [
        ("duckdb", (), "pip install 'peakline[fleet]'"),
        ("pyarrow", (), "pip install 'peakline[fleet]'"),
        ("pyspark", ("--engine", "spark"), "pip install 'peakline[spark]'"),
        ("fsspec", (), "pip install 'peakline[fleet]'"),
    ],
)
def test_what_is_not_installed_is_named_with_how_to_install_it(
    lab: Lab, fleet: str, tmp_path: Path, module: str, words: tuple[str, ...], said: str
) -> None:
    program = f"import sys; sys.modules[{module!r}] = None; from peakline.commands import main"
    place = "s3://bucket/fleet" if module == "fsspec" else fleet
    program += f"; sys.exit(main({['fleet', place, 'waste', *words]!r}))"
    done = lab.plain(tmp_path, lab.python, "-c", program)
    assert done.status == 2
    assert module in done.stderr and said in done.stderr
    assert "Traceback" not in done.stderr
