"""The examples run, print the table in its literal form, and agree with torch's own counter."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from checks import check_whole_trace, table_rows
from lab import EXAMPLES, Run, together

GPT2 = ("train_gpt2.py", "--steps", "2", "--batch", "2", "--length", "128")
FORWARD = ("forward_call.py", "--scale", "0.125", "--layers", "3", "--context", "1024")
DDP = ("torchrun_ddp.py", "--width", "256", "--layers", "3")
UNITS = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}


def words(example: tuple[str, ...]) -> list[str]:
    return [str(EXAMPLES / example[0]), *example[1:]]


@pytest.fixture(scope="module")
def started(lab: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    base = tmp_path_factory.mktemp("examples")
    torchrun = ["--", lab.python, "-m", "torch.distributed.run", "--standalone"]
    torchrun += ["--nproc-per-node", "2"]
    every_row = ["--top", "0", "-o", "run.peak"]
    return together(
        {
            "ddp": lambda: lab.recorded(
                base / "ddp", *torchrun, *words(DDP), options=["-q"], device="h200x2"
            ),
            "gpt2": lambda: lab.recorded(base / "gpt2", *words(GPT2), options=every_row),
            "checkpointed": lambda: lab.recorded(
                base / "checkpointed", *words(GPT2), "--checkpoint", "5", options=every_row
            ),
            "forward": lambda: lab.unrecorded(base / "forward", lab.python, *words(FORWARD)),
            "forward traced": lambda: lab.recorded(base / "traced", *words(FORWARD)),
        }
    )


def torch_peak(text: str, before: str = "") -> int:
    match = re.search(rf"^{before}max_memory_allocated: (\d+)$", text, re.MULTILINE)
    assert match, text
    return int(match[1])


def shown_bytes(text: str) -> float:
    value, unit = text.split()
    return float(value) * UNITS[unit]


def check_table(text: str, peak_bytes: int) -> list[tuple[str, str]]:
    """The printed peak is torch's own, the rows add up to it, as far as four digits show."""
    rows = table_rows(text)
    [shown] = [line.partition(": ")[2] for line in text.splitlines() if line.startswith("Max mem")]
    assert shown_bytes(shown) == pytest.approx(peak_bytes, rel=1e-3)
    assert sum(shown_bytes(mem) for mem, _ in rows) == pytest.approx(peak_bytes, rel=2e-3)
    return rows


def test_train_gpt2_ends_with_a_table_of_its_exact_peak(lab: Any, started: dict[str, Run]) -> None:
    run = started["gpt2"]
    assert (run.status, run.notes) == (0, []), run.stderr
    peak = torch_peak(run.stdout)
    rows = check_table(run.stderr, peak)
    assert any("train_gpt2.py" in where or "transformers" in where for _, where in rows)
    table = check_whole_trace(lab, run.traces[0], peak)
    assert table["untraced_bytes"] == 0
    assert len(rows) == table["row_count"]


def test_train_gpt2_checkpoints_its_first_layers(lab: Any, started: dict[str, Run]) -> None:
    whole, run = started["gpt2"], started["checkpointed"]
    assert (run.status, run.notes) == (0, []), run.stderr
    layers = ",".join(f"transformer.h.{number}" for number in range(5))
    plan = lab.report("plan", whole.traces[0], "--layers", layers, "--json")
    document = json.loads(plan)
    predicted = document["predicted"]["requested_bytes"] + document["rounding_bytes"]
    assert torch_peak(run.stdout) == pytest.approx(predicted, rel=0.01)


def test_forward_call_reports_parameters_attention_cache_and_the_rest(
    started: dict[str, Run],
) -> None:
    run = started["forward"]
    assert (run.status, run.notes) == (0, []), run.stderr
    assert run.traces == []
    rows = check_table(run.stdout, torch_peak(run.stdout))
    parameters = int(re.search(r"parameters: (\d+)", run.stdout)[1])
    parts = {"untraced": 0.0, "append": 0.0, "attention": 0.0, "other": 0.0}
    for mem, where in rows:
        function = where.rpartition("(")[2].rstrip(")")
        part = "attention" if function == "scores" else function
        parts[part if part in parts else "other"] += shown_bytes(mem)
    # bf16: two bytes a parameter; torch rounds every block up to 512 bytes.
    assert parts["untraced"] == pytest.approx(2 * parameters, rel=0.05)
    # Keys and values of 3 layers, 1 head of 32, 1024 tokens, bf16.
    assert parts["append"] == 3 * 2 * 32 * 1024 * 2
    assert parts["attention"] > 8 * 1024 * 1024 * 4
    assert parts["other"] > 0


def test_forward_call_under_peakline_run_writes_its_trace_as_well(
    lab: Any, started: dict[str, Run]
) -> None:
    run = started["forward traced"]
    assert (run.status, run.notes) == (0, []), run.stderr
    check_table(run.stdout, torch_peak(run.stdout))
    [trace] = run.traces
    check_whole_trace(lab, trace, torch_peak(run.stdout))


def test_every_rank_of_torchrun_writes_a_file_named_by_rank(
    lab: Any, started: dict[str, Run]
) -> None:
    run = started["ddp"]
    assert (run.status, run.notes) == (0, []), run.stderr
    ranks = {}
    for trace in run.traces:
        meta = json.loads(lab.report("summary", trace, "--json"))["meta"]
        assert trace.name == f"rank{meta['rank']}.{meta['host']}.peak"
        assert trace.parent.name.startswith("peakline-torchrun_ddp.")
        ranks[meta["rank"]] = trace
    assert set(ranks) == {"0", "1"}


@pytest.mark.parametrize("rank", [0, 1])
def test_every_rank_has_the_peak_of_its_own_device(
    lab: Any, started: dict[str, Run], rank: int
) -> None:
    run = started["ddp"]
    [trace] = [path for path in run.traces if path.name.startswith(f"rank{rank}.")]
    table = check_whole_trace(lab, trace, torch_peak(run.stdout, f"rank {rank} "))
    assert table["device"] == rank


def test_the_ranks_of_one_run_share_its_id(lab: Any, started: dict[str, Run]) -> None:
    summaries = [json.loads(lab.report("summary", t, "--json")) for t in started["ddp"].traces]
    assert len({summary["run_uuid"] for summary in summaries}) == 1
    assert len({summary["pid"] for summary in summaries}) == 2


@pytest.mark.parametrize("rank", [0, 7])
def test_one_rank_of_eight_of_megatron_has_torchs_peak(lab: Any, tmp_path: Path, rank: int) -> None:
    pytest.importorskip("megatron.core")
    options = ["-q", "-o", "run.peak", "--world", "8", "--rank", str(rank)]
    run = lab.recorded(tmp_path, str(EXAMPLES / "megatron_ranks.py"), options=options)
    assert run.status == 0, run.stderr
    found = re.search(rf"rank {rank}: (\d+) bytes at the peak", run.stdout)
    assert found, run.stdout
    table = check_whole_trace(lab, run.trace, int(found[1]))
    lines = {row["location"]["file"] for row in table["rows"] if row["location"]}
    assert any(file.endswith("examples/megatron_ranks.py") for file in lines)
