"""Hot calls of few elements become one builtin (``loop_table``): no bit of a result changes by that."""

import subprocess
import sys

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from msnb.devices.device import HOT, WARM
from msnb.eager import inline_cache
from msnb.ops.definition.record import REGISTRY

pytest.importorskip("llvmlite")

FUNCTIONS = {
    "softmax": lambda x: ops.softmax(x, -1),
    "softmax of the first axis": lambda x: ops.softmax(x, 0),
    "log_softmax": lambda x: ops.log_softmax(x, -1),
    "layer_norm": lambda x: ops.layer_norm(x, x.shape[-1]),
    "rms_norm": lambda x: ops.rms_norm(x),
    "gelu": lambda x: ops.gelu(x),
    "silu": lambda x: ops.silu(x),
    "softplus": lambda x: ops.softplus(x),
    "norm": lambda x: ops.norm(x),
    "norm of rows": lambda x: ops.norm(x, dim=-1),
    "std": lambda x: x.std(),
    "std of rows": lambda x: x.std(-1),
    "var of columns": lambda x: x.var(0, keepdims=True),
    "logsumexp": lambda x: ops.logsumexp(x, -1),
    "mse_loss": lambda x: ops.mse_loss(x, x * 0.5),
    "cross_entropy": lambda x: ops.cross_entropy(x, ms.Tensor(np.arange(x.shape[0]) % x.shape[1])),
    "sum": lambda x: x.sum(),
    "sum of rows": lambda x: x.sum(-1),
    "sum of columns": lambda x: x.sum(0),
    "mean": lambda x: x.mean(-1),
    "max": lambda x: x.max(),
    "max of columns": lambda x: ops.amax(x, 0),
    "min": lambda x: ops.amin(x, -1),
    "cumsum": lambda x: x.cumsum(0),
    "cumsum of rows": lambda x: x.cumsum(-1),
    "sigmoid": lambda x: ops.sigmoid(x),
    "erf": lambda x: ops.erf(x),
    "erfc": lambda x: ops.erfc(x),
    "rsqrt": lambda x: ops.rsqrt(x * x + 1),
}
SHAPES = [(4, 8), (3, 1), (1, 5), (33, 17), (5, 200), (300, 3)]


@pytest.fixture(autouse=True)
def compiler():
    """The compiler is there, and no call was made before."""
    import msnb.devices.cpu.llvm.jit  # noqa: F401

    before = ms.get_context("jit_level")
    ms.set_context(jit_level="O1")
    forget()
    yield
    ms.set_context(jit_level=before)
    forget()


def forget():
    inline_cache.forget()
    for op in REGISTRY.values():
        op.fast.clear()


def bits(found):
    found = found if isinstance(found, (tuple, list)) else [found]
    return [t.asnumpy().tobytes() for t in found]


def warmed(fn, *args):
    """The results of the first call and of one after many."""
    first = fn(*args)
    for _ in range(2 * WARM + 2):
        fn(*args)
    return first, fn(*args)


def values(shape, dtype, odd=False):
    x = np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype) * 3
    if odd:
        x.flat[0], x.flat[-1] = np.inf, -0.0
        x.flat[x.size // 2] = np.nan
    return x


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
def test_every_bit_stays(name, dtype):
    for shape in SHAPES:
        for odd in (False, True):
            first, later = warmed(FUNCTIONS[name], ms.Tensor(values(shape, dtype, odd)))
            assert bits(first) == bits(later), shape


@pytest.mark.parametrize("name", FUNCTIONS)
def test_other_values_after_it(name):
    """Values, not the first call, decide: what was fused on tame numbers meets odd ones."""
    fn, tame, odd = FUNCTIONS[name], ms.Tensor(values((4, 8), np.float32)), values((4, 8), np.float32)
    odd[0, :3], odd[1, 0], odd[2], odd[3, 1] = (np.nan, np.inf, -np.inf), 1e30, -0.0, 1e-42
    expected = bits(fn(ms.Tensor(odd)))
    warmed(fn, tame)
    assert bits(fn(ms.Tensor(odd))) == expected


@pytest.mark.parametrize("name", FUNCTIONS)
def test_operands_that_are_not_dense(name):
    fn, x = FUNCTIONS[name], values((8, 4), np.float32)
    expected = fn(ms.Tensor(x.T.copy()))
    warmed(fn, ms.Tensor(x.T.copy()))
    turned = ms.Tensor(x).T
    np.testing.assert_allclose(fn(turned).asnumpy(), expected.asnumpy(), rtol=1e-5, atol=1e-6)
    wide = ms.Tensor(np.repeat(x.T.copy(), 2, 1))[:, ::2]
    np.testing.assert_allclose(fn(wide).asnumpy(), expected.asnumpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "layer_norm", "gelu", "norm", "std", "cross_entropy"])
