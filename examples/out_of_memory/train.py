"""Trains a language model whose first version does not fit on an H200. README.md mends it.

Each option is one step of the repair: --checkpoint, --chunked-loss, --accumulate 4.
"""

import argparse

import torch
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

VOCABULARY, WIDTH, HEADS, LAYERS, CONTEXT = 50_000, 2048, 16, 24, 2048


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.before_attention = torch.nn.LayerNorm(WIDTH)
        self.to_heads = torch.nn.Linear(WIDTH, 3 * WIDTH)
        self.from_heads = torch.nn.Linear(WIDTH, WIDTH)
        self.before_mlp = torch.nn.LayerNorm(WIDTH)
        self.up = torch.nn.Linear(WIDTH, 4 * WIDTH)
        self.down = torch.nn.Linear(4 * WIDTH, WIDTH)

    def attend(self, inputs: torch.Tensor) -> torch.Tensor:
        batch, length, _ = inputs.shape
        parts = self.to_heads(inputs).view(batch, length, 3, HEADS, -1).transpose(1, 3)
        query, key, value = parts.unbind(2)
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.from_heads(seen.transpose(1, 2).reshape(batch, length, WIDTH))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        inputs = inputs + self.attend(self.before_attention(inputs))
        return inputs + self.down(functional.gelu(self.up(self.before_mlp(inputs))))


class Model(torch.nn.Module):
    def __init__(self, checkpoints: bool) -> None:
        super().__init__()
        self.checkpoints = checkpoints
        self.embedding = torch.nn.Embedding(VOCABULARY, WIDTH)
        self.layers = torch.nn.ModuleList(Block() for _ in range(LAYERS))
        self.head = torch.nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        hidden = self.embedding(tokens)
        for layer in self.layers:
            if self.checkpoints:
                hidden = checkpoint(layer, hidden, use_reentrant=False)
            else:
                hidden = layer(hidden)
        return hidden


def loss_of(head: torch.nn.Module, hidden: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    logits = head(hidden).flatten(0, 1)
    return functional.cross_entropy(logits, targets.flatten())


def loss_in_chunks(
    head: torch.nn.Module, hidden: torch.Tensor, targets: torch.Tensor
) -> torch.Tensor:
    """Compute the loss sequence by sequence; the backward pass makes the logits again."""
    losses = [
        checkpoint(loss_of, head, part, aimed, use_reentrant=False)
        for part, aimed in zip(hidden.split(1), targets.split(1), strict=True)
    ]
    return torch.stack(losses).mean()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--checkpoint", action="store_true")
    parser.add_argument("--chunked-loss", action="store_true")
    parser.add_argument("--accumulate", type=int, default=1, metavar="PARTS")
    options = parser.parse_args()

    with torch.device("cuda"):
        model = Model(options.checkpoint)
    optimizer = torch.optim.AdamW(model.parameters())
    compute_loss = loss_in_chunks if options.chunked_loss else loss_of
    for _ in range(2):
        batch = torch.zeros(options.batch, CONTEXT, dtype=torch.long, device="cuda")
        for tokens in batch.chunk(options.accumulate):
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = compute_loss(model.head, model(tokens), tokens) / options.accumulate
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(f"max_memory_allocated: {torch.cuda.max_memory_allocated()}")


if __name__ == "__main__":
    main()
