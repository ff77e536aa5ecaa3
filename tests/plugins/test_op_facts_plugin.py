"""What a plug-in's record says about its operator is believed like ours: a reduction is fused, runs as one kernel over
rows, turns with images and is split over devices; a view is looked through; a false word is refused when the record is
made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import parallel
from msnb.base import events
from msnb.base.errors import ArgumentError
from msnb.core.types import tensor_type
from msnb.devices.ascend.device import Ascend
from msnb.devices.ascend.roofline import rows_of
from msnb.devices.cpu import CPU, blas_threads
from msnb.devices.cpu.eager import kernel_cache
from msnb.graph.compile import PASSES, Log
from msnb.ir.builder import build
from msnb.ir.graph import Graph
from msnb.ops.definition.record import REDUCTIONS, REGISTRY, VIEWS, Op, define, find
from msnb.parallel.sharding.op_axes import read

REDUCING = '''
from msnb import ops
from msnb.core.types import tensor_type
from msnb.ops.definition.record import define
from msnb.ops.definition.type_inference import normal_axes, reduction


def labels(mark):
    def axes(types, attrs):
        names = "abcdef"[: types[0].ndim]
        gone = normal_axes("plugged", attrs["axis"], types[0].ndim)
        left = " ".join(n + mark if i in gone else n for i, n in enumerate(names))
        kept = ["1" if i in gone else n for i, n in enumerate(names) if i not in gone or attrs["keepdims"]]
        return f"{left} -> {' '.join(kept)}"
    return axes


def make(kind, mark):
    def body(xp, x, *, axis, keepdims):
        return getattr(xp, kind)(x, axis=axis, keepdims=keepdims)
    return define(
        f"plugged_{kind}", "x", attrs={"axis": None, "keepdims": False}, reduction=kind,
        infer=reduction(f"plugged_{kind}", lambda dtype: dtype, kinds="f"), body=body, axes=labels(mark),
        no_grad="it is an example", doc="A reduction from another package.",
    )


def flat_type(x):
    return tensor_type((x.shape[0], x.size // x.shape[0]), x.dtype)


flat = define(
    "plugged_flat", "x", infer=flat_type, body=lambda xp, x: xp.reshape(x, (x.shape[0], -1)), view="reshape",
    grad=lambda dout, types: ops.reshape(dout, types[0].shape), traits=("pure", "view", "linear"),
    axes=lambda types, attrs: "a " + " ".join("bcdef"[: types[0].ndim - 1]).replace("b", "b!") + " -> a z!",
    doc="A view from another package.",
)
turned = define(
    "plugged_turned", "x", attrs={"perm": (1, 0)}, infer=lambda x, *, perm: x.with_shape(x.shape[::-1]),
    body=lambda xp, x, *, perm: xp.transpose(x), view="transpose", grad=lambda dout: turned(dout),
    traits=("pure", "view", "linear"), axes="a b -> b a", doc="Another one.",
)
def pool_type(x, *, data_format):
    if data_format == "NCHW":
        return x.with_shape((*x.shape[:2], 1, 1))
    return x.with_shape((x.shape[0], 1, 1, x.shape[3]))


def pool_body(xp, x, *, data_format):
    return xp.mean(x, axis=(2, 3) if data_format == "NCHW" else (1, 2), keepdims=True, dtype=x.dtype)


pool = define(
    "plugged_pool", "x", attrs={"data_format": "NCHW"}, infer=pool_type, body=pool_body, images=(0, -1),
    axes=None, no_grad="it is an example", doc="A pooling from another package.",
)
total, largest, product = make("sum", ""), make("max", "^"), make("prod", "")
'''
POINTS = """[msnb.ops]
plugged_sum = reducing_plug:total
plugged_max = reducing_plug:largest
plugged_prod = reducing_plug:product
plugged_flat = reducing_plug:flat
plugged_pool = reducing_plug:pool
plugged_turned = reducing_plug:turned
"""
PLUGGED = {"plugged_sum": "sum", "plugged_max": "max", "plugged_prod": "prod"}


@pytest.fixture
def plug(install: Callable[..., None]) -> None:
    install("reducing_plug", REDUCING, POINTS)


def ours(name: str) -> Op:
    return find(PLUGGED[name])


def compiled_graphs(monkeypatch: pytest.MonkeyPatch) -> list[Graph]:
    """The graphs that the device is given from now on."""
    monkeypatch.setenv("MSNB_CACHE_DIR", "")  # a program that is kept on disk is not compiled
    found: list[Graph] = []
    compile_ = CPU.compile
    monkeypatch.setattr(CPU, "compile", lambda self, graph: found.append(graph) or compile_(self, graph))
    return found


@pytest.mark.parametrize("name", PLUGGED)
@pytest.mark.parametrize("keepdims", [False, True])
def test_a_reduction_is_fused(plug: None, name: str, keepdims: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    ms.set_context(jit_level="O1")
    graphs = compiled_graphs(monkeypatch)
    op = getattr(ms.ops, name)
    x = np.random.default_rng(3).uniform(0.5, 1.5, (6, 8)).astype(np.float32)

    def program(use: Op) -> Callable[[ms.Tensor], Any]:
        return lambda t: use(t * 2 + 1, axis=1, keepdims=keepdims)

    got, want = ms.jit(program(op))(ms.Tensor(x)), ms.jit(program(ours(name)))(ms.Tensor(x))
    np.testing.assert_array_equal(got.asnumpy(), want.asnumpy())
    names = [[n.op.name for n in graph.nodes if n.op.name != "constant"] for graph in graphs]
    assert len(names) == 2 and names[0] == names[1] == ["fused"]


@pytest.mark.parametrize("name", ["plugged_sum", "plugged_max"])
def test_a_reduction_of_many_numbers_is_a_kernel_in_eager_mode(plug: None, name: str) -> None:
    op, t = getattr(ms.ops, name), ms.Tensor(np.zeros((512, 256), np.float32))._type
    attrs = op.bind_attrs({"axis": 1})
    assert kernel_cache.eager_kernel(op, (t,), attrs, lambda *_: None) is not None
    ms.set_context(jit_level="O1")
    x = np.random.default_rng(4).standard_normal((512, 256)).astype(np.float32)
    got = op(ms.Tensor(x), axis=1).asnumpy()
    np.testing.assert_allclose(got, getattr(np, PLUGGED[name])(x.astype(np.float64), axis=1), rtol=1e-5, atol=1e-4)


def test_a_reduction_is_split_over_devices(plug: None) -> None:
    t, out = tensor_type((8, 4), ms.float32), tensor_type((4,), ms.float32)
    for name, reducer in (("plugged_sum", "sum"), ("plugged_max", "max")):
        op = getattr(ms.ops, name)
        axes = read(op, (t,), (out,), op.bind_attrs({"axis": 0}))
        assert {label.name for label in axes.splittable()} == {"a", "b"} and axes.reducer == reducer
    product = ms.ops.plugged_prod
    axes = read(product, (t,), (out,), product.bind_attrs({"axis": 0}))
    assert {label.name for label in axes.splittable()} == {"b"}, "terms of a product are no terms of a sum"


@pytest.mark.parametrize("name", ["plugged_sum", "plugged_max", "plugged_prod"])
def test_a_plan_with_it_gives_the_same_numbers(plug: None, name: str) -> None:
    op = getattr(ms.ops, name)
    x = np.random.default_rng(5).uniform(0.5, 1.5, (8, 4)).astype(np.float32)
    plan = parallel.plan(lambda t: op(t * 2, axis=0), ms.Tensor(x), device_num=2)
    np.testing.assert_allclose(plan.run(ms.Tensor(x)), getattr(np, PLUGGED[name])(x * 2, axis=0), rtol=1e-6)


@pytest.mark.parametrize(
    "reduction, attrs, inputs",
    [("sum", {"dim": None}, "x"), ("median", {"axis": None, "keepdims": False}, "x"), ("sum", {"shape": ()}, "x, y")],
)
def test_a_record_that_cannot_be_followed_is_refused(reduction: str, attrs: dict[str, Any], inputs: str) -> None:
    with pytest.raises(ArgumentError, match=f"odd: reduction='{reduction}' needs one tensor and the attributes axis"):
        define("odd", inputs, attrs=attrs, infer=lambda x: x, body=lambda xp, x: x, doc="", reduction=reduction)


def flat_ours(x: ms.Tensor) -> ms.Tensor:
    return ms.ops.reshape(x, (x.shape[0], -1))


def turned_ours(x: ms.Tensor) -> ms.Tensor:
    return ms.ops.transpose(x, (1, 0))


def test_a_view_is_fused_and_moves_nothing(plug: None, monkeypatch: pytest.MonkeyPatch) -> None:
    ms.set_context(jit_level="O1")
    graphs = compiled_graphs(monkeypatch)
    x = ms.Tensor(np.random.default_rng(6).standard_normal((4, 3, 5)).astype(np.float32))

    def program(flat: Any, turned: Any) -> Callable[[ms.Tensor], Any]:
        return lambda t: turned(flat(t * 2)).exp().sum(0) + 1

    got = ms.jit(program(ms.ops.plugged_flat, ms.ops.plugged_turned))(x)
    want = ms.jit(program(flat_ours, turned_ours))(x)
    np.testing.assert_array_equal(got.asnumpy(), want.asnumpy())
    names = [[n.op.name for n in graph.nodes if n.op.name != "constant"] for graph in graphs]
    assert len(names) == 2 and [len(n) for n in names] == [len(names[0])] * 2 and "fused" in names[0]
    assert "plugged_turned" not in names[0] and "plugged_flat" not in names[0], "they are part of the group"


def test_a_reshape_of_a_view_is_one_reshape(plug: None, monkeypatch: pytest.MonkeyPatch) -> None:
    ms.set_context(jit_level="O1")
    graphs = compiled_graphs(monkeypatch)
    x = ms.Tensor(np.arange(24, dtype=np.float32).reshape(2, 3, 4))
    got = ms.jit(lambda t: ms.ops.reshape(ms.ops.plugged_flat(t), (4, 6)))(x)
    np.testing.assert_array_equal(got.asnumpy(), np.arange(24).reshape(4, 6))
    assert [n.op.name for n in graphs[0].nodes] == ["reshape"]


def test_views_have_gradients_in_both_modes(plug: None, mode: int) -> None:
    x = np.random.default_rng(7).standard_normal((4, 3, 5)).astype(np.float32)
    found = ms.grad(lambda t: (ms.ops.plugged_turned(ms.ops.plugged_flat(t)) ** 2).sum())(ms.Tensor(x))
    np.testing.assert_allclose(found.asnumpy(), 2 * x, rtol=1e-6)


def test_a_plan_with_a_view_gives_the_same_numbers(plug: None) -> None:
    x = np.random.default_rng(8).standard_normal((4, 3, 5)).astype(np.float32)
    plan = parallel.plan(lambda t: ms.ops.plugged_turned(ms.ops.plugged_flat(t * 2)), ms.Tensor(x), device_num=2)
    np.testing.assert_array_equal(plan.run(ms.Tensor(x)), (x * 2).reshape(4, 15).T)


@pytest.mark.parametrize("view, attrs", [("transpose", {}), ("fold", {"perm": ()}), ("slice", {"begin": ()})])
def test_a_view_that_cannot_be_followed_is_refused(view: str, attrs: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match=f"odd: view='{view}' is none of the kinds .*transpose perm"):
        define("odd", "x", attrs=attrs, infer=lambda x: x, body=lambda xp, x: x, doc="", view=view)


def test_images_are_given_channels_last(plug: None) -> None:
    """The pooling and the reduction over channels turn with the convolutions around them."""

    def program(t: ms.Tensor, w: ms.Tensor) -> Any:
        for _ in range(3):
            t = find("conv2d")(t, w, pads=(1, 1, 1, 1))
            t = ms.ops.relu(t * ms.ops.plugged_pool(t))
        return ms.ops.plugged_sum(t, axis=1)

    x, w = tensor_type((2, 32, 6, 5), ms.float32), tensor_type((32, 32, 3, 3), ms.float32)
    turned = PASSES["layout"].run(build("net", [x, w], program), Log(keep=True))
    pooled = [n for n in turned.nodes if n.op.name == "plugged_pool"]
    assert [n.attrs["data_format"] for n in pooled] == ["NHWC"] * 3
    assert [n.attrs["axis"] for n in turned.nodes if n.op.name == "plugged_sum"] == [(3,)]


def test_images_without_a_format_are_refused() -> None:
    with pytest.raises(ArgumentError, match=r"odd: images=\(0,\) needs the attribute data_format"):
        define("odd", "x", infer=lambda x: x, body=lambda xp, x: x, doc="", images=(0,))


def record_of(name: str, inputs: str, axes: str, traits: tuple[str, ...]) -> Op:
    """A record that is not registered."""
    made = define(name, inputs, infer=lambda x, y: x, body=lambda xp, x, y: x, doc="", axes=axes, traits=traits)
    del REGISTRY[name]
    return made


def test_a_contraction_is_work_of_the_cube_and_of_blas(notices: list[str]) -> None:
    wide = tensor_type((128, 128), ms.float64)
    for traits, is_product in ((("pure", "contraction"), True), (("pure",), False)):
        op = record_of("plugged_product", "x, y", "m k, k n -> m n", traits)
        assert blas_threads.shares(op, (wide, wide)) is is_product
        Ascend().kernel(op, (wide, wide), {})
        assert any("the cube multiplies float16 only" in notice for notice in notices) is is_product
        events.forget_notices()
        notices.clear()


def test_rows_that_an_index_names_are_priced_and_their_index_is_split() -> None:
    table, index, out = (tensor_type(s, t) for s, t in (((8, 4), ms.float32), ((6,), ms.int32), ((6, 4), ms.float32)))
    found = {}
    for traits in (("pure",), ("pure", "indexed"), ("pure", "indexed", "independent_indices")):
        op = record_of("plugged_rows", "table, index", "a@ b, s -> s b", traits)
        kinds = {label.name for label in read(op, (table, index), (out,), {}).splittable()}
        found[traits[1:]] = rows_of(op, (table, index), (out,)), kinds
    assert found == {(): (0, {"b"}), ("indexed",): (6, {"b"}), ("indexed", "independent_indices"): (6, {"b", "s"})}


def test_every_kind_of_view_is_one_of_ours() -> None:
    assert {op.view for op in REGISTRY.values()} == {"", *VIEWS}
    assert all("view" in op.traits for op in REGISTRY.values() if op.view not in ("", "identity"))


def test_every_kind_of_reduction_is_one_of_ours() -> None:
    assert {find(kind).reduction for kind in REDUCTIONS} == set(REDUCTIONS)
    assert find("sum_to").reduction == "sum" and not find("argmax").reduction
