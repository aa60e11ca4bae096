"""torch_geometric: layers over a large graph, and a batch of small graphs that are pooled."""

import torch
from _peak import finish
from torch.nn import functional
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GATConv, GCNConv, SAGEConv, TopKPooling, global_mean_pool
from torch_geometric.utils import remove_self_loops

NODES, EDGES = 20_000, 200_000


class Nodes(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = GCNConv(64, 128)
        self.second = GATConv(128, 32, heads=4)
        self.third = SAGEConv(128, 10)

    def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        x = functional.relu(self.first(x, edges))
        return self.third(functional.elu(self.second(x, edges)), edges)


class Graphs(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = GCNConv(32, 64)
        self.pool = TopKPooling(64, ratio=0.8)
        self.head = torch.nn.Linear(64, 2)

    def forward(self, data: Data) -> torch.Tensor:
        x = functional.relu(self.layer(data.x, data.edge_index))
        x, _, _, batch, _, _ = self.pool(x, data.edge_index, None, data.batch)
        return self.head(global_mean_pool(x, batch))


torch.manual_seed(0)
edges = torch.randint(0, NODES, (2, EDGES))
whole = Data(torch.randn(NODES, 64), edges, y=torch.randint(0, 10, (NODES,))).cuda()
nodes = Nodes().cuda()
optimizer = torch.optim.Adam(nodes.parameters())
for _ in range(2):
    functional.cross_entropy(nodes(whole.x, whole.edge_index), whole.y).backward()
    optimizer.step()
    optimizer.zero_grad()
# The edges came from the host, so their number is known on a simulated GPU, too.
kept = remove_self_loops(whole.edge_index)[0].size(1)
assert kept == int((edges[0] != edges[1]).sum()), kept

small = [
    Data(torch.randn(size, 32), torch.randint(0, size, (2, 4 * size)), y=torch.tensor([size % 2]))
    for size in range(50, 82)
]
graphs = Graphs().cuda()
optimizer = torch.optim.Adam(graphs.parameters())
for batch in DataLoader(small, batch_size=16):
    batch = batch.cuda()
    functional.cross_entropy(graphs(batch), batch.y).backward()
    optimizer.step()
    optimizer.zero_grad()
finish(f"{kept} edges")
