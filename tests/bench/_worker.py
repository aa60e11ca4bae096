"""One mode of bench_events.py: a process that does the work it is told, and says what it cost.

Reads one JSON object a line from stdin ({"work": name, "comparisons": number}), answers with one on
stdout: seconds, a list of what the work took each time, its events (an allocation or a free each),
and base_seconds, the same without recording, before and after each comparison that is asked for.
Several such processes live side by side and take turns.
"""

import ctypes
import gc
import json
import os
import sys
import threading
import time

import torch

PAIRS = 4000
THREADS = 4
# Rounds before a measurement: what was switched, and other processes, have had the caches.
WARM = 1
# Of one measurement. Few: the machine should not change its speed meanwhile.
STEPS = 2
STEP_MODELS = ("gpt2", "resnet50", "llama")
# What torch's recorder keeps; an allocation takes three: its own, its free wanted and completed.
HISTORY_ENTRIES, ENTRIES_OF_ALLOCATION = 100_000, 3

# Of all threads of the process: what other processes do meanwhile does not count. On a real GPU
# a step is what its user waits for.
ON_GPU = os.environ.get("PEAKLINE_TEST_DEVICE") == "gpu"
clock = time.perf_counter if ON_GPU else time.process_time


def at_depth(depth: int, work):
    return work() if depth <= 0 else at_depth(depth - 1, work)


def allocate_and_free(count: int, devices: tuple[str, ...] = ("cuda:0",)) -> None:
    empty = torch.empty
    for _ in range(count // len(devices)):
        for device in devices:
            empty(1024, device=device)


def on_threads() -> None:
    share = PAIRS // THREADS
    threads = [
        threading.Thread(target=at_depth, args=(20, lambda: allocate_and_free(share)))
        for _ in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def loop_of(name: str):
    if name == "threads":
        return on_threads
    if name == "devices":
        return lambda: at_depth(20, lambda: allocate_and_free(PAIRS, ("cuda:0", "cuda:1")))
    depth = int(name.removeprefix("depth "))
    return lambda: at_depth(depth, lambda: allocate_and_free(PAIRS))


def make_model(name: str, is_narrow: bool = False):
    """The model and a function that gives its loss. A narrow one has the same events."""
    if name == "resnet50":
        from torchvision.models import resnet50

        model = resnet50().cuda()
        images = torch.zeros((8, 3, 224, 224), device="cuda")
        return model, lambda: model(images).sum()
    from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

    if name == "gpt2":
        widths = {"n_embd": 96, "vocab_size": 1000} if is_narrow else {}
        model = GPT2LMHeadModel(GPT2Config(**widths)).cuda()
    else:
        config = LlamaConfig(
            hidden_size=128 if is_narrow else 512,
            intermediate_size=256 if is_narrow else 1536,
            num_hidden_layers=8,
            num_attention_heads=8,
            num_key_value_heads=4,
            vocab_size=1000 if is_narrow else 8192,
        )
        model = LlamaForCausalLM(config).cuda()
    tokens = torch.zeros((2, 128), dtype=torch.long, device="cuda")
    return model, lambda: model(input_ids=tokens, labels=tokens).loss


def step_of(name: str, is_narrow: bool = False):
    model, loss = make_model(name, is_narrow)
    optimizer = torch.optim.AdamW(model.parameters())

    def step() -> None:
        loss().backward()
        optimizer.step()
        optimizer.zero_grad()
        torch.cuda.synchronize()

    return step


def allocations() -> int:
    return sum(
        torch.cuda.memory_stats(device)["allocation.all.allocated"]
        for device in range(torch.cuda.device_count())
    )


def seconds_of(work, count: int) -> list[float]:
    """What the work took, each of ``count`` times."""
    for _ in range(WARM):
        work()
    seconds = []
    for _ in range(count):
        begin = clock()
        work()
        seconds.append(clock() - begin)
    return seconds


def measure(work, count: int) -> dict:
    """seconds_of(), and the events of one time."""
    before = allocations()
    seconds = seconds_of(work, count)
    return {"seconds": seconds, "events": 2 * (allocations() - before) / (WARM + count)}


def compare(work, count: int, switch, comparisons: int) -> dict:
    """With recording, and without: before, between and after."""
    switch(False)
    answer = measure(work, count)
    base, recorded = answer["seconds"], []
    for _ in range(comparisons):
        switch(True)
        recorded += seconds_of(work, count)
        switch(False)
        base += seconds_of(work, count)
    switch(True)
    return {**answer, "seconds": recorded, "base_seconds": base}


def start_torch_recorder(mode: str) -> None:
    _, stacks, context = mode.split(":")
    torch.cuda.memory._record_memory_history(
        context=context, stacks=stacks, max_entries=HISTORY_ENTRIES
    )


def fill_torchs_history(work) -> None:
    """Until it is full torch's recorder frees nothing: no training run stays there for long."""
    before = allocations()
    while (allocations() - before) * ENTRIES_OF_ALLOCATION < HISTORY_ENTRIES:
        work()


def peaklines_switch():
    """To be called before CUDA is initialised. See recording_switch.cpp."""
    library = ctypes.CDLL(os.environ["PEAKLINE_BENCH_SWITCH"])
    if not library.recording_switch_before_cuda():
        sys.exit("torch's allocator was not found")
    torch.empty(1, device="cuda")
    if library.recording_switch_find() == 0:
        sys.exit("nothing is recorded: there is nothing to switch")
    return library.recording_switch


def start(mode: str):
    """What switches recording off and on, None where it stays on."""
    if mode == "peakline":
        return peaklines_switch()
    torch.empty(1, device="cuda")
    if mode.startswith("torch:"):
        start_torch_recorder(mode)
        return None
    return lambda is_on: None


def main() -> None:
    switch = start(sys.argv[1])
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    works: dict[str, object] = {}
    for line in sys.stdin:
        request = json.loads(line)
        name = request["work"]
        if name not in works:
            works[name] = step_of(name) if name in STEP_MODELS else loop_of(name)
            if sys.argv[1].startswith("torch:"):
                fill_torchs_history(works[name])
            works[name]()
            # What exists by now stays: the collector need not look at it before every measurement.
            gc.collect()
            gc.freeze()
        count = STEPS if name in STEP_MODELS else 1
        # The collector would come at the same place of every comparison.
        gc.collect()
        gc.disable()
        if request["comparisons"] == 0:
            answer = measure(works[name], count)
        else:
            answer = compare(works[name], count, switch, request["comparisons"])
        gc.enable()
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    # Threads of autograd may not outlive the interpreter: see README.md, limits.
    os._exit(0)


if __name__ == "__main__":
    main()
