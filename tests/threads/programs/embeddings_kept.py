"""https://github.com/huggingface/sentence-transformers/issues/487: embeddings stay on the GPU."""

import torch

words = torch.nn.EmbeddingBag(1000, 512).cuda().eval()
layer = torch.nn.Linear(512, 768).cuda().eval()


def encode(batches):
    found = []
    for _ in range(batches):
        tokens = torch.randint(0, 1000, (4096, 16)).cuda()
        with torch.no_grad():
            found.extend(torch.nn.functional.normalize(layer(words(tokens))))  # cause
    return torch.stack(found)


encode(10)
