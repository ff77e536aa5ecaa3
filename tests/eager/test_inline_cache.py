"""Calls of public functions that come again run their kernels alone: the same numbers, gradients and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from msnb.base.errors import LostWriteError
from msnb.eager import inline_cache
from msnb.eager.backward_pass import LineProgram
from msnb.eager.inline_cache import CachedCall


@pytest.fixture(autouse=True)
def pynative() -> Any:
    with ms.set_context(mode=ms.PYNATIVE_MODE):
        inline_cache.forget()
        yield


class Broken(BaseException):
    """A kept call failed where the function would not: its caller asks the function then, and nobody would know."""


@pytest.fixture
def unforgiving(monkeypatch: Any) -> None:
    written = CachedCall._written

    def careful(*args: Any) -> Any:
        way = written(*args)

        def run(*given: Any) -> Any:
            try:
                return way(*given)
            except Exception as error:
                raise Broken from error

        return run

    monkeypatch.setattr(CachedCall, "_written", careful)
    sweep = LineProgram.run

    def swept(*args: Any) -> bool:
        if not sweep(*args):
            raise Broken
        return True

    monkeypatch.setattr(LineProgram, "run", swept)


def kept() -> list[CachedCall]:
    """The calls that are kept."""
    return [c for c in inline_cache._calls.values() if isinstance(c, CachedCall)]


def wave(*shape: int, shift: float = 0.0) -> ms.Tensor:
    return ms.Tensor(np.sin(np.arange(np.prod(shape), dtype=np.float32) * 1.7 + shift).reshape(shape))


X, Y, I = wave(4, 6), wave(4, 6, shift=2.0), ms.Tensor([0, 2, 1, 3], ms.int32)
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "getitem": lambda x, y: x[1:, ::2],
    "getitem of one": lambda x, y: x[-1],
    "getitem by a tensor": lambda x, y: x[I],
    "getitem with all kinds": lambda x, y: x[..., None, 1:4][I, 0],
    "reshape": lambda x, y: x.reshape(2, -1),
    "transpose": lambda x, y: x.transpose(1, 0),
    "permute": lambda x, y: ops.permute(x, (1, 0)),
    "squeeze": lambda x, y: x[:1].squeeze(0),
    "expand_dims": lambda x, y: x.expand_dims(1),
    "broadcast_to": lambda x, y: x[:1].broadcast_to((3, 6)),
    "flatten": lambda x, y: ops.flatten(x, start_dim=0),
    "concat": lambda x, y: ops.concat([x, y, x], axis=1),
    "stack": lambda x, y: ops.stack((x, y), -1),
    "split": lambda x, y: ops.split(x, 2, 1)[2] * 2,
    "chunk": lambda x, y: ops.chunk(x, 2)[0],
    "unstack": lambda x, y: ops.unstack(x, 1)[3],
    "sum": lambda x, y: x.sum(1),
    "sum of all": lambda x, y: ops.sum(x),
    "mean": lambda x, y: ops.mean(x, (0, 1), keepdims=True),
    "max": lambda x, y: ops.max(x, 1)[0],
    "min": lambda x, y: ops.min(x),
    "std": lambda x, y: ops.std(x, 1),
    "norm": lambda x, y: ops.norm(x),
    "logsumexp": lambda x, y: ops.logsumexp(x, 1),
    "cumsum": lambda x, y: ops.cumsum(x, 1),
    "softmax": lambda x, y: ops.softmax(x),
    "log_softmax": lambda x, y: ops.log_softmax(x, 0),
    "leaky_relu": lambda x, y: ops.leaky_relu(x, 0.3),
    "gelu": lambda x, y: ops.gelu(x),
    "layer_norm": lambda x, y: ops.layer_norm(x, 6, y[0], None, 1e-3),
    "cross_entropy": lambda x, y: ops.cross_entropy(x, I),
    "mse_loss": lambda x, y: ops.mse_loss(x, y),
    "where": lambda x, y: ops.where(x > y, x, 0.0),
    "gather": lambda x, y: ops.gather_elements(x, 1, I.reshape(4, 1)),
    "matmul": lambda x, y: ops.matmul(x, y.T),
    "matmul with a vector": lambda x, y: ops.matmul(x, y[0]),
    "einsum": lambda x, y: ops.einsum("ij,kj->ik", x, y),
    "pad": lambda x, y: ops.pad(x, (1, 2)),
    "tril": lambda x, y: ops.tril(x, -1),
    "clip": lambda x, y: x.clip(-0.5, 0.5),
    "one_hot": lambda x, y: ops.one_hot(I, 6) * x,
    "sort": lambda x, y: ops.sort(x, 1)[0],
    "embedding": lambda x, y: ops.embedding(I, x),
    "dense": lambda x, y: ops.dense(x, y, y[:, 0]),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_numbers_and_gradients_are_those_of_the_function_as_it_is_written(name: str, unforgiving: None) -> None:
    call = CALLS[name]

    def value_and_grad(x: Any, y: Any) -> Any:
        return ms.value_and_grad(lambda x, y: (call(x, y) * 1.5).sum(), (0, 1))(x, y)

    other = wave(4, 6, shift=0.7), wave(4, 6, shift=-1.0)
    plain = ms.jit(call)(*other), ms.jit(value_and_grad)(*other)
    assert call(X, Y) is not None
    assert kept(), "nothing is kept of this call"
    found = [call(*other), call(*other)], value_and_grad(*other), value_and_grad(*other)
    for again in found[0]:
        assert again.dtype is plain[0].dtype
        np.testing.assert_allclose(again.asnumpy(), plain[0].asnumpy(), rtol=2e-5, atol=1e-6)
    for value, gradients in found[1:]:
        np.testing.assert_allclose(value.asnumpy(), plain[1][0].asnumpy(), rtol=2e-5, atol=1e-5)
        for mine, theirs in zip(gradients, plain[1][1]):
            np.testing.assert_allclose(mine.asnumpy(), theirs.asnumpy(), rtol=2e-5, atol=1e-5)


STEPS: list[Callable[[Any, Any], Any]] = [
    lambda x, y: ops.softmax(x) + y,
    lambda x, y: ops.log_softmax(y, 0) * x,
    lambda x, y: ops.layer_norm(x, 6, y[0], x[1], 0.1),
    lambda x, y: ops.concat(ops.split(x, 3, 1)[::-1], 1),
    lambda x, y: ops.concat([ops.split(x, 2)[1], ops.chunk(y, 2)[0]]),
    lambda x, y: ops.matmul(x, ops.softmax(ops.matmul(y.T, x))),
    lambda x, y: ops.where(x > y, ops.cumsum(x, 1), y),
    lambda x, y: x - ops.stack([y[0], x[1], x[1], y[3]]),
    lambda x, y: ops.std(x, 1, keepdims=True) * y,
    lambda x, y: ops.gelu(x).reshape(6, 4).transpose(1, 0) + ops.tril(y),
    lambda x, y: ops.flatten(x).reshape(4, 6),
]


@pytest.mark.parametrize("seed", range(6))
def test_calls_of_tapes_that_differ_have_the_gradients_of_compiled_programs(seed: int, unforgiving: None) -> None:
    rng = np.random.default_rng(seed)
    w = ms.Parameter(wave(4, 6, shift=seed), name="w")
    for turn in range(5):  # a kind of line has a program from the third tape on
        chosen = rng.integers(len(STEPS), size=6 + turn)
        operands = rng.integers(3, size=len(chosen))

        def run(x: Any, chosen: Any = chosen, operands: Any = operands) -> Any:
            made = [x]
            for step, other in zip(chosen, operands):
                y = w if other == 0 else made[-other] if other <= len(made) else Y
                made.append(ops.tanh(STEPS[step](made[-1], y)))
            return (made[-1] * made[len(made) // 2]).sum()

        gradient = ms.value_and_grad(run, 0, [w])
        value, (dx, (dw,)) = gradient(X)
        want, (wx, (ww,)) = ms.jit(gradient)(X)
        for mine, theirs in ((value, want), (dx, wx), (dw, ww)):
            error = np.abs(mine.asnumpy() - theirs.asnumpy()).max()
            assert error <= 1e-4 * (1 + np.abs(theirs.asnumpy()).max()), (seed, turn, chosen, operands)


def test_one_tensor_in_two_places_is_not_the_key_of_two() -> None:
    a, b = ms.Tensor(1.0), ms.Tensor(2.0)
    assert ops.stack([a, b, a, b]).tolist() == [1, 2, 1, 2]
    assert ops.stack([a, b, ms.Tensor(3.0), ms.Tensor(4.0)]).tolist() == [1, 2, 3, 4]
    p, q = ms.Parameter(ms.Tensor([1.0])), ms.Parameter(ms.Tensor([2.0]))
    assert ops.concat([p, p]).tolist() == [1, 1]
    assert ops.concat([p, q]).tolist() == [1, 2]


def test_settings_are_told_apart_with_their_python_types() -> None:
    assert ops.full((2,), 1).dtype is ms.int64
    assert ops.full((2,), 1.0).dtype is ms.float32
    assert ops.full((2,), True).dtype is ms.bool_
    zeros = [ops.full((1,), z).asnumpy() for z in (0.0, -0.0)]
    assert [bool(np.signbit(z[0])) for z in zeros] == [False, True]
    assert X.reshape((6, 4)).shape == (6, 4)
    with pytest.raises(TypeError):
        X.reshape((6.0, 4))
    assert ops.sum(X, 0).shape == (6,)
    assert X[0].shape == (6,) and X[None].shape == (1, 4, 6) and X[False].shape == (0, 4, 6)


def test_keys_of_brackets_are_told_apart() -> None:
    array = np.arange(120.0, dtype=np.float32).reshape(4, 5, 6)
    x = ms.Tensor(array)
    keys: list[Any] = [
        (1, 2, 3), slice(1, 2, 3), (slice(1, 2, 3),), (slice(1, 2), 3), (1, slice(2, 3)), [1, 2, 3], ([1, 2, 3],),
        (1, None, 2), slice(1, None, 2), (1, 1), (1, True), (True, 1), (1,), 1, (0, 2), slice(0, 2), [0, 2], ..., (),
        (slice(None), slice(None, 2)), (slice(None, 2), slice(None)),
    ]  # fmt: skip
    for key in keys * 3:
        assert x[key].tolist() == array[key].tolist(), key
    for end in (True, np.int64(1), 1, ms.Tensor(1)):
        assert x[:end].tolist() == array[:1].tolist()
    for wrong in (1.0, "1"):
        with pytest.raises((TypeError, ValueError)):
            x[:wrong]  # equal to a key that is kept, or no key at all
    with pytest.raises((TypeError, ValueError, IndexError)):
        x[1.0]


def test_words_and_places_are_told_apart() -> None:
    x = wave(2, 3, 4)
    calls: list[tuple[Callable[[], Any], tuple[int, ...]]] = [
        (lambda: x.sum(0, keepdims=True), (1, 3, 4)), (lambda: x.sum(axis=1, keepdims=False), (2, 4)),
        (lambda: x.sum(keepdims=True, axis=1), (2, 1, 4)), (lambda: x.sum(axis=(1, 2)), (2,)),
        (lambda: x.sum(axis=[1, 2], keepdims=True), (2, 1, 1)), (lambda: x.sum(1, True), (2, 1, 4)),
        (lambda: x.flatten(), (24,)), (lambda: x.flatten(1), (2, 12)), (lambda: x.flatten(0, 1), (6, 4)),
        (lambda: x.flatten(start_dim=1), (2, 12)), (lambda: x.flatten(end_dim=1), (6, 4)),
        (lambda: x.flatten("F"), (24,)), (lambda: ops.flatten(x), (2, 12)),
    ]  # fmt: skip
    for call, shape in calls * 3:
        assert call().shape == shape
    assert x.flatten("F").tolist() == x.asnumpy().flatten("F").tolist()
    for _ in range(2):
        with pytest.raises(ValueError, match="order is 'C' or 'F'"):
            x.flatten("K")
        with pytest.raises(TypeError, match="two axes"):
            x.flatten("C", 1)


def test_tensors_parameters_and_derived_classes_are_told_apart() -> None:
    class Named(ms.Tensor):
        pass

    p = ms.Parameter(wave(2, 2), name="p")
    for x in [wave(2, 2), p, Named(wave(2, 2).asnumpy())] * 2:
        assert ops.stack([x, p])[0].tolist() == x.tolist()
        assert x.reshape(4).tolist() == x.asnumpy().reshape(4).tolist()
        assert x[0, 1:].tolist() == x.asnumpy()[0, 1:].tolist()


def test_a_kept_part_is_written_back_to_its_own_source(unforgiving: None) -> None:
    for turn in range(3):
        x, y = ms.Tensor(np.zeros((2, 2, 2), np.float32)), ms.Tensor(np.zeros((2, 2, 2), np.float32))
        x[1][0] = float(turn + 1)  # the part of a kept call is one of x here, of y below
        y[1][0][1] = 5.0
        y.reshape(4, 2)[0:2][1] = 3.0
        assert x.tolist() == [[[0, 0], [0, 0]], [[turn + 1, turn + 1], [0, 0]]]
        assert y.tolist() == [[[0, 0], [3, 3]], [[0, 5], [0, 0]]]
        part = x[1]
        part[0] = 9.0
        assert x[1, 0].tolist() == [turn + 1, turn + 1]
        with pytest.raises(LostWriteError, match="nobody keeps"):
            x[ms.Tensor([0, 1])][0] = 1.0


def test_settings_between_calls_count() -> None:
    at = ms.Tensor([3, 0, 3], ms.int64)
    for level in ("O0", "O1", "O0"):
        with ms.set_context(jit_level=level):
            assert X[at].tolist() == X.asnumpy()[[3, 0, 3]].tolist()
            assert ops.topk(X, 2, 0)[1].tolist() == np.argsort(-X.asnumpy(), 0, "stable")[:2].tolist()


def test_a_result_may_be_an_argument(unforgiving: None) -> None:
    p = ms.Parameter(wave(6), name="p")
    for _ in range(3):
        assert ops.broadcast_to(p, (6,)).shape == (6,)
        assert ops.squeeze(p).tolist() == p.tolist()
        assert ms.grad(lambda x: ops.flatten(x, start_dim=0).sum())(X).shape == (4, 6)


def test_errors_are_those_of_the_function() -> None:
    good, bad = ms.Tensor([0, 1]), ms.Tensor([0, 9])
    assert X[good].shape == (2, 6)
    with pytest.raises(IndexError, match="index 9 is outside axis 0 of size 4"):
        X[bad]
    with pytest.raises(IndexError, match="outside axis 0"):
        ms.grad(lambda x: x[bad].sum())(X)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"cannot become \[5\]"):
            X.reshape(5)


def test_what_reads_values_or_draws_is_not_kept() -> None:
    mask = ms.Tensor([True, False, True, False])
    for wanted, mask in ((2, mask), (3, ms.Tensor([True, True, True, False]))):
        assert X[mask].shape == (wanted, 6)
        assert len(ops.nonzero(mask)) == wanted
    first, second = ops.dropout(ops.ones(64)), ops.dropout(ops.ones(64))
    assert not np.array_equal(first.asnumpy(), second.asnumpy())


def test_results_are_values_of_their_own() -> None:
    x = ms.Tensor([[1.0, 2.0], [3.0, 4.0]])
    for _ in range(3):
        part, flat = x[0], x.reshape(4)
        x[0] = 7.0
        assert part.tolist() == [1, 2] and flat.tolist() == [1, 2, 3, 4]
        x[0] = ms.Tensor([1.0, 2.0])
    one = ops.zeros((2,))
    one.asnumpy()[0] = 5.0
    assert one.tolist() == [5, 0] and ops.zeros((2,)).tolist() == [0, 0]


def test_hooks_precision_and_nested_gradients_see_every_operation() -> None:
    net = nn.SequentialCell(nn.Dense(6, 5), nn.Softmax())
    before = net(X)
    half = net.to_float(ms.float16)(X)
    assert np.abs(half.asnumpy() - before.asnumpy()).max() < 1e-2
    assert not np.array_equal(half.asnumpy(), before.asnumpy())
    curved = lambda x: (ops.softmax(x) ** 2).sum()
    twice = ms.grad(lambda x: ms.grad(curved)(x).sum())
    np.testing.assert_allclose(twice(X).asnumpy(), ms.jit(twice)(X).asnumpy(), rtol=1e-4, atol=1e-6)
    seen: list[str] = []
    from msnb.base import events

    listen = lambda **data: seen.append(data["op"].name)
    events.subscribe("op", listen)
    try:
        ops.softmax(X)
    finally:
        events.unsubscribe("op", listen)
    assert "exp" in seen