def test_gradients_stay(name):
    """But for rounding: the sweep of a second tape of one structure is compiled."""
    both = ms.value_and_grad(lambda x: (FUNCTIONS[name](x) * 1.5).sum())
    first, later = warmed(both, ms.Tensor(values((4, 8), np.float32)))
    assert bits(first[0]) == bits(later[0])
    np.testing.assert_allclose(first[1].asnumpy(), later[1].asnumpy(), rtol=1e-5, atol=1e-6)


def test_calls_are_fused():
    x = ms.Tensor(values((4, 8), np.float32))
    for name in ("softmax", "log_softmax", "layer_norm", "gelu", "norm", "std", "cross_entropy"):
        inline_cache.forget()
        warmed(FUNCTIONS[name], x)
        assert any(getattr(found, "_fuses", False) for found in inline_cache._calls.values()), name


def test_a_layer_with_weights():
    layer, x = nn.LayerNorm((8,)), ms.Tensor(values((4, 8), np.float32))
    first, later = warmed(layer, x)
    assert bits(first) == bits(later)
    layer.gamma.set_data(layer.gamma * 2)
    np.testing.assert_allclose(layer(x).asnumpy(), first.asnumpy() * 2, rtol=1e-6)


def test_a_class_outside_the_classes_is_told():
    x, good = ms.Tensor(values((4, 8), np.float32)), ms.Tensor(np.array([0, 1, 2, 7]))
    warmed(ops.cross_entropy, x, good)
    with pytest.raises(IndexError, match="a target is class 8"):
        ops.cross_entropy(x, ms.Tensor(np.array([0, 1, 8, 2])))
    ignored = ops.cross_entropy(x, ms.Tensor(np.array([0, 1, 2, -100])))
    np.testing.assert_allclose(ignored.asnumpy(), ops.cross_entropy(x[:3], good[:3]).asnumpy(), rtol=1e-6)


@pytest.mark.parametrize("dtype", [ms.float16, ms.bfloat16, ms.int32])
def test_other_dtypes(dtype):
    x = ms.Tensor(values((4, 8), np.float32)).astype(dtype)
    for fn in (lambda x: x.sum(), lambda x: x.max(), lambda x: ops.softmax(x.astype(ms.float32))):
        first, later = warmed(fn, x)
        assert bits(first.astype(ms.float32)) == bits(later.astype(ms.float32))


def test_results_are_memory_of_their_own():
    x = ms.Tensor(values((4, 8), np.float32))
    warmed(FUNCTIONS["softmax"], x)
    one = ops.softmax(x, -1)
    kept = bits(one)
    ops.softmax(x + 1.0, -1)
    assert bits(one) == kept


def test_no_word_of_numpy_in_kept_calls():
    program = """
import numpy as np, msnb as ms
x = ms.Tensor(np.full((4, 8), np.inf, np.float32))
for _ in range(3):
    ms.ops.softmax(x, -1)
"""
    subprocess.run([sys.executable, "-W", "error::RuntimeWarning", "-c", program], check=True, timeout=120)


def test_the_compiler_is_loaded_for_hot_calls_only():
    program = f"""
import sys
import numpy as np, msnb as ms
ms.set_context(jit_level="O1")
x = ms.Tensor(np.ones((4, 8), np.float32))
for _ in range({HOT - 1}):
    ms.ops.softmax(x, -1)
assert "llvmlite" not in sys.modules
ms.ops.softmax(x, -1)
ms.ops.softmax(x, -1)
assert "llvmlite" in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_threads_that_fuse_at_one_time():
    """Each makes the code that builtins point to; all of it must last."""
    program = f"""
import gc, threading
import numpy as np, msnb as ms, msnb.devices.cpu.llvm.jit
ms.set_context(jit_level="O1")
x = ms.Tensor(np.arange(32, dtype=np.float32).reshape(4, 8))
fns = [lambda: ms.ops.softmax(x, -1), lambda: x.std(-1), lambda: ms.ops.gelu(x), lambda: ms.ops.norm(x)]
wanted, start, wrong = [fn().asnumpy().copy() for fn in fns], threading.Barrier(4), []
def work(fn, expected):
    start.wait()
    for i in range(3 * {WARM}):
        wrong.extend([1] if fn().asnumpy().tobytes() != expected.tobytes() else [])
    gc.collect()
    for i in range(100):
        wrong.extend([1] if fn().asnumpy().tobytes() != expected.tobytes() else [])
threads = [threading.Thread(target=work, args=each) for each in zip(fns, wanted)]
for t in threads: t.start()
for t in threads: t.join()
assert not wrong
"""
    for _ in range(3):
        subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
