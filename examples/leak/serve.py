"""Answers requests with a model, and needs more memory with each. README.md finds the line.

With --mended the history keeps numbers of the host.
"""

import argparse

import torch

WIDTH = 1024
HISTORY = []


class Ranker(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encode = torch.nn.Sequential(
            torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.ReLU(), torch.nn.Linear(4 * WIDTH, WIDTH)
        )
        self.score = torch.nn.Linear(WIDTH, 1)

    def forward(self, documents: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        features = self.encode(documents)
        return features, self.score(features).squeeze(-1)


def answer(model: Ranker, documents: torch.Tensor, mended: bool) -> int:
    features, scores = model(documents)
    best = int(scores.argmax())
    HISTORY.append((features[best].cpu() if mended else features[best], best))
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=12)
    parser.add_argument("--mended", action="store_true")
    options = parser.parse_args()
    model = Ranker().cuda().eval()
    with torch.inference_mode():
        for _ in range(options.requests):
            answer(model, torch.ones(2048, WIDTH, device="cuda"), options.mended)
    print(f"{len(HISTORY)} requests, memory_allocated: {torch.cuda.memory_allocated()}")


if __name__ == "__main__":
    main()
