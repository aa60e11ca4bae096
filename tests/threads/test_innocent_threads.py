"""Programs without a fault: no finding may accuse them of one.

Sizes, and trades that are true of every training (state of the optimizer, checkpoints, logits in
chunks), may be said.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import peakline
import pytest
from asking import Thread, in_one_line, judge, traces_of

# Trades that would be no news to these programs.
TRADES = {"weight_copies", "generation_cache", "cache_length"}
# Rules that would be a fault in this program alone, which does as they say already.
FAULTS_OF = {
    "twin_loss_in_chunks": {"loss_of_all_tokens"},
    "twin_autocast_inference": {"value_copies"},
    "twin_fused_attention": {"attention_matrix"},
    "twin_checkpoint_per_layer": {"checkpoint_layers"},
}
# True of the program, and meant: said as what it is, it accuses nobody.
MEANT = {
    "twin_mixed_precision": {"weight_copies"},
    "twin_static_cache": {"cache_length"},
}
# Words that are not true of the program.
NEVER = {"twin_averaged_weights": "parameter.*made in the optimizer's steps"}
INNOCENT = (
    "twin_accumulation",
    "twin_adapters",
    "twin_autocast_inference",
    "twin_averaged_weights",
    "twin_batch_norm",
    "twin_checkpoint_per_layer",
    "twin_clipping",
    "twin_denoiser",
    "twin_embeddings_on_host",
    "twin_ensemble",
    "twin_frozen_teacher",
    "twin_fused_attention",
    "twin_gradient_penalty",
    "twin_hooks_that_clear",
    "twin_inference_mode",
    "twin_inner_loop",
    "twin_loss_in_chunks",
    "twin_metrics_as_floats",
    "twin_mixed_precision",
    "twin_no_grad",
    "twin_queue_of_keys",
    "twin_replay_buffer",
    "twin_results_in_place",
    "twin_server",
    "twin_static_cache",
    "twin_train_and_validate",
    "twin_training",
    "twin_truncated_backward",
    "twin_two_networks",
    "twin_weights_loaded",
)


@pytest.fixture(scope="module")
def traces(lab: Any) -> dict[str, Path]:
    return traces_of(lab, INNOCENT)


@pytest.mark.parametrize("program", INNOCENT)
def test_no_finding_accuses_it(lab: Any, traces: dict[str, Path], program: str) -> None:
    found = peakline.open(traces[program]).advise().document["advice"]
    wrong = (TRADES | FAULTS_OF.get(program, set())) - MEANT.get(program, set())
    assert [one for one in found if one["kind"] == "fault" or one["rule"] in wrong] == []
    if program in NEVER:
        text = in_one_line(lab.report("advise", traces[program]))
        assert not re.search(NEVER[program], text), text


@pytest.mark.parametrize("program", INNOCENT)
def test_nothing_of_it_grows(traces: dict[str, Path], program: str) -> None:
    assert peakline.open(traces[program]).leaks().document["growth"] == []


@pytest.mark.parametrize("program", ["twin_training", "twin_server"])
def test_the_end_of_its_run_says_nothing(lab: Any, program: str) -> None:
    never = ("peakline: grows", "rose from", "reserved memory grows")
    judge(lab, Thread(program, (r"wrote .*run\.peak",), never=never))
