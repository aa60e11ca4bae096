"""Cycles that the garbage collector frees in time, and a variable that is held for good reason."""

import gc

import torch


class Node:
    def __init__(self):
        self.own = self
        self.data = torch.ones(256, 1024, device="cuda")


kept = torch.ones(512, 1024, device="cuda")
for _ in range(6):
    Node()
    gc.collect()
