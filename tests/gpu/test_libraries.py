"""Plans of cuBLASLt and cuDNN on a GPU, held against NumPy in float64. Skipped where there is no CuPy or no GPU.

Operands are rounded to their dtype first, so that what is measured is the product and its sum. An error is told as a
part of what the same sum of absolute values gives: sums that cancel have no digits to lose.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import msnb.ops  # noqa: F401  the records register themselves
from msnb.devices.gpu.libraries import cublaslt, cudnn, cudnn_api
from msnb.devices.gpu.libraries.cublaslt import MatmulProblem
from msnb.devices.gpu.libraries.cudnn import ConvProblem
from msnb.devices.gpu.libraries.gemm_layout import MatrixLayout, folded
from msnb.ops.definition.record import find


def _cupy() -> Any:
    """CuPy with a GPU under it; else the tests of this file are skipped, and say why."""
    xp = pytest.importorskip("cupy", reason="CuPy is not installed")
    try:
        there = xp.cuda.runtime.getDeviceCount()
    except Exception as error:
        pytest.skip(f"there is no GPU: {error}", allow_module_level=True)
    if not there:
        pytest.skip("there is no GPU", allow_module_level=True)
    return xp


cp = _cupy()

NUMPY = {"float32": np.float32, "float64": np.float64, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
DTYPES = tuple(NUMPY)
# of a sum of absolute values: the rounding of the result, or of operands to TF32, and a little for the sum
TOLERANCE = {"float32": 2e-6, "float64": 1e-14, "float16": 1e-3, "bfloat16": 8e-3}
TF32 = 2e-3


class Memory:
    """Bytes on the GPU that a NumPy array went to, of any dtype; ``back`` fetches them."""

    def __init__(self, array: Any) -> None:
        array = np.ascontiguousarray(array)
        self.shape, self.dtype = array.shape, array.dtype
        self.bytes = cp.asarray(array.reshape(-1).view(np.uint8))

    @property
    def address(self) -> int:
        return int(self.bytes.data.ptr)

    def back(self) -> Any:
        return cp.asnumpy(self.bytes).view(self.dtype).reshape(self.shape)


def stream() -> int:
    return int(cp.cuda.get_current_stream().ptr)


def scratch(size: int) -> Any:
    return cp.empty(max(size, 1), dtype=cp.uint8)


def random(rng: Any, shape: tuple[int, ...], dtype: str) -> Any:
    return rng.standard_normal(shape).astype(NUMPY[dtype])


def wide(array: Any) -> Any:
    return array.astype(np.float64)


def hold(got: Any, want: Any, scale: Any, tolerance: float) -> None:
    """``got`` is ``want`` up to a part of ``scale``."""
    assert got.shape == want.shape
    error = np.abs(wide(got) - want) / np.maximum(scale, 1e-30)
    assert np.isfinite(wide(got)).all() and error.max() <= tolerance, f"{error.max():.3g} over {tolerance:.3g}"


# ---- products ----------------------------------------------------------------------------------------------------


def stacked(
    rows: int, cols: int, order: str, batch: int, repeats: bool = False
) -> tuple[MatrixLayout, tuple[int, ...]]:
    """A stack of matrices by rows ("n") or columns ("t"), and the shape of its memory."""
    count = 1 if repeats else batch
    step = 0 if repeats or batch == 1 else rows * cols
    if order == "n":
        return MatrixLayout(rows, cols, cols, 1, step), (count, rows, cols)
    return MatrixLayout(rows, cols, 1, rows, step), (count, cols, rows)


def meant(memory: Any, order: str) -> Any:
    return wide(memory) if order == "n" else wide(memory).swapaxes(1, 2)


def activated(epilogue: str, x: Any) -> Any:
    if epilogue.startswith("relu"):
        return np.maximum(x, 0)
    if epilogue.startswith("gelu"):
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return x


def launched(problem: MatmulProblem, a: Memory, b: Memory, out: Memory, bias: Memory | None = None) -> None:
    plan = cublaslt.plan(problem)
    if plan is None:
        pytest.skip(f"cuBLASLt has no code for {problem}")
    room = scratch(plan.workspace)
    added = 0 if bias is None else bias.address
    plan.run(cublaslt.handle_of(), a.address, b.address, out.address, added, int(room.data.ptr), stream())


def multiplied(
    sizes: tuple[int, int, int], orders: str = "nnn", batch: int = 1, repeats: str = "", dtype: str = "float32",
    tolerance: float = 0.0, **more: Any,
) -> None:  # fmt: skip
    """Compute a product with a plan and hold it against NumPy."""
    m, k, n = sizes
    rng = np.random.default_rng(m + 10 * k + 100 * n)
    (la, sa), (lb, sb) = (
        stacked(*s, order, batch, name in repeats) for s, order, name in zip(((m, k), (k, n)), orders, "ab")
    )
    lo, so = stacked(m, n, orders[2], batch)
    problem = MatmulProblem(la, lb, lo, dtype, batch=batch, **more)
    made = problem.out_dtype or dtype
    a, b, out = random(rng, sa, dtype), random(rng, sb, dtype), random(rng, so, made)
    bias = random(rng, (n,), made) if problem.has_bias else None
    memories = [Memory(x) for x in (a, b, out)]
    launched(problem, *memories, None if bias is None else Memory(bias))
    x, y, before = meant(a, orders[0]), meant(b, orders[1]), meant(out, orders[2])
    want = problem.alpha * (x @ y) + problem.beta * before + (0 if bias is None else wide(bias))
    scale = abs(problem.alpha) * (np.abs(x) @ np.abs(y)) + abs(problem.beta * before) + 1
    hold(meant(memories[2].back(), orders[2]), activated(problem.epilogue, want), scale, tolerance or TOLERANCE[made])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("orders", ["".join(o) for o in itertools.product("nt", repeat=3)])
def test_layouts(orders: str, dtype: str) -> None:
    multiplied((64, 96, 128), orders, dtype=dtype)
    multiplied((64, 96, 128), orders, batch=3, dtype=dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sizes", [(1, 1, 1), (7, 5, 3), (129, 257, 65), (1, 64, 33), (33, 64, 1), (33, 1, 64)])
def test_odd_sizes(sizes: tuple[int, int, int], dtype: str) -> None:
    for orders in ("nnn", "ntn", "tnn", "ttn"):
        multiplied(sizes, orders, dtype=dtype, alignment=16)
        multiplied(sizes, orders, dtype=dtype, batch=2, alignment=8)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("repeats", ["a", "b", "ab"])
def test_one_matrix_for_the_whole_batch(repeats: str, dtype: str) -> None:
    multiplied((32, 48, 40), "nnn", batch=5, repeats=repeats, dtype=dtype)
    multiplied((32, 48, 40), "ntn", batch=5, repeats=repeats, dtype=dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("epilogue", ["none", "bias", "relu", "relu_bias", "gelu", "gelu_bias"])
def test_epilogues(epilogue: str, dtype: str) -> None:
    # its gelu takes a tanh that has fewer digits than float32
    loose = {"float32": 2e-4}.get(dtype, 0.0) if "gelu" in epilogue else 0.0
    for sizes, batch in (((64, 96, 128), 1), ((50, 40, 24), 4)):
        multiplied(sizes, batch=batch, dtype=dtype, epilogue=epilogue, tolerance=loose)
        multiplied(sizes, "ntn", batch=batch, dtype=dtype, epilogue=epilogue, tolerance=loose)


def trained(epilogue: str, dtype: str) -> tuple[Any, Any, dict[str, Memory]]:
    """Run an epilogue of training; gives a, b and what lies in out, aux and bias before, and where it lies now."""
    m, k, n = 64, 96, 128
    rng = np.random.default_rng(5)
    a, b, aux, bias = (random(rng, s, dtype) for s in ((m, k), (k, n), (m, n), (n,)))
    sizes = (MatrixLayout(r, c, c, 1) for r, c in ((m, k), (k, n), (m, n)))
    plan = cublaslt.plan(MatmulProblem(*sizes, dtype, epilogue=epilogue))
    if plan is None:
        pytest.skip(f"cuBLASLt has no code for {epilogue} in {dtype}")
    left, right, room = Memory(a), Memory(b), scratch(plan.workspace)
    kept = {"out": Memory(np.zeros((m, n), a.dtype)), "aux": Memory(aux), "bias": Memory(bias)}
    handle, places = cublaslt.handle_of(), {name: memory.address for name, memory in kept.items()}
    plan.run(handle, left.address, right.address, **places, workspace=int(room.data.ptr), stream=stream())
    cp.cuda.get_current_stream().synchronize()
    return (wide(a), wide(b)), (wide(aux), wide(bias)), kept


def gelu_slope(x: Any) -> Any:
    t = np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x * x)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("epilogue", ["gelu_aux", "gelu_aux_bias"])
def test_what_the_gelu_was_taken_of_is_kept(epilogue: str, dtype: str) -> None:
    (a, b), (_, bias), kept = trained(epilogue, dtype)
    want, scale = a @ b + (bias if "bias" in epilogue else 0), np.abs(a) @ np.abs(b) + 1
    limit = {"float32": 2e-4}.get(dtype, TOLERANCE[dtype])
    hold(kept["aux"].back(), want, scale, limit)
    hold(kept["out"].back(), activated("gelu", want), scale, limit)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("epilogue", ["dgelu", "dgelu_bgrad"])
def test_the_gradient_of_a_gelu(epilogue: str, dtype: str) -> None:
    (a, b), (aux, _), kept = trained(epilogue, dtype)
    want, scale = (a @ b) * gelu_slope(aux), np.abs(a) @ np.abs(b) + 1
    limit = {"float32": 2e-4}.get(dtype, TOLERANCE[dtype])
    hold(kept["out"].back(), want, scale, limit)
    if "bgrad" in epilogue:
        hold(kept["bias"].back(), want.sum(0), np.abs(want).sum(0) + 1, 4 * limit)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_sums_of_b_come_with_the_product(dtype: str) -> None:
    (a, b), _, kept = trained("bgrad", dtype)
    hold(kept["out"].back(), a @ b, np.abs(a) @ np.abs(b) + 1, TOLERANCE[dtype])
    hold(kept["bias"].back(), b.sum(0), np.abs(b).sum(0), TOLERANCE[dtype])


@pytest.mark.parametrize("epilogue", ["relu", "relu_bias", "gelu", "gelu_bias"])
def test_epilogues_let_nan_through(epilogue: str) -> None:
    """As the records do. If one does not, it is not to be used for them."""
    a, b = np.eye(32, dtype=np.float32), np.ones((32, 32), np.float32)
    b[3, 5] = np.nan
    square = MatrixLayout(32, 32, 32, 1)
    out, bias = Memory(np.zeros_like(a)), Memory(np.zeros(32, np.float32))
    launched(MatmulProblem(square, square, square, "float32", epilogue=epilogue), Memory(a), Memory(b), out, bias)
    assert np.isnan(out.back()[:, 5]).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_factors(dtype: str) -> None:
    multiplied((64, 96, 128), dtype=dtype, alpha=0.125, beta=0.0)
    multiplied((64, 96, 128), dtype=dtype, alpha=-2.0, beta=1.0)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_two_byte_operands_with_a_float32_result(dtype: str) -> None:
    multiplied((64, 96, 128), dtype=dtype, out_dtype="float32")
    multiplied((64, 96, 128), dtype=dtype, out_dtype="float32", epilogue="bias")


def test_precision_is_kept_unless_the_problem_gives_it_up() -> None:
    multiplied((256, 512, 256), precision="highest")
    multiplied((256, 512, 256), precision="high", tolerance=TF32)
    with pytest.raises(AssertionError, match="over"):  # and it is the tensor cores that are used then
        multiplied((256, 512, 256), precision="high")


def test_a_folded_batch_is_the_same_product() -> None:
    rng = np.random.default_rng(0)
    a, b = random(rng, (6, 3, 8), "float32"), random(rng, (8, 5), "float32")
    layouts = [MatrixLayout(3, 8, 8, 1, 24), MatrixLayout(8, 5, 5, 1), MatrixLayout(3, 5, 5, 1, 15)]
    la, lb, lo, batch = folded(*layouts, 6)
    out = Memory(np.zeros((6, 3, 5), np.float32))
    assert batch == 1
    launched(MatmulProblem(la, lb, lo, "float32"), Memory(a), Memory(b), out)
    hold(out.back(), wide(a) @ wide(b), np.abs(wide(a)) @ np.abs(wide(b)), 1e-6)


def test_every_algorithm_computes_the_same_and_the_fastest_is_kept() -> None:
    rng = np.random.default_rng(1)
    a, b = random(rng, (512, 256), "bfloat16"), random(rng, (256, 384), "bfloat16")
    problem = MatmulProblem(*(MatrixLayout(r, c, c, 1) for r, c in ((512, 256), (256, 384), (512, 384))), "bfloat16")
    plan = cublaslt.plan(problem)
    assert plan is not None
    x, y, out = Memory(a), Memory(b), Memory(np.zeros((512, 384), ml_dtypes.bfloat16))
    times = iter([float(len(plan.algorithms) - k) for k in range(len(plan.algorithms))])

    def seconds(found: cublaslt.MatmulPlan) -> float:
        room = scratch(found.workspace)
        found.run(cublaslt.handle_of(), x.address, y.address, out.address, 0, int(room.data.ptr), stream())
        hold(out.back(), wide(a) @ wide(b), np.abs(wide(a)) @ np.abs(wide(b)), TOLERANCE["bfloat16"])
        return next(times)

    plan.tune(seconds)
    assert plan.chosen == len(plan.algorithms) - 1
    plan.use(0)


def test_a_product_is_captured_in_a_graph() -> None:
    rng = np.random.default_rng(2)
    a, b, c = (Memory(random(rng, (64, 64), "float32")) for _ in range(3))
    square = MatrixLayout(64, 64, 64, 1)
    plan = cublaslt.plan(MatmulProblem(square, square, square, "float32", epilogue="bias"))
    assert plan is not None
    room, bias = scratch(plan.workspace), Memory(random(rng, (64,), "float32"))
    handle, side = cublaslt.handle_of(), cp.cuda.Stream(non_blocking=True)
    cp.cuda.get_current_stream().synchronize()
    with side:
        side.begin_capture()
        plan.run(handle, a.address, b.address, c.address, bias.address, int(room.data.ptr), side.ptr)
        graph = side.end_capture()
        graph.launch()
    side.synchronize()
    want = wide(a.back()) @ wide(b.back()) + wide(bias.back())
    hold(c.back(), want, np.abs(wide(a.back())) @ np.abs(wide(b.back())) + 1, 2e-6)


# ---- convolutions ------------------------------------------------------------------------------------------------

SHAPES: dict[str, dict[str, Any]] = {
    "3x3": {"x": (4, 16, 14, 15), "weight": (32, 16, 3, 3), "pads": (1, 1, 1, 1)},
    "1x1": {"x": (4, 32, 9, 9), "weight": (64, 32, 1, 1)},
    "stride": {"x": (4, 16, 15, 14), "weight": (24, 16, 3, 3), "stride": (2, 2), "pads": (1, 1, 1, 1)},
    "stem": {"x": (2, 3, 32, 32), "weight": (16, 3, 7, 7), "stride": (2, 2), "pads": (3, 3, 3, 3)},
    "dilation": {"x": (2, 8, 17, 16), "weight": (8, 8, 3, 3), "dilation": (2, 2), "pads": (2, 2, 2, 2)},
    "groups": {"x": (2, 16, 12, 12), "weight": (32, 4, 3, 3), "groups": 4, "pads": (1, 1, 1, 1)},
    "depthwise": {"x": (2, 16, 12, 12), "weight": (16, 1, 3, 3), "groups": 16, "pads": (1, 1, 1, 1)},
    "odd": {"x": (3, 5, 11, 7), "weight": (7, 5, 2, 3), "stride": (1, 2), "pads": (0, 0, 1, 1)},
    "one side": {"x": (2, 8, 16, 16), "weight": (8, 8, 3, 3), "stride": (2, 2), "pads": (1, 0, 1, 0)},
}  # fmt: skip
WINDOW = {"stride": (1, 1), "pads": (0, 0, 0, 0), "dilation": (1, 1), "groups": 1}
NAMES = {"forward": "conv2d", "input_grad": "conv2d_input_grad", "weight_grad": "conv2d_weight_grad"}
READS = {"forward": ("x", "weight"), "input_grad": ("out", "weight"), "weight_grad": ("x", "out")}
WRITES = {"forward": "out", "input_grad": "x", "weight_grad": "weight"}


def reference(kind: str, shapes: Any, operands: Any, window: Any) -> Any:
    """The record's own body in float64, images NCHW."""
    more = {"input_grad": {"size": shapes["x"][2:]}, "weight_grad": {"kernel": shapes["weight"][2:]}}.get(kind, {})
    return find(NAMES[kind]).body(np, *operands, **window, **more, data_format="NCHW")


