"""Groups of features that the simulated GPU must carry, each run on its own in one process.

Prints one JSON document: what each group held at its peak, or how it failed. The names of the
groups to run are the arguments; without any, all that this process can run.
"""

from __future__ import annotations

import gc
import json
import sys
import time
import traceback
from collections.abc import Callable

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

GROUPS: dict[str, Callable[[], object]] = {}


def group(function: Callable[[], object]) -> Callable[[], object]:
    GROUPS[function.__name__] = function
    return function


def step(model: nn.Module, *inputs: torch.Tensor) -> None:
    optimizer = torch.optim.AdamW(model.parameters())
    result = model(*inputs)
    first = result[0] if isinstance(result, tuple) else result
    first.float().sum().backward()
    optimizer.step()


@group
def recurrent() -> None:
    for kind in (nn.LSTM, nn.GRU, nn.RNN):
        for more in ({}, {"bidirectional": True, "num_layers": 2, "dropout": 0.1}):
            model = kind(32, 64, batch_first=True, **more).cuda()
            step(model, torch.randn(4, 10, 32, device="cuda"))
    packed = nn.utils.rnn.pack_padded_sequence(
        torch.randn(4, 10, 32, device="cuda"), torch.tensor([10, 9, 5, 2]), batch_first=True
    )
    nn.LSTM(32, 64, batch_first=True).cuda()(packed)
    nn.LSTM(32, 64, proj_size=16).cuda()(torch.randn(10, 4, 32, device="cuda"))
    half = nn.LSTM(32, 64).cuda().half()
    step(half, torch.randn(10, 4, 32, device="cuda", dtype=torch.half))


@group
def attention() -> None:
    from torch.nn.attention import SDPBackend, sdpa_kernel

    for backend in (
        SDPBackend.FLASH_ATTENTION,
        SDPBackend.EFFICIENT_ATTENTION,
        SDPBackend.CUDNN_ATTENTION,
        SDPBackend.MATH,
    ):
        with sdpa_kernel(backend):
            query = torch.randn(2, 8, 256, 64, device="cuda", dtype=torch.bfloat16)
            query.requires_grad_()
            F.scaled_dot_product_attention(query, query, query, is_causal=True).sum().backward()
    layer = nn.MultiheadAttention(64, 4, batch_first=True).cuda()
    tokens = torch.randn(2, 10, 64, device="cuda")
    layer(tokens, tokens, tokens)[0].sum().backward()


@group
def layers() -> None:
    image = torch.randn(4, 8, 16, 16, device="cuda", requires_grad=True)
    step(nn.Sequential(nn.BatchNorm2d(8), nn.Dropout2d(0.1), nn.GroupNorm(2, 8)).cuda(), image)
    step(nn.Sequential(nn.InstanceNorm2d(8, affine=True), nn.SyncBatchNorm(8)).cuda().eval(), image)
    ids = torch.zeros(4, 10, dtype=torch.long, device="cuda")
    step(nn.Embedding(1000, 64).cuda(), ids)
    bag = nn.EmbeddingBag(1000, 64, mode="mean").cuda()
    bag(ids).sum().backward()
    sparse = nn.Embedding(1000, 64, sparse=True).cuda()
    sparse(ids).sum().backward()
    step(
        nn.Sequential(nn.LayerNorm(64), nn.Dropout(), nn.Linear(64, 64)).cuda(),
        torch.randn(4, 64).cuda(),
    )
    F.cross_entropy(
        torch.randn(4, 10, device="cuda", requires_grad=True),
        torch.zeros(4, dtype=torch.long).cuda(),
    ).backward()
    F.ctc_loss(
        torch.randn(50, 4, 20, device="cuda", requires_grad=True).log_softmax(2),
        torch.ones(4, 10, dtype=torch.long, device="cuda"),
        torch.full((4,), 50, dtype=torch.long),
        torch.full((4,), 10, dtype=torch.long),
    ).backward()
    F.interpolate(image, scale_factor=2, mode="bilinear").sum().backward()
    F.grid_sample(image, torch.zeros(4, 16, 16, 2, device="cuda")).sum().backward()
    F.adaptive_avg_pool2d(image, 4).sum().backward()
    F.max_pool2d(image, 2).sum().backward()


@group
def convolutions() -> None:
    for dims, conv, transposed in (
        (1, nn.Conv1d, nn.ConvTranspose1d),
        (2, nn.Conv2d, nn.ConvTranspose2d),
        (3, nn.Conv3d, nn.ConvTranspose3d),
    ):
        data = torch.randn(2, 8, *[12] * dims, device="cuda")
        for dtype in (torch.float, torch.half, torch.bfloat16):
            for layer in (
                conv(8, 16, 3, padding=1),
                conv(8, 16, 3, groups=4, stride=2),
                conv(8, 8, 3, groups=8, dilation=2),
                transposed(8, 16, 3, stride=2, output_padding=1),
                transposed(8, 16, 3, groups=2),
            ):
                step(layer.cuda().to(dtype), data.to(dtype))
    wide = nn.Conv2d(8, 16, 3).cuda().to(memory_format=torch.channels_last)
    torch.backends.cudnn.benchmark = True
    step(wide, torch.randn(2, 8, 32, 32, device="cuda").to(memory_format=torch.channels_last))
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = True
    step(nn.Conv2d(8, 16, 3).cuda(), torch.randn(2, 8, 32, 32, device="cuda"))
    torch.backends.cudnn.deterministic = False


