"""How long questions about a fleet take: many small files as they are exported, then compacted.

    python tests/bench/bench_fleet.py                     # 10,000 runs of 2,000 lines: 1 GB
    python tests/bench/bench_fleet.py --runs 500 --spark  # with Spark beside DuckDB
    python tests/bench/bench_fleet.py --runs 100000 --sites 500 --joined --times 1

Runs never ran: lines, versions and sizes are drawn by a seed. Needs duckdb, pyarrow, numpy.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "pyhook"))
sys.path.insert(0, str(ROOT / "tests" / "fleet"))

from peakline.fleet.asking import answer, open_engine  # noqa: E402
from peakline.fleet.compaction import compact  # noqa: E402
from peakline.fleet.places import stable_hash  # noqa: E402
from peakline.fleet.questions import QUESTIONS, Asked  # noqa: E402
from peakline.fleet.tables import (  # noqa: E402
    SCHEMAS,
    arrow_table,
    write_rows,
    write_table,
)
from synthetic import Size, make_fleet  # noqa: E402

PROGRAMS = 20
TOP = 20
RUNS_OF_A_FILE = 2000


class Lines:
    """The lines of one program; a run holds memory at some of them."""

    def __init__(self, program: int, count: int) -> None:
        files = [f"train{program}/part{i % 40}.py" for i in range(count)]
        functions = [f"Layer{i // 5}.forward" for i in range(count)]
        places = list(zip(files, range(1, count + 1), functions, strict=True))
        self.columns = {
            "line_hash": np.array([stable_hash(*place) for place in places]),
            "function_hash": np.array([stable_hash(file, name) for file, _, name in places]),
            "file": np.array(files, object),
            "line": np.arange(1, count + 1, dtype=np.int32),
            "function": np.array(functions, object),
        }

    def sites(self, draw: np.random.Generator, rank_id: int, count: int) -> pa.Table:
        """Return `count` lines with sizes, the largest first."""
        chosen = draw.permutation(len(self.columns["line"]))[:count]
        sizes = np.sort(draw.lognormal(13, 2.5, count).astype(np.int64) // 512 * 512)[::-1]
        blocks = draw.integers(1, 200, count)
        arrays = {name: values[chosen] for name, values in self.columns.items()}
        arrays |= {
            "rank_id": np.full(count, rank_id),
            "bytes": sizes,
            "blocks": blocks,
            "median_bytes": sizes // blocks,
            "backward_bytes": sizes * (draw.random(count) < 0.3),
            "total_allocated_bytes": sizes * draw.integers(1, 1000, count),
        }
        columns = [pa.array(arrays[field.name], field.type) for field in SCHEMAS["sites"]]
        return pa.Table.from_arrays(columns, schema=SCHEMAS["sites"])


def write_fleet(folder: Path, runs: int, sites: int) -> None:
    """Write a rank for each run: what is small is made as in the tests."""
    draw = np.random.default_rng(1)
    programs = [Lines(program, sites + sites // 4) for program in range(PROGRAMS)]
    ranks = make_fleet(1, Size(runs=runs, most_ranks=1, lines=5, programs=PROGRAMS))
    for number, rank in enumerate(ranks):
        [row] = rank.tables["ranks"]
        lines = programs[int(row["script"].removeprefix("train"))]
        table = lines.sites(draw, row["rank_id"], sites)
        row["peak_bytes"] = pc.sum(table["bytes"]).as_py()
        write_rows(folder, rank)
        stem = f"{rank.identity.file_stem}.parquet"
        write_table(table, folder / "sites" / rank.identity.folder / stem)
        if number % 100 == 0 and sys.stderr.isatty():
            print(f"\r{number:,} runs written", end="", file=sys.stderr)


def write_joined(folder: Path, runs: int, sites: int) -> None:
    """Write a rank for each run to few large files, as compaction leaves them."""
    draw = np.random.default_rng(1)
    programs = [Lines(program, sites + sites // 4) for program in range(PROGRAMS)]
    small: dict[str, list[pa.Table]] = {name: [] for name in SCHEMAS if name != "sites"}
    for first in range(0, runs, RUNS_OF_A_FILE):
        size = Size(runs=min(RUNS_OF_A_FILE, runs - first), most_ranks=1, lines=5)
        ranks = make_fleet(first, replace(size, programs=PROGRAMS))
        tables = []
        for rank in ranks:
            [row] = rank.tables["ranks"]
            lines = programs[int(row["script"].removeprefix("train"))]
            tables.append(lines.sites(draw, row["rank_id"], sites))
            row["peak_bytes"] = pc.sum(tables[-1]["bytes"]).as_py()
        write_table(pa.concat_tables(tables), folder / f"sites/run=many/{first}.parquet")
        for name, parts in small.items():
            parts.append(arrow_table(name, (row for rank in ranks for row in rank.tables[name])))
    for name, parts in small.items():
        write_table(pa.concat_tables(parts), folder / f"{name}/run=many/all.parquet")


def seconds_of(work: Callable[[], object]) -> float:
    begin = time.monotonic()
    work()
    return time.monotonic() - begin


def ask_all(folder: Path, engine_name: str, count: int) -> None:
    """Print the time of every question, with the engine's start and the rows read from disk."""
    for name, question in QUESTIONS.items():
        versions = ("1.4.2", "1.5.0") if question.compares else ()
        asked = Asked(versions=versions, top=TOP)

        def ask(question=question, asked=asked) -> None:  # type: ignore[no-untyped-def]
            engine = open_engine(engine_name, str(folder))
            try:
                answer(engine, question, asked)
            finally:
                engine.close()

        times = sorted(seconds_of(ask) for _ in range(count))
        print(f"  {engine_name} {name:<12} {times[count // 2]:8.2f} s")


def size_of(folder: Path) -> str:
    files = list(folder.rglob("*.parquet"))
    size = sum(path.stat().st_size for path in files)
    return f"{len(files):,} files, {size / 1e6:,.0f} MB"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--sites", type=int, default=2_000, help="lines of each run")
    parser.add_argument("--spark", action="store_true", help="ask Spark, too, when compacted")
    parser.add_argument("--joined", action="store_true", help="write few large files at once")
    parser.add_argument("--times", type=int, default=3, help="ask so often; the middle is printed")
    parser.add_argument("--folder", type=Path, help="write here, and leave it")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        write = write_joined if arguments.joined else write_fleet
        taken = seconds_of(lambda: write(folder, arguments.runs, arguments.sites))
        print(f"{arguments.runs:,} runs x {arguments.sites:,} lines, written in {taken:.0f} s")
        if not arguments.joined:
            print(f"as exported: {size_of(folder)}")
            ask_all(folder, "duckdb", arguments.times)
            taken = seconds_of(lambda: compact(folder))
            print(f"compacted in {taken:.0f} s")
        print(f"compacted: {size_of(folder)}")
        for engine in ("duckdb", "spark") if arguments.spark else ("duckdb",):
            ask_all(folder, engine, arguments.times)
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"at most {most:,.0f} MB of memory")


if __name__ == "__main__":
    main()
