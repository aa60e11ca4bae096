"""A worker of a DataLoader runs out of memory; torch hands its exception to this process."""

import torch


class Samples(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> torch.Tensor:
        rows = 1 << 42 if index == 5 else 1
        return torch.zeros(rows, dtype=torch.uint8, device="cuda").cpu()


def main() -> None:
    kept = torch.zeros(1 << 20, device="cuda")
    loader = torch.utils.data.DataLoader(Samples(), num_workers=2, multiprocessing_context="spawn")
    for _ in loader:
        kept += 1


if __name__ == "__main__":
    main()
