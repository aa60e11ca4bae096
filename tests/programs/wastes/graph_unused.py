"""A server of predictions builds graphs."""

import torch
from common import Model, batches, finish

model = Model(layers=8).eval()
answers = []
for words in batches(8):
    prediction = torch.argmax(model(words), -1)
    answers.append(float(prediction.float().mean()))
finish(answers)
