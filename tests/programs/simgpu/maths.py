"""Linear algebra, FFT and sparse basics."""

import torch

a = torch.randn(64, 64, device="cuda")
torch.linalg.cholesky_ex(a @ a.T)
torch.linalg.qr(a)
torch.linalg.svd(a)
torch.linalg.eigh(a)
torch.linalg.solve_ex(a, torch.randn(64, 4, device="cuda"))
torch.linalg.inv_ex(a)
torch.linalg.lu_factor_ex(a)
torch.linalg.det(a)
torch.bmm(a.expand(4, 64, 64), a.expand(4, 64, 64))
spectrum = torch.fft.rfft(torch.randn(8, 1024, device="cuda"))
assert torch.fft.irfft(spectrum).shape == (8, 1024)
torch.fft.fft2(torch.randn(4, 32, 32, device="cuda", dtype=torch.complex64))
indices = torch.tensor([[0, 1, 2], [2, 0, 1]])
sparse = torch.sparse_coo_tensor(indices, torch.ones(3), (3, 3)).cuda()
assert (sparse @ torch.randn(3, 5, device="cuda")).shape == (3, 5)
csr = torch.sparse_csr_tensor(
    torch.tensor([0, 1, 2, 3]), torch.tensor([0, 1, 2]), torch.ones(3), (3, 3)
).cuda()
assert (csr @ torch.randn(3, 5, device="cuda")).shape == (3, 5)
print("ok")
