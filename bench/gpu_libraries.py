"""Products and convolutions of cuBLASLt and cuDNN beside PyTorch, which calls the same libraries.

    python -m bench.gpu_libraries                everything: TFLOP/s of our plan, of the tuned one, and of PyTorch
    python -m bench.gpu_libraries --only matmul  a part: matmul or conv
    python -m bench.gpu_libraries --rounds 5     more rounds (3); they are interleaved, and the best one counts

What is timed is the device's own time between two events around many launches. "first" is the algorithm that the
library puts first, "tuned" the one that measuring chose. PyTorch is told to measure as well (cudnn.benchmark). The
column "launch" is the time that the host needs for one call of our plan, in microseconds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from msnb.devices.gpu.libraries import cublaslt, cudnn, cudnn_api
from msnb.devices.gpu.libraries.cublaslt import MatmulProblem
from msnb.devices.gpu.libraries.cudnn import ConvProblem
from msnb.devices.gpu.libraries.gemm_layout import MatrixLayout

# m, k, n, batch, orders of a and b ("n": by rows, "t": by columns), epilogue
PRODUCTS = (
    (8192, 8192, 8192, 1, "nn", "none"),
    (8192, 768, 2304, 1, "nt", "none"),
    (8192, 768, 2304, 1, "nt", "bias"),
    (8192, 3072, 768, 1, "nt", "bias"),
    (8192, 768, 3072, 1, "nt", "gelu_bias"),
    (768, 8192, 3072, 1, "tn", "none"),
    (1024, 64, 1024, 96, "nt", "none"),
    (1024, 1024, 64, 96, "nn", "none"),
)
# image size, channels in and out, kernel, stride: all different convolutions of a ResNet-50
RESNET = (
    (224, 3, 64, 7, 2),
    (56, 64, 64, 1, 1), (56, 64, 64, 3, 1), (56, 64, 256, 1, 1), (56, 256, 64, 1, 1),
    (56, 256, 128, 1, 1), (56, 128, 128, 3, 2), (28, 128, 512, 1, 1), (56, 256, 512, 1, 2),
    (28, 512, 128, 1, 1), (28, 128, 128, 3, 1),
    (28, 512, 256, 1, 1), (28, 256, 256, 3, 2), (14, 256, 1024, 1, 1), (28, 512, 1024, 1, 2),
    (14, 1024, 256, 1, 1), (14, 256, 256, 3, 1),
    (14, 1024, 512, 1, 1), (14, 512, 512, 3, 2), (7, 512, 2048, 1, 1), (14, 1024, 2048, 1, 2),
    (7, 2048, 512, 1, 1), (7, 512, 512, 3, 1),
)  # fmt: skip
KINDS = ("forward", "input_grad", "weight_grad")
IMAGES = 64


class Row(NamedTuple):
    """One line: its name, its work, and who computes it how."""

    name: str
    flops: float
    ways: dict[str, Callable[[], Any]]


def device_seconds(torch: Any, run: Callable[[], Any], least: float = 0.02) -> float:
    """Time of one run on the device, over so many that they take ``least`` seconds."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    count = 3
    while True:
        begin.record()
        for _ in range(count):
            run()
        end.record()
        end.synchronize()
        seconds = begin.elapsed_time(end) / 1000
        if seconds >= least or count >= 4096:
            return float(seconds / count)
        count = min(4096, max(count * 2, int(count * least / max(seconds, 1e-6)) + 1))


def host_microseconds(torch: Any, run: Callable[[], Any]) -> float:
    """Time until one call returns, the device idle enough to take it."""
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(50):
        run()
    spent = time.perf_counter() - begin
    torch.cuda.synchronize()
    return spent / 50 * 1e6


# ---- products ----------------------------------------------------------------------------------------------------


def layout(rows: int, cols: int, order: str, batch: int) -> MatrixLayout:
    """A stack of dense matrices."""
    step = rows * cols if batch > 1 else 0
    return MatrixLayout(rows, cols, cols, 1, step) if order == "n" else MatrixLayout(rows, cols, 1, rows, step)


