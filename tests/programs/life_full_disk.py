"""Makes so many different stacks and blocks that the trace outgrows a very small disk."""

import torch
from counters import finish

LINES = 2000


def main() -> None:
    kept = []
    source = "\n".join(f"kept.append(torch.empty({n} + 1, device='cuda'))" for n in range(LINES))
    for number in range(70):
        kept.clear()
        exec(compile(source, f"generated_{number}.py", "exec"), {"kept": kept, "torch": torch})
    finish(peak=torch.cuda.max_memory_allocated())


main()
