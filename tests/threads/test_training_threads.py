"""Training, as the public asks about it: what holds the memory, and what to change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from asking import Thread, asked, judge_recorded, judge_text, traces_of

NO_GRAD = r"run (it|them) under torch\.(no_grad|inference_mode)"
KEYS_AND_VALUES = "keys and values"
KEPT_WITH_GRAPH = r"(?i)kept.*{cause}.*graph"
KEPT_ON_DEVICE = r"(?i)kept.*{cause}.*\.cpu\(\)"
NEITHER = (NO_GRAD, KEYS_AND_VALUES)


def advised(program: str, *says: str, never: tuple[str, ...] = ()) -> Thread:
    return Thread(program, says, "advise", never)


ADVISED = (
    advised("summed_loss", r"(?i)graph.*{cause}.*(item\(\)|no_grad|detach)"),
    advised("metrics_with_graphs", KEPT_WITH_GRAPH, never=NEITHER),
    advised("autocast_cache", "Autocast keeps a copy of each weight.*{cause}", never=NEITHER),
    advised("autocast_validate", "Autocast keeps a copy of each weight.*{cause}", never=NEITHER),
    advised("evaluation_logits", KEPT_ON_DEVICE, never=NEITHER),
    advised(
        "trainer_evaluate",
        r"joined on the device.*trainer_pt_utils\.py:\d+.*eval_accumulation",
        never=NEITHER,
    ),
    advised("stored_on_ctx", "(?i)kept.*{cause}", never=NEITHER),
    advised("create_graph", r"create_graph=True.*{cause}.*autograd\.grad\(\)"),
    advised("checkpoint_whole", "(?i)one checkpoint.*{cause}.*each layer"),
    advised("metric_list_state", KEPT_ON_DEVICE, never=NEITHER),
    advised("foreach_temporaries", r"temporary tensors.*{cause}.*(foreach=False|fused=True)"),
    advised("broadcast_targets", r"\[16000, 16000\].*{cause}", never=NEITHER),
    advised("logits_float32", "(?i)(logits of all tokens|another dtype).*{cause}"),
    advised("step_before_held", "step before.*{cause}.*del the variables"),
    advised("scalars_kept", r"(?i)kept.*{cause}.*(item\(\)|\.cpu\(\))", never=NEITHER),
    advised("second_copy_loaded", "live to the end|{cause}", "{cause}", never=NEITHER),
    advised("hooks_store_inputs", "(?i)kept.*{cause}.*hook", never=NEITHER),
    advised("meter_with_graph", KEPT_WITH_GRAPH, never=NEITHER),
    advised("running_variance_graph", KEPT_WITH_GRAPH, never=NEITHER),
    advised("gradients_in_validation", "set_to_none=False.*{cause}"),
    # Nobody runs these passes backward: no_grad is true of them, too.
    advised("actions_with_graphs", KEPT_WITH_GRAPH, never=(KEYS_AND_VALUES,)),
    advised("replay_on_device", KEPT_ON_DEVICE, never=NEITHER),
    advised("optimizer_state_loaded", "{cause}", never=NEITHER),
    advised("dataset_on_device", "{cause}", never=(*NEITHER, "(?i)kept .*from pass to pass")),
    advised("adam_state", "State of Adam stays.*{cause}"),
    advised("advantages_with_graphs", "{cause}.*no_grad"),
    advised("averages_twice", "(?i)parameter.*{cause}", never=NEITHER),
    advised("matrix_per_edge", r"\[20000, 4096\].*{cause}", never=NEITHER),
    advised("messages_of_edges", r"\[400000, 256\].*{cause}", never=NEITHER),
    advised("logits_of_all_tokens", "Logits of all tokens.*{cause}.*(chunk|fused)"),
    advised("weight_made_again", r"\[2048, 2048\].*{cause}", never=NEITHER),
    advised("attention_scores", "Attention scores.*{cause}.*scaled_dot_product_attention"),
)

# The end of the run has the answer.
SAID_AT_THE_END = (
    Thread("metrics_with_graphs", (r"grows 32\.00 MB per step at \S*{cause}",)),
    Thread("stored_on_ctx", (r"grows 16\.00 MB per step at \S*{cause}",)),
    Thread("scalars_kept", (r"grows 10\.00 KB per step at \S*{cause}",)),
    Thread("meter_with_graph", (r"grows 16\.00 MB per step at \S*{cause}",)),
    Thread("replay_on_device", (r"grows 8\.000 MB per step at \S*{cause}",)),
    Thread("advantages_with_graphs", (), "advise"),
)


@pytest.fixture(scope="module")
def traces(lab: Any) -> dict[str, Path]:
    return traces_of(lab, sorted({one.program for one in (*ADVISED, *SAID_AT_THE_END)}))


@pytest.mark.parametrize("thread", ADVISED, ids=str)
def test_advise_says_the_cause(lab: Any, traces: dict[str, Path], thread: Thread) -> None:
    judge_text(thread, asked(lab, thread.command, traces[thread.program]))


@pytest.mark.parametrize("thread", SAID_AT_THE_END, ids=str)
def test_the_answer_is_the_cause(lab: Any, traces: dict[str, Path], thread: Thread) -> None:
    judge_recorded(lab, thread, traces[thread.program])