def tensor(torch: Any, rows: int, cols: int, order: str, batch: int) -> Any:
    """The same as a tensor."""
    shape = (rows, cols) if order == "n" else (cols, rows)
    made = torch.randn((batch, *shape) if batch > 1 else shape, device="cuda", dtype=torch.bfloat16)
    return made if order == "n" else made.transpose(-1, -2)


def product_rows(torch: Any) -> Iterator[Row]:
    """Every product: our plan as the library proposes it, tuned, and PyTorch."""
    for m, k, n, batch, orders, epilogue in PRODUCTS:
        a, b = tensor(torch, m, k, orders[0], batch), tensor(torch, k, n, orders[1], batch)
        out, bias = tensor(torch, m, n, "n", batch), torch.randn(n, device="cuda", dtype=torch.bfloat16)
        sizes = layout(m, k, orders[0], batch), layout(k, n, orders[1], batch), layout(m, n, "n", batch)
        problem = MatmulProblem(*sizes, "bfloat16", batch=batch, epilogue=epilogue)
        name = f"{m}x{k}x{n}{f' x{batch}' if batch > 1 else ''} {orders} {epilogue}"
        ways = {**product_plan(torch, problem, a, b, out, bias), "torch": torch_product(torch, epilogue, a, b, bias)}
        yield Row(name, 2.0 * m * k * n * batch, ways)


def product_plan(torch: Any, problem: MatmulProblem, a: Any, b: Any, out: Any, bias: Any) -> dict[str, Any]:
    """Ways to run our plan."""
    plan = cublaslt.plan(problem)
    if plan is None:
        return {}
    room = torch.empty(cublaslt.WORKSPACE_BYTES, device="cuda", dtype=torch.uint8)
    handle, stream = cublaslt.handle_of(), torch.cuda.current_stream().cuda_stream
    places = (a.data_ptr(), b.data_ptr(), out.data_ptr(), bias.data_ptr(), room.data_ptr())

    def run() -> None:
        plan.run(handle, *places, stream)

    plan.tune(lambda found: device_seconds(torch, run, 0.005))
    best = plan.chosen
    return {"first": chosen(plan, 0, run), "tuned": chosen(plan, best, run)}


def chosen(plan: Any, k: int, run: Callable[[], None]) -> Callable[[], None]:
    """Run with algorithm ``k``."""

    def with_it() -> None:
        if plan.chosen != k:
            plan.use(k)
        run()

    return with_it


def torch_product(torch: Any, epilogue: str, a: Any, b: Any, bias: Any) -> Callable[[], Any]:
    """PyTorch's way: addmm where there is a bias, which is one call of cuBLASLt as well."""
    if epilogue == "none":
        return lambda: torch.matmul(a, b)
    if epilogue == "bias":
        return lambda: torch.addmm(bias, a, b)
    return lambda: torch.ops.aten._addmm_activation(bias, a, b, use_gelu=True)


# ---- convolutions ------------------------------------------------------------------------------------------------


def convolution_rows(torch: Any) -> Iterator[Row]:
    """Every convolution of the network and its gradients."""
    torch.backends.cudnn.benchmark = True
    for size, c, o, kernel, stride in RESNET:
        pad = kernel // 2
        after = (size + 2 * pad - kernel) // stride + 1
        shapes = {"x": (IMAGES, size, size, c), "weight": (o, kernel, kernel, c), "out": (IMAGES, after, after, o)}
        tensors = {k: torch.randn(s, device="cuda", dtype=torch.bfloat16) for k, s in shapes.items()}
        for kind in KINDS:
            problem = ConvProblem(
                kind, shapes["x"], (o, c, kernel, kernel), shapes["out"], "NHWC", "OHWI", (stride, stride), (pad,) * 4,
                dtype="bfloat16",
            )  # fmt: skip
            ways = {**convolution_plan(torch, problem, tensors), "torch": torch_convolution(torch, problem, tensors)}
            name = f"{size}x{size} {c}->{o} {kernel}x{kernel}/{stride} {kind}"
            yield Row(name, 2.0 * IMAGES * after * after * o * c * kernel * kernel, ways)


