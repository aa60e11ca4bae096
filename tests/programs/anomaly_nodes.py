"""Counts what each autograd node allocates, and which forward stack anomaly mode knows it by.

Hooks before each node read torch's own counters: what is allocated from there to the next node is
the node's. A hook after it allocates a marker, so that nodes count that allocate nothing. Prints
{"nodes": [[name, stack, bytes, count]], "stacks": [[[file, line, function], ...leaf first], ...]}.
"""

import re
from collections import Counter
from collections.abc import Callable

import torch
from counters import finish_holding
from torch import nn
from torch.utils.checkpoint import checkpoint

FRAME = re.compile(r'  File "(.*)", line (\d+), in (.*)\n')
DEVICE = "cuda"
Stack = tuple[tuple[str, int, str], ...]
Key = tuple[str, Stack]

counted: Counter[Key] = Counter()
sizes: Counter[Key] = Counter()
watched: set[object] = set()
begins: dict[object, Callable[..., None]] = {}


class Window:
    """The node that runs now, and the counters when it began."""

    key: Key | None = None
    bytes = 0
    count = 0


def enter(key: Key | None) -> None:
    stats = torch._C._cuda_memoryStats(0)
    allocated = stats["allocated_bytes"]["all"]["allocated"]
    count = stats["allocation"]["all"]["allocated"]
    if Window.key is not None and count > Window.count:
        sizes[Window.key] += allocated - Window.bytes
        counted[Window.key] += count - Window.count
    Window.key, Window.bytes, Window.count = key, allocated, count


def stack_of(node: torch.autograd.graph.Node) -> Stack:
    """What anomaly mode recorded; of a node made by another node that one's."""
    lines = "".join(node.metadata.get("traceback_", []))
    frames = tuple((file, int(line), name) for file, line, name in FRAME.findall(lines))
    if frames or "parent_" not in node.metadata:
        return frames[::-1]
    return stack_of(node.metadata["parent_"])


def watch(*roots: torch.Tensor) -> None:
    pending = [root.grad_fn for root in roots]
    while pending:
        node = pending.pop()
        if node is None or node in watched:
            continue
        watched.add(node)
        pending += [after for after, _ in node.next_functions]
        watch_node(node, node.name(), stack_of(node))


def watch_node(node: torch.autograd.graph.Node, name: str, stack: Stack) -> None:
    key: Key | None = None

    def before(*_: object) -> None:
        # A leaf's node has no forward line: it belongs to the node that made its gradient.
        nonlocal key
        is_leaf = name.endswith("AccumulateGrad") and Window.key is not None
        key = (name, Window.key[1] if is_leaf else stack)
        enter(key)

    def after(*_: object) -> None:
        enter(key)  # another pass may have run within it
        torch.empty(1, device=DEVICE)

    begins[node] = before
    node.register_prehook(before)
    node.register_hook(after)


def backward(loss: torch.Tensor, **how: bool) -> None:
    watch(loss)
    loss.backward(**how)
    enter(None)


def gpt2() -> None:
    from transformers import GPT2Config, GPT2LMHeadModel

    size = {
        "n_layer": 2,
        "n_embd": 64,
        "n_head": 2,
        "vocab_size": 500,
        "bos_token_id": 1,
        "eos_token_id": 2,
    }
    model = GPT2LMHeadModel(GPT2Config(**size)).to(DEVICE)
    tokens = torch.zeros(2, 16, dtype=torch.long, device=DEVICE)
    for scaled in (False, True):
        with torch.autocast(DEVICE, dtype=torch.float16, enabled=scaled):
            loss = model(tokens, labels=tokens).loss
        backward(loss)


def llama() -> None:
    from transformers import LlamaConfig, LlamaForCausalLM

    size = {"hidden_size": 64, "intermediate_size": 172, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 500}
    model = LlamaForCausalLM(LlamaConfig(**size, **heads)).to(DEVICE)
    tokens = torch.zeros(2, 16, dtype=torch.long, device=DEVICE)
    backward(model(tokens, labels=tokens).loss)


def resnet50() -> None:
    from torchvision.models import resnet50 as make_resnet50

    model = make_resnet50(weights=None).to(DEVICE)
    backward(model(torch.randn(2, 3, 32, 32, device=DEVICE)).square().mean())


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: torch.Tensor) -> torch.Tensor:
        return x * 3

    @staticmethod
    def backward(ctx, grad: torch.Tensor) -> torch.Tensor:
        return grad * 3 + grad.square()


def leaf(size: int) -> torch.Tensor:
    return torch.ones(size, device=DEVICE, requires_grad=True)


def custom_function() -> None:
    x = leaf(3001)
    backward((Scaled.apply(x).exp() + x.sin()).sum())


def after_leaf(leaf: torch.Tensor) -> None:
    leaf.grad.add(1)


def hooks() -> None:
    x = leaf(4001)
    x.register_post_accumulate_grad_hook(after_leaf)
    y = x.exp()
    watch(y)
    # Hooks of a tensor run before those of its node, and are the node's.
    x.register_hook(begins[y.grad_fn.next_functions[0][0]])
    x.register_hook(lambda grad: grad.clone())
    y.register_hook(begins[y.grad_fn])
    y.register_hook(lambda grad: grad * 2)
    backward((y * x).sum())


def double_backward() -> None:
    x = leaf(5001)
    loss = (x.exp() * x).sum()
    watch(loss)
    (slope,) = torch.autograd.grad(loss, x, create_graph=True)
    enter(None)
    backward(slope.square().sum() + Scaled.apply(slope).sum())


def twice_over_one_graph() -> None:
    x = leaf(6001)
    loss = (x.tanh() * x.sigmoid()).sum()
    backward(loss, retain_graph=True)
    backward(loss)


def checkpointed(use_reentrant: bool) -> None:
    layers = nn.Sequential(nn.Linear(64, 96), nn.GELU(), nn.Linear(96, 64)).to(DEVICE)

    def run(x: torch.Tensor) -> torch.Tensor:
        y = layers(x) + x
        watch(y)  # of the reentrant way only the second run has a graph
        return y

    x = torch.ones(7, 64, device=DEVICE, requires_grad=True)
    again = checkpoint(run, x.tanh(), use_reentrant=use_reentrant)
    backward(again.square().sum())


def main(*programs: Callable[[], None]) -> None:
    torch.ones(64, 64, device=DEVICE, requires_grad=True).mm(torch.ones(64, 64, device=DEVICE))
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        for program in programs:
            program()
    stacks = {stack: number for number, stack in enumerate({stack for _, stack in counted})}
    nodes = [(name, stacks[stack], sizes[name, stack], n) for (name, stack), n in counted.items()]
    finish_holding(nodes=nodes, stacks=list(stacks))


if __name__ == "__main__":
    main(
        gpt2,
        llama,
        resnet50,
        custom_function,
        hooks,
        double_backward,
        twice_over_one_graph,
        lambda: checkpointed(False),
        lambda: checkpointed(True),
    )
