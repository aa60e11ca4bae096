"""Pyro and torchdiffeq: both check their numbers, and end with an error if a check fails."""

import pyro
import torch
from _peak import finish
from pyro.distributions import Bernoulli, Normal
from pyro.infer import SVI, Trace_ELBO
from torchdiffeq import odeint_adjoint


class Autoencoder(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = torch.nn.Linear(784, 400)
        self.mean, self.scale = torch.nn.Linear(400, 50), torch.nn.Linear(400, 50)
        self.decoder = torch.nn.Sequential(
            torch.nn.Linear(50, 400), torch.nn.ReLU(), torch.nn.Linear(400, 784)
        )

    def model(self, x: torch.Tensor) -> None:
        pyro.module("decoder", self.decoder)
        with pyro.plate("data", len(x)):
            prior = Normal(x.new_zeros(len(x), 50), x.new_ones(len(x), 50)).to_event(1)
            z = pyro.sample("z", prior)
            pyro.sample("x", Bernoulli(self.decoder(z).sigmoid()).to_event(1), obs=x)

    def guide(self, x: torch.Tensor) -> None:
        pyro.module("encoder", self.encoder)
        with pyro.plate("data", len(x)):
            hidden = self.encoder(x).relu()
            pyro.sample("z", Normal(self.mean(hidden), self.scale(hidden).exp()).to_event(1))


class Flow(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = torch.nn.Sequential(
            torch.nn.Linear(64, 256), torch.nn.Tanh(), torch.nn.Linear(256, 64)
        )

    def forward(self, t: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self.net(y)


model = Autoencoder().cuda()
inference = SVI(model.model, model.guide, pyro.optim.Adam({"lr": 1e-3}), loss=Trace_ELBO())
for _ in range(3):
    inference.step(torch.rand(256, 784).round().cuda())
flow = Flow().cuda()
optimizer = torch.optim.Adam(flow.parameters())
start, times = torch.randn(512, 64, device="cuda"), torch.linspace(0, 1, 5, device="cuda")
for _ in range(2):
    # A fixed step: how many a solver with an adaptive one takes depends on its numbers.
    odeint_adjoint(flow, start, times, method="rk4").square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
assert torch.isfinite(odeint_adjoint(flow, start, times, method="dopri5")).all()
finish("trained")