def last(array: Any) -> Any:
    """Channels last: NCHW to NHWC, OIHW to OHWI."""
    return np.ascontiguousarray(array.transpose(0, 2, 3, 1))


def outputs(x: tuple[int, ...], weight: tuple[int, ...], window: Any) -> tuple[int, ...]:
    pads, sizes = window["pads"], []
    for i in (0, 1):
        reach = window["dilation"][i] * (weight[2 + i] - 1) + 1
        sizes.append((x[2 + i] + pads[2 * i] + pads[2 * i + 1] - reach) // window["stride"][i] + 1)
    return (x[0], weight[0], *sizes)


def convolved(
    name: str, kind: str, form: str, dtype: str, measured: bool = False, tolerance: float = 0.0, **more: Any
) -> None:
    """Compute a convolution with a plan and hold it against the record's body."""
    window = {**WINDOW, **{k: v for k, v in SHAPES[name].items() if k in WINDOW}}
    shapes = {k: SHAPES[name][k] for k in ("x", "weight")}
    shapes["out"] = outputs(shapes["x"], shapes["weight"], window)
    rng = np.random.default_rng(len(name))
    values = {role: random(rng, shape, dtype) for role, shape in shapes.items()}
    turn = last if form == "NHWC" else np.ascontiguousarray
    memory = {role: Memory(turn(value)) for role, value in values.items()}
    problem = ConvProblem(
        kind, memory["x"].shape, shapes["weight"], memory["out"].shape, form, "OHWI" if form == "NHWC" else "OIHW",
        dtype=dtype, **window, **more,
    )  # fmt: skip
    kept: list[Any] = []
    plan = cudnn.plan(problem, allocate=(lambda size: held(kept, size)) if measured else None)
    if plan is None:
        pytest.skip(f"cuDNN has no code for {problem}")
    room = scratch(plan.workspace)
    places = [memory[role].address for role in ("x", "weight", "out")]
    plan.run(cudnn_api.handle_of(), *places, int(room.data.ptr), stream())
    operands = [wide(values[role]) for role in READS[kind]]
    want = reference(kind, shapes, operands, window)
    scale = reference(kind, shapes, [np.abs(o) for o in operands], window) + 1
    got = memory[WRITES[kind]].back()
    # algorithms that transform tiles (Winograd) round more than one that only sums
    limit = tolerance or {"float32": 2e-5, "float64": 1e-13}.get(dtype, 2 * TOLERANCE[dtype])
    hold(got.transpose(0, 3, 1, 2) if form == "NHWC" else got, want, scale, limit)


def held(kept: list[Any], size: int) -> int:
    kept.append(scratch(size))
    return int(kept[-1].data.ptr)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", ["NCHW", "NHWC"])
@pytest.mark.parametrize("kind", list(NAMES))
@pytest.mark.parametrize("name", list(SHAPES))
def test_convolutions(name: str, kind: str, form: str, dtype: str) -> None:
    convolved(name, kind, form, dtype)


@pytest.mark.parametrize("form", ["NCHW", "NHWC"])
@pytest.mark.parametrize("kind", list(NAMES))
def test_convolutions_in_tf32(kind: str, form: str) -> None:
    convolved("3x3", kind, form, "float32", precision="high", tolerance=TF32)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("kind", list(NAMES))
@pytest.mark.parametrize("name", ["3x3", "groups"])
def test_measured_convolutions(name: str, kind: str, dtype: str) -> None:
    convolved(name, kind, "NHWC", dtype, measured=True, deterministic=True)


def test_a_convolution_is_captured_in_a_graph() -> None:
    rng = np.random.default_rng(3)
    x, w = random(rng, (2, 8, 8, 16), "float16"), random(rng, (16, 3, 3, 16), "float16")
    problem = ConvProblem(
        "forward", (2, 8, 8, 16), (16, 16, 3, 3), (2, 8, 8, 16), "NHWC", "OHWI", pads=(1, 1, 1, 1), dtype="float16"
    )
    plan = cudnn.plan(problem)
    assert plan is not None
    memory, out = (Memory(x), Memory(w)), Memory(np.zeros((2, 8, 8, 16), np.float16))
    room, handle, side = scratch(plan.workspace), cudnn_api.handle_of(), cp.cuda.Stream(non_blocking=True)
    places = (memory[0].address, memory[1].address, out.address, int(room.data.ptr))
    cp.cuda.get_current_stream().synchronize()
    plan.run(handle, *places, side.ptr)  # once before: a first run may load code
    side.synchronize()
    first = out.back()
    out.bytes[:] = 0
    cp.cuda.get_current_stream().synchronize()
    with side:
        side.begin_capture()
        plan.run(handle, *places, side.ptr)
        side.end_capture().launch()
    side.synchronize()
    np.testing.assert_array_equal(out.back(), first)
    assert first.any()


# ---- failures ----------------------------------------------------------------------------------------------------


def test_a_failing_call_names_the_status_and_the_problem() -> None:
    problem = ConvProblem("forward", (2, 3, 8, 8), (4, 3, 3, 3), (2, 4, 6, 6))
    plan = cudnn.plan(problem)
    assert plan is not None
    with pytest.raises(cudnn_api.CudnnError, match=r"CUDNN_STATUS_.* for the convolution's forward, x \[2, 3"):
        plan.run(cudnn_api.handle_of(), 0, 0, 0, 0, stream())


def test_versions_are_told() -> None:
    assert cublaslt.library_version() >= 120000
    assert cudnn_api.library_version() >= 90000
