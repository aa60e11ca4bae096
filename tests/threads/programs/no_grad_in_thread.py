"""https://github.com/kyutai-labs/pocket-tts/issues/16: gradients are off in one thread alone."""

import threading

import torch

torch.set_grad_enabled(False)
cell = torch.nn.GRUCell(256, 1024).cuda().eval()


def speak():
    state = torch.zeros(512, 1024, device="cuda")
    for _ in range(40):
        state = cell(torch.ones(512, 256, device="cuda"), state)  # cause


worker = threading.Thread(target=speak)
worker.start()
worker.join()