@group
def blas() -> None:
    a = torch.randn(64, 64, device="cuda")
    for dtype in (torch.float, torch.double, torch.half, torch.bfloat16, torch.complex64):
        x = a.to(dtype)
        torch.mm(x, x)
        torch.bmm(x.expand(3, 64, 64), x.expand(3, 64, 64))
        torch.addmm(x, x, x)
        torch.mv(x, x[0])
        torch.dot(x[0], x[1])
    torch.backends.cuda.preferred_blas_library("cublaslt")
    F.linear(a.half(), a.half(), a[0].half())
    torch.backends.cuda.preferred_blas_library("cublas")
    torch._int_mm(
        torch.ones(32, 64, dtype=torch.int8).cuda(), torch.ones(64, 32, dtype=torch.int8).cuda()
    )
    eight = a.to(torch.float8_e4m3fn)
    scale = torch.ones((), device="cuda")
    torch._scaled_mm(eight, eight.t(), scale_a=scale, scale_b=scale, out_dtype=torch.bfloat16)
    F.gelu(nn.Linear(64, 64).cuda()(a))
    torch._addmm_activation(a[0], a, a, use_gelu=True)


@group
def solvers() -> None:
    a = torch.randn(3, 32, 32, device="cuda")
    for matrix in (a, a[0], a.to(torch.complex64)):
        torch.linalg.cholesky_ex(matrix)
        torch.linalg.lu_factor_ex(matrix)
        torch.linalg.qr(matrix)
        torch.linalg.svd(matrix)
        torch.linalg.eigh(matrix)
        torch.linalg.solve_ex(matrix, matrix)
        torch.linalg.inv_ex(matrix)
        torch.linalg.det(matrix)
        torch.linalg.lstsq(matrix, matrix)
        torch.linalg.solve_triangular(matrix, matrix, upper=True)
        torch.linalg.slogdet(matrix)
        torch.linalg.householder_product(matrix, matrix[..., 0])
        torch.linalg.ldl_factor_ex(matrix)
    torch.linalg.eigvals(a[0])
    torch.cholesky_solve(a, a)
    torch.linalg.pinv(a)


@group
def sparse() -> None:
    dense = torch.eye(32, device="cuda")
    indices = torch.stack([torch.arange(32), torch.arange(32)]).cuda()
    coo = torch.sparse_coo_tensor(indices, torch.ones(32, device="cuda"), (32, 32)).coalesce()
    torch.sparse.mm(coo, dense)
    pointers = torch.arange(33).cuda()
    csr = torch.sparse_csr_tensor(
        pointers, torch.arange(32).cuda(), torch.ones(32).cuda(), (32, 32)
    )
    csr @ dense
    csr @ csr
    csr @ dense[0]
    torch.sparse.sampled_addmm(csr, dense, dense)
    torch.triangular_solve(dense, csr)
    coo.to_dense()


@group
def fourier() -> None:
    x = torch.randn(4, 64, 64, device="cuda")
    torch.fft.irfft2(torch.fft.rfft2(x))
    torch.fft.ifftn(torch.fft.fftn(x.half().float()))
    torch.fft.fft(x.double())
    torch.stft(x[0], 32, window=torch.ones(32).cuda(), return_complex=True)


@group
def streams_and_pools() -> None:
    side = torch.cuda.Stream()
    data = torch.empty(1 << 20, device="cuda")
    with torch.cuda.stream(side):
        other = data + 1
    data.record_stream(side)
    side.wait_stream(torch.cuda.current_stream())
    torch.cuda.current_stream().wait_event(side.record_event())
    del data, other
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        held = torch.empty(1 << 20, device="cuda")
    del held, pool
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    end.record()
    end.synchronize()
    assert start.elapsed_time(end) >= 0
    pinned = torch.ones(1 << 20).pin_memory().to("cuda", non_blocking=True)
    assert pinned.shape == (1 << 20,)
    torch.cuda.synchronize()
    torch.cuda.memory._dump_snapshot("snapshot.pickle")


@group
def graphs() -> None:
    model = nn.Linear(256, 256).cuda()
    data = torch.randn(32, 256, device="cuda")
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        model(data).sum().backward()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model(data).sum().backward()
    graph.replay()
    second = torch.cuda.CUDAGraph()
    with torch.cuda.graph(second, pool=graph.pool()):
        model(data)
    second.replay()
    made = torch.cuda.make_graphed_callables(nn.Linear(64, 64).cuda(), (torch.randn(8, 64).cuda(),))
    made(torch.randn(8, 64, device="cuda"))


