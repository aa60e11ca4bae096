"""Trains a little, with names that a page must show and not obey; prints torch's own peak."""

import contextlib
import json

import peakline
import torch

HOSTILE = (
    '</script><script>document.title="owned"</script>',
    "'\"><img src=x onerror=document.title=1>",
    "line\nbreak\ttab\x1b[31m",
    "\u202eright to left\u2066",
    "long" * 2500,
    "{{summary}}&amp;<!--",
)


def named(name: str):
    """A function of this name, in a file of this name."""
    scope: dict = {"torch": torch}
    code = "def make(count):\n    return torch.empty(count, device='cuda')\n"
    exec(compile(code, f"/nowhere/{name}.py", "exec"), scope)
    make = scope["make"]
    make.__code__ = make.__code__.replace(co_name=name)
    return make


def main() -> None:
    model = torch.nn.Sequential()
    for name in HOSTILE:
        model.add_module(name.replace(".", "_"), torch.nn.Linear(256, 256))
    model.cuda()
    optimizer = torch.optim.Adam(model.parameters())
    held = []
    for step in range(3):
        batch = torch.randn(512, 256, device="cuda")
        model(batch).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        held += [named(name)(1000 * (step + 1)) for name in HOSTILE]
        peakline.mark(HOSTILE[step])
    with contextlib.suppress(torch.OutOfMemoryError):
        torch.empty(1 << 40, dtype=torch.uint8, device="cuda")
    print(json.dumps({"peak": torch.cuda.max_memory_allocated()}))


main()
