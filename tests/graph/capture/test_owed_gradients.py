"""Gradients in captured programs: noted at first, written out when somebody needs them, the same numbers either way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from msnb.autodiff import deferred_gradient
from msnb.base.errors import GradientError
from msnb.graph.capture.tracing import CapturedProgram
from msnb.ir.analysis.structural_hash import content_of
from msnb.ir.analysis.verifier import VerifyError, verify
from msnb.ir.control_flow import GRADIENT
from msnb.ir.graph import Graph
from msnb.ops.definition import record
from tests.levels import alike


def owing(graph: Graph) -> int:
    return sum(node.op is GRADIENT for _, node in graph.walk())


def captured(fn: Callable[..., Any], *args: Any) -> CapturedProgram:
    jitted = ms.jit(fn)
    jitted(*args)
    found: CapturedProgram = jitted.versions[0].captured
    return found


def bowl(x: ms.Tensor) -> ms.Tensor:
    return (ops.tanh(x) * x).sum()


W = ms.Parameter(np.linspace(0.5, 2.0, 6, dtype=np.float32).reshape(2, 3), name="w")


def by_weight(x: ms.Tensor) -> Any:
    return ms.value_and_grad(lambda x: (x @ W).sum(), 0, W)(x)


def with_aux(x: ms.Tensor) -> Any:
    return ms.value_and_grad(lambda x: (bowl(x), x * 2), has_aux=True)(x)


def weighed(x: ms.Tensor) -> Any:
    return ms.ops.GradOperation(sens_param=True)(lambda x: x * x)(x, x + 1)


def thrice(x: ms.Tensor) -> Any:
    return ms.grad(ms.grad(ms.grad(bowl)))(x)


def in_a_branch(x: ms.Tensor) -> Any:
    if x.sum() > 0:
        y = ms.grad(bowl)(x)
    else:
        y = x
    return y


def in_a_loop(x: ms.Tensor) -> Any:
    n = ms.Tensor(0)
    while n < 3:
        x, n = x - 0.1 * ms.grad(bowl)(x), n + 1
    return x


def over_rows(x: ms.Tensor) -> Any:
    return ms.vmap(ms.grad(bowl))(x)


def pushed(x: ms.Tensor) -> Any:
    return ms.jvp(ms.grad(bowl), x, x)


def again(x: ms.Tensor) -> Any:
    return ms.grad(lambda x: ms.recompute(lambda x: ms.grad(bowl)(x).sum(), x))(x)


PROGRAMS = [by_weight, with_aux, weighed, thrice, in_a_branch, in_a_loop, over_rows, pushed, again]


def twice(x: ms.Tensor) -> Any:
    return ms.grad(bowl)(x), ms.grad(lambda y: (ms.grad(bowl)(y) * x).sum())(x)


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_the_numbers_of_eager_mode(fn: Callable[..., Any], rng: np.random.Generator) -> None:
    x = ms.Tensor(rng.uniform(0.1, 1.0, (3, 2)).astype(np.float32))
    want, found = (twice if fn is pushed else fn)(x), ms.jit(fn)(x)
    for w, f in zip(ms.core.pytree.flatten(want)[0], ms.core.pytree.flatten(found)[0], strict=True):
        # all numbers here are below 20; third derivatives are sums of some ten terms of that size, each good to 1e-7
        np.testing.assert_allclose(f.asnumpy(), w.asnumpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_what_others_see_has_no_gradients_to_be_written(fn: Callable[..., Any]) -> None:
    found = captured(fn, ops.ones((3, 2)))
    verify(found.graph, deep=True)
    assert not owing(found.graph)


def test_a_gradient_is_one_node_until_someone_looks() -> None:
    found = captured(thrice, ops.ones(3))
    (node,) = found.noted.nodes
    assert node.op is GRADIENT and owing(found.noted) == 3
    assert node.where is not None and node.where.where is not None
    assert node.where.where.line == thrice.__code__.co_firstlineno + 1
    assert found.graph is found.graph and {n.op.name for n in found.graph.nodes} >= {"tanh", "multiply"}
    with pytest.raises(VerifyError, match="may not stand"):
        verify(found.noted, deep=True)


def test_gradient_nodes_know_their_primal_and_their_line() -> None:
    found = captured(lambda x: ms.grad(bowl)(x), ops.ones(3))
    nodes = [n for n in found.graph.nodes if n.op.name != "constant"]
    backward = [n for n in nodes if n.why == "gradient"]
    assert backward and all(n.primal in nodes for n in backward)
    assert all(n.where is not None for n in nodes)


def test_state_that_the_loss_writes_is_written_once(rng: np.random.Generator) -> None:
    net = nn.SequentialCell(nn.Dense(2, 4), nn.BatchNorm1d(4)).set_train()
    seen = ms.Parameter(np.zeros((), np.float32), name="seen")
    x = ms.Tensor(rng.normal(size=(5, 2)).astype(np.float32))

    def loss(x: ms.Tensor) -> ms.Tensor:
        ops.assign(seen, seen + 1)
        return (net(x) ** 2).sum()

    before = [p.asnumpy().copy() for p in net.get_parameters()]
    step = lambda x: ms.value_and_grad(loss, None, list(net.trainable_params()))(x)
    found = [step(x), *(p.asnumpy().copy() for p in net.get_parameters())]
    for p, b in zip(net.get_parameters(), before):
        p.set_data(ms.Tensor(b))
    again = [ms.jit(step)(x), *(p.asnumpy().copy() for p in net.get_parameters())]
    assert float(seen) == 2
    alike(again[0][0].asnumpy(), found[0][0].asnumpy())
    for a, f in zip(again[1:], found[1:]):
        alike(a, f)


def test_prints_keep_their_order(capsys: pytest.CaptureFixture[str]) -> None:
    def loss(x: ms.Tensor) -> ms.Tensor:
        ops.print("second")
        return (x * x).sum()

    def step(x: ms.Tensor) -> Any:
        ops.print("first")
        g = ms.grad(loss)(x)
        ops.print("third")
        return g

    ms.jit(step)(ops.ones(2))
    assert capsys.readouterr().out.split() == ["first", "second", "third"]


# ---- what does not wait ---------------------------------------------------------------------------------------------


def test_python_inside_is_asked_at_capture() -> None:
    def hooked(x: ms.Tensor) -> ms.Tensor:
        y = x * x
        y.register_hook(lambda g: 10 * g)
        return y.sum()

    found = captured(lambda x: ms.grad(hooked)(x), ops.ones(3))
    assert not owing(found.noted)


def test_a_size_that_only_the_data_tell_is_met_at_capture() -> None:
    found = captured(lambda x: ms.grad(lambda x: (x[x > 0] ** 2).sum())(x), ops.ones(3))
    assert not owing(found.noted)


def test_what_has_no_gradient_is_refused_where_it_was_asked_for() -> None:
    def step(x: ms.Tensor) -> Any:
        count = ms.Parameter(np.zeros(3, np.int32), name="count")
        try:
            return ms.grad(lambda x: (x * count).sum(), None, count)(x)
        except GradientError:
            return x * 0

    np.testing.assert_array_equal(ms.jit(step)(ops.ones(3)).asnumpy(), 0)


def test_a_rule_that_fails_later_names_the_line() -> None:
    name = "op_of_the_owed_gradients"

    def refuse(dout: Any) -> Any:
        raise GradientError("this operator refuses.")

    op = record.define(name, "x", infer=lambda x: x, body=lambda xp, x: x + 1, doc="Adds one.", grad=refuse)

    def step(x: ms.Tensor) -> Any:
        y = x * 2
        return ms.grad(lambda x: op(x).sum())(y)

    try:
        with pytest.raises(GradientError, match="refuses") as told:
            ms.jit(step)(ops.ones(3))
    finally:
        del record.REGISTRY[name]
    assert told.value.where is not None and told.value.where.file == __file__
    assert told.value.where.line == step.__code__.co_firstlineno + 2


# ---- the key --------------------------------------------------------------------------------------------------------


def test_what_is_asked_for_is_part_of_the_key() -> None:
    def key(fn: Callable[..., Any]) -> str:
        found = content_of(captured(fn, ops.ones((2, 2)), ops.ones((2, 2))).noted)
        assert found is not None
        return found.key

    product = lambda x, y: (x * y, x + y)
    programs = [
        lambda x, y: product(x, y),
        lambda x, y: ms.grad(product)(x, y),
        lambda x, y: ms.grad(product, 1)(x, y),
        lambda x, y: ms.grad(product, (0, 1))(x, y),
        lambda x, y: ms.grad(product, has_aux=True)(x, y)[0],
        lambda x, y: ms.ops.GradOperation(sens_param=True)(product)(x, y, (x, y)),
    ]
    keys = [key(fn) for fn in programs]
    assert len(set(keys)) == len(keys)
    assert key(programs[1]) == keys[1]


def test_a_program_from_the_disk_is_not_differentiated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("llvmlite")
    monkeypatch.setenv("MSNB_CACHE_DIR", str(tmp_path))
    x = ms.Tensor(np.linspace(-1, 1, 5000, dtype=np.float32))
    with ms.set_context(jit_level="O1"):
        want = ms.jit(lambda x: thrice(x))(x)
        with monkeypatch.context() as patched:
            patched.setattr(deferred_gradient, "vjp", lambda *args: pytest.fail("the gradient was worked out again"))
            again = ms.jit(lambda x: thrice(x))
            np.testing.assert_array_equal(again(x).asnumpy(), want.asnumpy())
        assert "no gradients, no passes, no code" in ms.explain(again, timing=True)
        compiled = again.versions[0].compiled
        assert compiled.recalled and not owing(compiled.source) and compiled.graph.nodes  # now it is, for the picture
