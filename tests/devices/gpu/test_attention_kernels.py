"""Attention on the matrix unit, by the simulator: against float64, forward and backward; which cases have kernels."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import kernel_runs
import ml_dtypes

import msnb as ms
from msnb import ops
from msnb.base import device_registry
from msnb.devices.codegen.value_views import Views
from msnb.devices.device import DeviceFeatures
from msnb.devices.gpu.codegen.gpu_kernel import module_text
from msnb.devices.gpu.codegen.gpu_target import GpuTarget, target_of
from msnb.devices.gpu.kernels.attention import attention_kernels, tilings
from msnb.devices.gpu.kernels.attention.attention_case import AttentionCase, Rows
from msnb.devices.gpu.program.node_lowering import lowered
from msnb.devices.gpu.simt import KernelFault, SimtModule
from msnb.ir.builder import build
from msnb.ops.definition.record import find
from tests import fake_cupy
from tests.devices.cpu.codegen_programs import one_op

SEED = 5
BF16, F16 = ml_dtypes.bfloat16, np.float16
# b, h, hk, l, s, d, dtype, causal
CASES = [
    (1, 2, 2, 33, 64, 64, F16, False),
    (2, 1, 1, 150, 33, 64, BF16, True),
    (1, 4, 2, 64, 140, 32, BF16, True),
    (1, 2, 1, 150, 150, 32, F16, True),
    (1, 1, 1, 33, 100, 96, F16, False),
    (1, 1, 1, 70, 64, 128, BF16, True),
]


def drawn(case: Any) -> list[np.ndarray]:
    """q, k, v and dy."""
    b, h, hk, l, s, d, dtype, _ = case
    rng = np.random.default_rng(SEED)
    return [rng.normal(size=(b, n, rows, d)).astype(dtype) for n, rows in ((h, l), (hk, s), (hk, s), (h, l))]


def reference(q: Any, k: Any, v: Any, dy: Any, scale: float, causal: bool) -> dict[str, np.ndarray]:
    """Everything in float64, by the formulas of a softmax."""
    q, k, v, dy = (x.astype(np.float64) for x in (q, k, v, dy))
    b, hk, s, d = k.shape
    group = q.shape[1] // hk
    k, v = (np.repeat(x, group, axis=1) for x in (k, v))
    scores = q @ k.swapaxes(-1, -2) * scale
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    most = scores.max(-1, keepdims=True)
    p = np.exp(scores - most)
    z = p.sum(-1, keepdims=True)
    p /= z
    dp = dy @ v.swapaxes(-1, -2)
    ds = p * (dp - (p * dp).sum(-1, keepdims=True)) * scale
    dk, dv = (x.reshape(b, hk, group, s, d).sum(2) for x in (ds.swapaxes(-1, -2) @ q, p.swapaxes(-1, -2) @ dy))
    out = {"out": p @ v, "lse": (most + np.log(z))[..., 0], "delta": (p * dp).sum(-1)}
    return {**out, "dq": ds @ k, "dk": dk, "dv": dv}


def close(got: np.ndarray, want: np.ndarray) -> None:
    """Within a few roundings of the largest number around."""
    unit = {BF16: 2.0**-8, F16: 2.0**-11}.get(got.dtype.type, 2.0**-20)
    assert not np.isnan(got.astype(np.float64)).any()
    np.testing.assert_allclose(got.astype(np.float64), want, rtol=4 * unit, atol=2 * unit * np.abs(want).max())


@pytest.mark.parametrize("case", CASES, ids=str)
def test_forward_and_backward(case: Any) -> None:
    q, k, v, dy = drawn(case)
    attrs = {"scale": 1 / math.sqrt(q.shape[-1]), "is_causal": case[-1]}
    want = reference(q, k, v, dy, **{"scale": attrs["scale"], "causal": attrs["is_causal"]})
    out, lse = kernel_runs.native("flash_attention", [q, k, v], attrs).outs
    close(out, want["out"])
    np.testing.assert_allclose(lse, want["lse"], rtol=1e-5, atol=1e-5)
    sums = [want[name].astype(np.float32) for name in ("lse", "delta")]
    found = kernel_runs.native("flash_attention_grad", [q, k, v, dy, *sums], attrs)
    assert found.launches == 2
    for got, name in zip(found.outs, ("dq", "dk", "dv"), strict=True):
        close(got, want[name])


def test_large_scores_neither_overflow_nor_vanish() -> None:
    q, k, v, dy = drawn((1, 1, 1, 40, 80, 32, F16, False))
    q *= 30
    want = reference(q, k, v, dy, 1.0, False)
    out, lse = kernel_runs.native("flash_attention", [q, k, v], {"scale": 1.0}).outs
    close(out, want["out"])
    np.testing.assert_allclose(lse, want["lse"], rtol=1e-5)


def lower(program: Any, *arrays: np.ndarray) -> Any:
    graph = build("attend", [ms.Tensor(a)._type for a in arrays], program)
    return lowered(graph.nodes[-1], Views().of, False), graph


def test_heads_side_by_side_are_read_where_they_lie() -> None:
    rng, (b, l, h, d) = np.random.default_rng(SEED), (2, 20, 2, 32)
    qkv = rng.normal(size=(b, l, 3 * h * d)).astype(F16)

    def program(x: Any) -> Any:
        parts = ops.transpose(ops.reshape(x, (b, l, 3, h, d)), (2, 0, 3, 1, 4))
        return find("flash_attention")(parts[0], parts[1], parts[2], scale=0.2)

    way, graph = lower(program, qkv)
    assert list(way.reads) == [graph.params[0]] * 3
    outs = [np.zeros(v.type.ints(), v.type.dtype.numpy) for v in graph.nodes[-1].outputs]
    run = kernel_runs.KernelRun(way, [qkv] * 3, outs)
    q, k, v = np.moveaxis(qkv.reshape(b, l, 3, h, d), 2, 0).swapaxes(2, 3)
    close(run.outs[0], reference(q, k, v, q, 0.2, False)["out"])


@pytest.mark.parametrize(
    ("change", "there"),
    [({}, True), ({"d": 48}, False), ({"dtype": np.float32}, False), ({"scale": -1.0}, False)],
)
def test_which_cases_have_kernels(change: dict[str, Any], there: bool) -> None:
    of = {"d": 64, "dtype": BF16, "scale": 1.0, **change}
    q, k, v, _ = drawn((1, 2, 1, 8, 8, of["d"], of["dtype"], False))
    node = one_op(find("flash_attention"), [ms.Tensor(x) for x in (q, k, v)], {"scale": of["scale"]}).nodes[-1]
    assert (attention_kernels.recipe(node, Views().of, GpuTarget()) is not None) is there
    assert attention_kernels.recipe(node, Views().of, GpuTarget(bfloat=False)) is None


@pytest.mark.parametrize("features", [32, 64, 96, 128])
@pytest.mark.parametrize("chip", ["sm_80", "sm_86", "sm_90", "sm_120"])
def test_kernels_fit_into_the_shared_memory_of_their_gpu(chip: str, features: int) -> None:
    target = target_of(chip)
    rows = Rows(1, 64, (64 * features, 64 * features, features))
    case = AttentionCase(1, features, rows, rows, rows, ms.bfloat16, 1.0, False, rows)
    made = [make(case, target) for make in (attention_kernels.key_gradient, attention_kernels.query_gradient)]
    made.append(attention_kernels.forward(case.with_dy(None), target))
    assert all(kernel.launches[0].shared_bytes <= target.shared_bytes for kernel in made)
    if features == 128:
        assert made[0].launches[0].shared_bytes == tilings.key_bytes(case, tilings.keys(case, target.shared_bytes))


def test_the_watch_sees_a_kernel_that_does_not_wait() -> None:
    rows = Rows(1, 64, (64 * 32, 64 * 32, 32))
    kernel = attention_kernels.forward(AttentionCase(1, 32, rows, rows, rows, ms.float16, 1.0, False))
    text, (launch,) = module_text([kernel]), kernel.launches
    x = np.ones(64 * 32 + 64, F16)
    x = x[-x.ctypes.data % 128 // 2 :][: 64 * 32]
    held = [x, x, x, np.zeros(64 * 32 + 8, F16), np.zeros(64, np.float32)]
    buffers = [(a.ctypes.data, a.nbytes, i > 2) for i, a in enumerate(held)]

    def run(code: str) -> None:
        SimtModule(code).launch(launch.function, launch.grid, launch.block, [b[0] for b in buffers], buffers=buffers)

    run(text)
    assert not np.isnan(held[4]).any()
    barrier = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)"
    with pytest.raises(KernelFault, match="a race"):
        run(text.replace(barrier, ""))
    run(text.replace("call void @llvm.nvvm.cp.async.wait.group(i32 0)", ""))
    assert np.isnan(held[4]).all()


# ---- who asks for it -------------------------------------------------------------------------------------------------


@pytest.fixture
def attention_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DeviceFeatures, "has_attention", True)


@pytest.mark.usefixtures("attention_of_its_own")
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("shape", [(2, 3, 8, 32), (2, 8, 32)])
def test_scaled_dot_product_attention_is_one_node(mode: str, shape: tuple[int, ...], causal: bool) -> None:
    x, y, z = (np.random.default_rng(k).normal(size=shape).astype(F16) for k in range(3))

    def attend(q: Any, k: Any, v: Any) -> Any:
        return ops.scaled_dot_product_attention(q, k, v, is_causal=causal)

    args = [ms.Tensor(a) for a in (x, y, z)]
    graph = build("attend", [t._type for t in args], attend)
    assert "flash_attention" in [n.op.name for n in graph.nodes]
    four = [a.reshape(shape[0], -1, *shape[-2:]) for a in (x, y, z, x)]
    want = reference(*four, 1 / math.sqrt(32), causal)
    found = attend(*args) if mode == "eager" else ms.jit(attend)(*args)
    close(found.asnumpy(), want["out"].reshape(shape))
    loss = lambda *xs: ops.sum(attend(*xs) * args[0])
    grads = ms.grad(loss, (0, 1, 2))
    for g, name in zip(grads(*args) if mode == "eager" else ms.jit(grads)(*args), ("dq", "dk", "dv"), strict=True):
        close(g.asnumpy(), want[name].reshape(shape))


@pytest.mark.usefixtures("attention_of_its_own")
def test_masks_dropout_and_other_dtypes_stay_composites(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[Any] = []
    monkeypatch.setattr("msnb.ops.nn.attention.tiled", lambda *args: called.append(args))
    x = ms.Tensor(np.ones((1, 2, 4, 32), F16))
    mask = ms.Tensor(np.ones((4, 4), np.bool_))
    for arg, more in (
        (x, {"attn_mask": mask}),
        (x, {"dropout_p": 0.5}),
        (x.astype("float32"), {}),
        (x, {"scale": -1.0}),
    ):
        assert ops.scaled_dot_product_attention(arg, arg, arg, **more).shape == x.shape
    assert not called
    ops.scaled_dot_product_attention(x, x, x)
    assert len(called) == 1


# ---- whole programs on the fake CuPy ---------------------------------------------------------------------------------


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy)
    device_registry._made.pop("GPU", None)
    with ms.set_context(device_target="GPU", jit_level="O1"):
        yield device_registry.current()
    ms.reset_context()
    device_registry._made.pop("GPU", None)


def test_a_layer_of_attention_on_the_gpu(gpu: Any, mode: str) -> None:
    """More shared memory than 48 KiB, heads side by side, and the sums of the gradient by a generated kernel."""
    rng, (b, l, h, d) = np.random.default_rng(SEED), (1, 20, 2, 64)
    data = [rng.normal(size=(b, l, h * d)).astype(F16) for _ in range(4)]
    q, k, v, dy = (ms.Tensor(x) for x in data)

    def attend(q: Any, k: Any, v: Any) -> Any:
        heads = [ops.transpose(ops.reshape(x, (b, l, h, d)), (0, 2, 1, 3)) for x in (q, k, v)]
        out = ops.scaled_dot_product_attention(*heads, is_causal=True)
        return ops.reshape(ops.transpose(out, (0, 2, 1, 3)), (b, l, h * d))

    grads = ms.grad(lambda *xs: ops.sum(attend(*xs) * dy), (0, 1, 2))
    want = reference(*(x.reshape(b, l, h, d).swapaxes(1, 2) for x in data), 1 / math.sqrt(d), True)
    flat = {name: x.swapaxes(1, 2).reshape(b, l, h * d) for name, x in want.items() if x.ndim == 4}
    run = (lambda f: f) if mode == "eager" else ms.jit
    close(run(attend)(q, k, v).asnumpy(), flat["out"])
    for got, name in zip(run(grads)(q, k, v), ("dq", "dk", "dv"), strict=True):
        close(got.asnumpy(), flat[name])
    made = {name.rpartition("_")[0] for name in gpu.cache.made}
    assert {"attention", "attention_keys", "attention_queries"} <= made