@group
def compiled() -> None:
    model = nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 64)).cuda()
    fast = torch.compile(model)
    step(fast, torch.randn(8, 64, device="cuda"))
    trees = torch.compile(model, mode="reduce-overhead")
    for _ in range(4):
        torch.compiler.cudagraph_mark_step_begin()
        trees(torch.randn(8, 64, device="cuda")).sum().backward()
    torch.cuda.synchronize()


@group
def profiled() -> None:
    from torch.profiler import ProfilerActivity, profile

    model = nn.Linear(64, 64).cuda()
    with profile(
        activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], profile_memory=True
    ) as profiler:
        step(model, torch.randn(8, 64, device="cuda"))
    assert any(event.key == "aten::addmm" for event in profiler.key_averages())
    profiler.export_chrome_trace("trace.json")


def _receive(queue: object, answers: object) -> None:
    first, second = queue.get()
    answers.put((tuple(first.shape), str(second.device), first.data_ptr() != 0))
    del first, second


@group
def shared_between_processes() -> None:
    import torch.multiprocessing as mp

    context = mp.get_context("spawn")
    queue, answers = context.Queue(), context.Queue()
    child = context.Process(target=_receive, args=(queue, answers))
    child.start()
    data = torch.ones(1 << 20, device="cuda")
    queue.put((data, torch.zeros(8, device="cuda")))
    assert answers.get(timeout=100) == ((1 << 20,), "cuda:0", True)
    child.join(timeout=60)
    assert child.exitcode == 0, child.exitcode
    torch.cuda.ipc_collect()


@group
def amp_and_checkpointing() -> None:
    from torch.utils.checkpoint import checkpoint

    model = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 256)).cuda()
    scaler = torch.amp.GradScaler()
    optimizer = torch.optim.SGD(model.parameters(), momentum=0.9)
    with torch.autocast("cuda", dtype=torch.float16):
        loss = checkpoint(model, torch.randn(32, 256, device="cuda"), use_reentrant=False).sum()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    for kind in (torch.optim.Adam, torch.optim.Adagrad, torch.optim.RMSprop):
        kind(model.parameters(), foreach=True).step()
    torch.optim.AdamW(model.parameters(), fused=True).step()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)


@group
def llama() -> None:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        hidden_size=256,
        intermediate_size=512,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        vocab_size=1000,
        dtype="bfloat16",
    )
    with torch.device("cuda"):
        model = LlamaForCausalLM(config).to(torch.bfloat16)
    ids = torch.zeros(2, 128, dtype=torch.long, device="cuda")
    model(ids, labels=ids).loss.backward()
    with torch.no_grad():
        model(ids, use_cache=True)


@group
def accelerated() -> None:
    from accelerate import Accelerator

    accelerator = Accelerator(mixed_precision="bf16")
    model = nn.Linear(64, 64)
    optimizer = torch.optim.AdamW(model.parameters())
    data = torch.utils.data.DataLoader(torch.randn(32, 64), batch_size=8)
    model, optimizer, data = accelerator.prepare(model, optimizer, data)
    for batch in data:
        accelerator.backward(model(batch).sum())
        optimizer.step()
        optimizer.zero_grad()
    accelerator.wait_for_everyone()


@group
def vision() -> None:
    import torchvision

    model = torchvision.models.resnet18().cuda()
    step(model, torch.randn(2, 3, 64, 64, device="cuda"))
    step(torchvision.models.vit_b_16(image_size=32).cuda(), torch.randn(1, 3, 32, 32).cuda())


@group
def lightning() -> None:
    import lightning

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(64, 64)

        def training_step(self, batch: torch.Tensor, _: int) -> torch.Tensor:
            return self.layer(batch).sum()

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.AdamW(self.parameters())

    trainer = lightning.Trainer(
        max_epochs=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        devices=1,
    )
    trainer.fit(Module(), torch.utils.data.DataLoader(torch.randn(32, 64), batch_size=8))


def run(work: Callable[[], object]) -> dict[str, object]:
    gc.collect()
    torch.cuda.reset_peak_memory_stats()
    try:
        work()
        torch.cuda.synchronize()
    except ImportError as error:
        return {"skipped": str(error)}
    except Exception:
        return {"failed": traceback.format_exc()[-1500:]}
    return {"peak": torch.cuda.max_memory_allocated()}


if __name__ == "__main__":
    torch.cuda.init()
    said = {name: run(GROUPS[name]) for name in sys.argv[1:] or GROUPS}
    print(json.dumps(said), flush=True)
    # torch's autograd thread may abort a program that ends at once.
    time.sleep(0.3)
