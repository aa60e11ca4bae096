"""A cache of a method's results keeps every object that it was asked for, and its model.

https://github.com/facebookresearch/ParlAI/pull/2487
"""

import functools

import torch


class World:
    def __init__(self):
        self.weight = torch.ones(1024, 1024, device="cuda")

    @functools.lru_cache  # noqa: B019  # cause
    def example_count(self):
        return 7


def main():
    for _ in range(8):
        World().example_count()


main()
