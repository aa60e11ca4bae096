"""Results that are kept in a list of main(), which has returned when the interpreter ends.

https://github.com/ultralytics/ultralytics/issues/3983
"""

import torch


def main():
    net = torch.nn.Linear(512, 512).cuda()
    results = []
    with torch.no_grad():
        for _ in range(8):
            results += [net(torch.ones(64, 512, device="cuda"))]
    print(len(results))  # cause


main()