def convolution_plan(torch: Any, problem: ConvProblem, tensors: dict[str, Any]) -> dict[str, Any]:
    """Ways to run our plan."""
    plan = cudnn.plan(problem)
    if plan is None:
        return {}
    handle, stream = cudnn_api.handle_of(), torch.cuda.current_stream().cuda_stream
    places = tuple(tensors[role].data_ptr() for role in ("x", "weight", "out"))
    room = [torch.empty(1, device="cuda", dtype=torch.uint8)]

    def run() -> None:
        plan.run(handle, *places, room[0].data_ptr(), stream)

    estimated = plan.algorithms[0]
    kept: list[Any] = []

    def allocate(nbytes: int) -> int:
        kept.append(torch.empty(nbytes, device="cuda", dtype=torch.uint8))
        return int(kept[-1].data_ptr())

    plan.measure(handle, allocate)
    kept.clear()
    same = (estimated.algorithm, estimated.math)
    first = next((k for k, f in enumerate(plan.algorithms) if (f.algorithm, f.math) == same), 0)
    room[0] = torch.empty(most_workspace(plan), device="cuda", dtype=torch.uint8)
    return {"first": chosen(plan, first, run), "tuned": chosen(plan, 0, run)}


def most_workspace(plan: Any) -> int:
    """Bytes that suffice for each of a plan's algorithms."""
    sizes = []
    for k in range(len(plan.algorithms)):
        plan.use(k)
        sizes.append(plan.workspace)
    return max(1, *sizes)


def torch_convolution(torch: Any, problem: ConvProblem, tensors: dict[str, Any]) -> Callable[[], Any]:
    """PyTorch's way, channels last."""
    x, w, out = (tensors[role].permute(0, 3, 1, 2) for role in ("x", "weight", "out"))
    stride, pad = list(problem.stride), [problem.pads[0], problem.pads[2]]
    if problem.kind == "forward":
        return lambda: torch.nn.functional.conv2d(x, w, None, stride, pad)
    wanted = [problem.kind == "input_grad", problem.kind == "weight_grad", False]
    args = (None, stride, pad, [1, 1], False, [0, 0], 1, wanted)
    return lambda: torch.ops.aten.convolution_backward(out, x, w, *args)


# ---- the table ---------------------------------------------------------------------------------------------------


def table(torch: Any, rows: Iterator[Row], rounds: int) -> None:
    """Measure and print."""
    ways = ("first", "tuned", "torch")
    print(f"{'TFLOP/s':<44}{''.join(f'{w:>9}' for w in ways)}{'tuned/torch':>13}{'launch':>9}")
    for row in rows:
        best: dict[str, float] = {}
        for _ in range(rounds):
            for name, run in row.ways.items():
                seconds = device_seconds(torch, run)
                best[name] = min(seconds, best.get(name, seconds))
        rates = {name: row.flops / seconds / 1e12 for name, seconds in best.items()}
        cells = "".join(f"{rates[w]:>9.1f}" if w in rates else f"{'none':>9}" for w in ways)
        ratio = f"{best['torch'] / best['tuned']:>13.2f}" if "tuned" in best else " " * 13
        launch = f"{host_microseconds(torch, row.ways['tuned']):>9.1f}" if "tuned" in best else ""
        print(f"{row.name:<44}{cells}{ratio}{launch}", flush=True)


def main() -> None:
    """Print the tables that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("matmul", "conv"))
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    import torch  # first: its libraries are the ones that everybody uses then

    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}")
    print(f"cuBLASLt {cublaslt.library_version()} {cublaslt.missing()}, ", end="")
    print(f"cuDNN {cudnn_api.library_version()} {cudnn_api.missing()}")
    for part, rows in (("matmul", product_rows), ("conv", convolution_rows)):
        if options.only in (None, part):
            table(torch, rows(torch), options.rounds)


if __name__ == "__main__":
    main()
