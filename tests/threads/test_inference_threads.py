"""Evaluation and inference, as the public asks about them: what holds the memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from asking import Thread, asked, judge, judge_text, traces_of

NO_GRAD = r"run (it|them) under torch\.(no_grad|inference_mode)"
KEYS_AND_VALUES = "keys and values"
UNUSED_GRAPH = r"(?i)(never comes|graph).*{cause}.*no_grad"
KEPT_ON_DEVICE = r"(?i)kept.*{cause}.*\.cpu\(\)"
NEITHER = (NO_GRAD, KEYS_AND_VALUES)
ONE_PASS = (*NEITHER, "(?i)kept .*from pass to pass")


def advised(program: str, *says: str, never: tuple[str, ...] = ()) -> Thread:
    return Thread(program, says, "advise", never)


ADVISED = (
    advised("evaluation_with_gradients", UNUSED_GRAPH, never=(KEYS_AND_VALUES,)),
    advised("no_grad_in_thread", UNUSED_GRAPH, never=(KEYS_AND_VALUES,)),
    advised("results_in_list", KEPT_ON_DEVICE, never=NEITHER),
    advised("embeddings_kept", KEPT_ON_DEVICE, never=NEITHER),
    advised("keys_and_values", "keys and values grows.*{cause}", never=(NO_GRAD,)),
    advised(
        "static_cache_kept",
        "cache of keys and values holds its whole length",
        never=(NO_GRAD, "grows with every token", r"bound it \(a static"),
    ),
    advised("decoder_of_images", "{cause}", never=ONE_PASS),
    advised("pool_preallocated", "{cause}", never=ONE_PASS),
    advised("inputs_on_modules", "(?i)kept.*{cause}.*hook", never=NEITHER),
    advised("hidden_state_carried", UNUSED_GRAPH, never=(KEYS_AND_VALUES,)),
    advised("attentions_kept", KEPT_ON_DEVICE, never=NEITHER),
    advised("hidden_states_kept", r"(?i)graph.*{cause}.*(no_grad|detach)"),
    advised("validation_outputs", KEPT_ON_DEVICE, never=NEITHER),
    advised("extractor_hooks", "(?i)kept.*{cause}.*hook", never=NEITHER),
    advised("box_iou", r"\[9000, 4000, 2\].*{cause}", never=ONE_PASS),
    advised("distances_of_cells", r"\[24000, 24000\].*{cause}", never=ONE_PASS),
    advised("confusion_counts", r"\[400, 400, 20000\].*{cause}", never=ONE_PASS),
    advised("all_hidden_states", "{cause}", never=ONE_PASS),
    advised("sampler_with_gradients", UNUSED_GRAPH, never=(KEYS_AND_VALUES,)),
    advised("segmentation_with_gradients", UNUSED_GRAPH, never=(KEYS_AND_VALUES,)),
)

# Each of these is recorded by itself: its reader begins at the end of its run.
ALONE = (
    Thread("context_alone", (r"5\d\d\.\d MB +context",), asked="ledger"),
    Thread("evaluation_with_gradients", (), "advise"),
)


@pytest.fixture(scope="module")
def traces(lab: Any) -> dict[str, Path]:
    return traces_of(lab, [one.program for one in ADVISED])


@pytest.mark.parametrize("thread", ADVISED, ids=str)
def test_advise_says_the_cause(lab: Any, traces: dict[str, Path], thread: Thread) -> None:
    judge_text(thread, asked(lab, thread.command, traces[thread.program]))


@pytest.mark.parametrize("thread", ALONE, ids=str)
def test_the_answer_is_the_cause(lab: Any, thread: Thread) -> None:
    judge(lab, thread)
