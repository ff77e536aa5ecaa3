"""Images in pieces: convolutions, poolings and their gradients over rows and columns, against the single device."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st
from nets import pictures, spread
from sharded import call_of, run

import msnb as ms
from msnb import nn, ops
from msnb.devices.device import body_kernel
from msnb.ops.definition.record import find
from msnb.ops.definition.window_geometry import out_size, reach
from msnb.parallel.engine.simulated.lockstep_ranks import Ranks
from msnb.parallel.partition.step_simulator import simulate
from msnb.parallel.program.spmd_program import moves_closing, moves_opening
from msnb.parallel.sharding.device_mesh import Cluster, Mesh
from msnb.parallel.sharding.halo import blind, views
from msnb.parallel.sharding.strategies import assigned, place

POOLED = ("max_pool2d", "max_pool2d_grad", "max_pool2d_pick", "avg_pool2d", "avg_pool2d_grad")
CONVOLVED = ("conv2d", "conv2d_input_grad", "conv2d_weight_grad")


@dataclass
class Axis:
    """Rows and windows along one axis, and into how many pieces both are cut."""

    kernel: int
    stride: int
    pads: tuple[int, int]
    dilation: int
    pieces: int
    rows: int = 0
    windows: int = 0

    def sizes(self, ceil):
        """(rows, windows) of images of up to 32 rows that can be cut so."""
        span = reach(self.kernel, self.dilation)
        both = [(n, out_size(n, *self.pads, span, self.stride, ceil)) for n in range(self.pieces, 33, self.pieces)]
        return [(n, out) for n, out in both if out > 0 and out % self.pieces == 0]


@st.composite
def axes(draw, pooled, ceil):
    kernel = draw(st.integers(1, 5))
    pad = st.integers(0, kernel - 1 if pooled else 4)
    axis = Axis(kernel, draw(st.integers(1, 4)), (draw(pad), draw(pad)), 1 if pooled else draw(st.integers(1, 3)),
                draw(st.sampled_from((1, 2, 3, 4))))  # fmt: skip
    legal = axis.sizes(ceil)
    assume(legal)
    axis.rows, axis.windows = draw(st.sampled_from(legal))
    return axis


@st.composite
def calls(draw, name):
    """Operands, attributes and split counts of a call of an op on images."""
    pooled, ceil = name in POOLED, name in POOLED and draw(st.booleans())
    h, w, form = draw(axes(pooled, ceil)), draw(axes(pooled, ceil)), draw(st.sampled_from(("NCHW", "NHWC")))
    groups, kernel, size = draw(st.sampled_from((1, 2))), (h.kernel, w.kernel), (h.rows, w.rows)
    attrs = {"stride": (h.stride, w.stride), "pads": (*h.pads, *w.pads), "data_format": form}
    holes = (h.dilation, w.dilation)
    attrs |= {"kernel": kernel, "ceil_mode": ceil} if pooled else {"dilation": holes, "groups": groups}
    attrs |= {"count_include_pad": draw(st.booleans())} if name.startswith("avg") else {}
    attrs |= {"size": size} if name in ("conv2d_input_grad", "avg_pool2d_grad") else {}
    attrs |= {"kernel": kernel} if name == "conv2d_weight_grad" else {}
    draws = np.random.default_rng(draw(st.integers(0, 1 << 30)))

    def images(rows, columns, channels):
        shape = (2, channels, rows, columns) if form == "NCHW" else (2, rows, columns, channels)
        return draws.standard_normal(shape)

    x, dx = images(*size, 4), images(*size, 4)
    y, dy = (images(h.windows, w.windows, 4 if pooled else 6) for _ in range(2))
    if name in ("max_pool2d_grad", "max_pool2d_pick"):
        y = whole(call_of(find("max_pool2d"), (x,), attrs), (x,))
    weight = draws.standard_normal((6, 4 // groups, *kernel))
    inputs = {"conv2d": (x, weight), "conv2d_input_grad": (y, weight), "conv2d_weight_grad": (x, y),
              "max_pool2d": (x,), "max_pool2d_grad": (x, y, dy), "max_pool2d_pick": (x, y, dx), "avg_pool2d": (x,),
              "avg_pool2d_grad": (y,)}[name]  # fmt: skip
    return inputs, attrs, {"n": draw(st.sampled_from((1, 2))), "h": h.pieces, "w": w.pieces}


def whole(call, inputs):
    """What the single device gives."""
    return body_kernel(np, call.op, call.types, dict(call.attrs))(*inputs)


@pytest.mark.parametrize("name", [*CONVOLVED, *POOLED])
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_pieces_give_what_the_whole_gives(name, data):
    """Any kernel, stride, dilation, padding, layout of images and groups; windows may span several neighbours."""
    inputs, attrs, counts = data.draw(calls(name))
    call, mesh = call_of(find(name), inputs, attrs), Mesh.over(counts["n"] * counts["h"] * counts["w"])
    blocks = assigned(call, counts, mesh)
    strategy = place(call, blocks, mesh)
    if strategy is None:
        assert blind(views(call.axes, blocks, mesh)), "only where the windows of a piece see padding alone"
        return
    want = whole(call, inputs)
    (got,) = run(mesh, call, strategy, inputs)
    np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-10 * max(1.0, float(np.abs(want).max())))


# ---- networks ------------------------------------------------------------------------------------------------------


def promised(plan):
    total = {}
    for c in plan.collectives:
        total[c.kind] = total.get(c.kind, 0) + c.total
    return total


def check(plan, net, inputs):
    """Loss and gradients are the single device's; bytes on the wire are those that the plan promises."""
    weights = net.trainable_params()
    want, grads = ms.value_and_grad(net, None, weights)(*inputs)
    loss, found = plan.run(*inputs)
    assert abs(float(loss) - want.item()) <= 1e-10 * abs(want.item())
    for p, g in zip(weights, grads):
        assert np.linalg.norm(found[p.name] - g.asnumpy()) <= 1e-10 * max(1e-3, np.linalg.norm(g.asnumpy())), p.name
    assert {kind: round(n * plan.program.size) for kind, n in plan.sent.items()} == promised(plan)


@pytest.mark.parametrize("n, h, w", [(1, 2, 1), (1, 1, 4), (1, 2, 2), (2, 2, 1), (1, 4, 1)])
def test_networks_on_pieces_of_images(n, h, w):
    net, inputs = pictures()
    plan = ms.parallel.plan(net, *inputs, device_num=n * h * w, strategies=spread(n, h, w))
    check(plan, net, inputs)
    kinds = {c.kind for c in plan.collectives}
    assert {"halo_exchange", "halo_add", "all_reduce"} <= kinds
    layers = [c for c in plan.collectives if c.phase == "forward" and c.where.endswith(("conv2d", "pool2d"))]
    assert {c.kind for c in layers} == {"halo_exchange"}, "layers with the same cuts hand images on as they lie"


def test_a_window_over_several_neighbours():
    """Rows of two, a kernel of nine rows: every rank hears from up to three on either side."""
    draw = np.random.default_rng(5)
    x, w = draw.standard_normal((1, 2, 16, 4)), draw.standard_normal((2, 2, 9, 1))
    call = call_of(find("conv2d"), (x, w), {"pads": (4, 4, 0, 0)})
    mesh = Mesh.over(8)
    strategy = place(call, assigned(call, {"h": 8}, mesh), mesh)
    ((move,), _) = moves_opening(mesh, call, strategy)
    assert move.seen[0] == (0, 6) and move.seen[3] == (2, 12)
    assert sorted(move.incoming(3, np.empty((1, 2, 2, 4)))) == [1, 2, 4, 5]
    np.testing.assert_allclose(run(mesh, call, strategy, (x, w))[0], whole(call, (x, w)), rtol=1e-12)


def test_windows_side_by_side_need_nobody():
    """Poolings whose windows do not overlap and tile every piece: no message, and none is priced."""
    call = call_of(find("max_pool2d"), (np.zeros((2, 4, 16, 16), np.float32),), {"kernel": (2, 2), "stride": (2, 2)})
    mesh = Mesh.over(4)
    strategy = place(call, assigned(call, {"h": 2, "w": 2}, mesh), mesh)
    assert moves_opening(mesh, call, strategy) == [()] and moves_closing(mesh, call, strategy) == [()]


def test_rows_that_no_window_sees_stay_at_home():
    call = call_of(find("conv2d"), (np.zeros((1, 1, 16, 4)), np.zeros((1, 1, 1, 1))), {"stride": (4, 1)})
    mesh = Mesh.over(2)
    ((move,), _) = moves_opening(mesh, call, place(call, assigned(call, {"h": 2}, mesh), mesh))
    assert move.seen == ((0, 5), (8, 13)) and move.silent and move.sent(mesh) == 0


def test_pieces_by_native_code(rng):
    """Float32 at "O1": kernels of the library on the rows that each rank sees."""
    x, w = rng.standard_normal((2, 8, 16, 12)).astype(np.float32), rng.standard_normal((6, 8, 3, 3)).astype(np.float32)
    call, mesh = call_of(find("conv2d"), (x, w), {"pads": (1, 1, 1, 1), "stride": (2, 1)}), Mesh.over(8)
    strategy = place(call, assigned(call, {"h": 4, "w": 2}, mesh), mesh)
    want = whole(call, (x, w))
    for level in ("O0", "O1"):
        with ms.set_context(jit_level=level):
            (got,) = run(mesh, call, strategy, (x, w))
        assert np.linalg.norm(got - want) <= 1e-5 * np.linalg.norm(want)


class HalfPictures(nn.Cell):
    """Two layers in float16: the second one's gradient by its images goes back over the cut."""

    def __init__(self):
        super().__init__()
        self.a, self.b = (nn.Conv2d(4, 4, 3, dtype=ms.float16) for _ in range(2))

    def construct(self, x):
        return ops.square(self.b(self.a(x)).astype(ms.float32)).mean()


@pytest.mark.parametrize("wide", [False, True])
def test_terms_of_rows_in_16_bits_travel_as_the_context_says(wide, rng):
    net, x = HalfPictures(), ms.Tensor(rng.standard_normal((2, 4, 8, 8)).astype(np.float16))
    keys = {"force_fp32_communication": True} if wide else {}
    ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", device_num=2, **keys)
    plan = ms.parallel.plan(net, x, strategies={"conv2d": ((1, 1, 2, 1), (1, 1, 1, 1))})
    loss, grads = plan.run(x)
    (back,) = [c for c in plan.collectives if c.kind == "halo_add"]
    assert back.nbytes == 2 * 4 * 8 * (4 if wide else 2), "a row of two images, four channels"
    assert {kind: round(n * 2) for kind, n in plan.sent.items()} == promised(plan)
    ms.reset_auto_parallel_context()
    want, found = ms.value_and_grad(net, None, net.trainable_params())(x)
    assert float(loss) == pytest.approx(want.item(), rel=1e-2)
    for p, g in zip(net.trainable_params(), found):  # float16 rounds by 2**-11, a handful of times
        g = g.asnumpy().astype(np.float32)
        assert np.linalg.norm(grads[p.name].astype(np.float32) - g) <= 2**-7 * np.linalg.norm(g)


# ---- what it costs, and what is said of it -------------------------------------------------------------------------


def exchanged(pixels, channels, cluster="uniform", h=4):
    """The exchange of a layer of 3x3 over ``h`` ranks, in float32."""
    x, w = np.zeros((1, channels, pixels, pixels), np.float32), np.zeros((8, channels, 3, 3), np.float32)
    call, mesh = call_of(find("conv2d"), (x, w), {"pads": (1, 1, 1, 1)}), Mesh.over(h, Cluster(cluster))
    ((move,), _) = moves_opening(mesh, call, place(call, assigned(call, {"h": h}, mesh), mesh))
    return move, mesh


def test_seconds_are_those_of_the_link_to_a_neighbour():
    """Ranks in the middle send a row up and a row down. Inside a group of four every pair has its own link."""
    row = 32 * 64 * 4
    move, mesh = exchanged(64, 32)
    assert move.nbytes == 2 * row and move.sent(mesh) == 6 * row / 4 and move.axes == (0, 1)
    assert move.seconds == pytest.approx(2 * row / 30e9)
    assert exchanged(64, 32, "ascend910")[0].seconds == pytest.approx(15e-6 + row / 30e9)
    assert exchanged(64, 32, "ascend910", 8)[0].seconds == pytest.approx(15e-6 + row / 30e9), "two groups of four"
    assert exchanged(64, 32, "ascend910", 16)[0].seconds == pytest.approx(25e-6 + row / 10e9), "two servers"


def test_collectives_name_group_bytes_and_operator():
    net, inputs = pictures()
    plan = ms.parallel.plan(net, *inputs, device_num=4, strategies=spread(1, 4, 1))
    first = next(c for c in plan.collectives if c.kind == "halo_exchange")
    assert first.group == (0, 1, 2, 3) and first.groups == 1 and first.where.endswith("stem/conv2d")
    assert first.nbytes == 2 * 4 * 2 * 16 * 8, "two rows of four images, two channels, 16 pixels"
    assert first.total == 6 * 4 * 2 * 16 * 8 and first.phase == "forward" and first.seconds > 0
    back = [c.where for c in plan.collectives if c.kind == "halo_add"]
    assert any("gradient of" in where and "down/conv2d" in where for where in back)


def test_explanations_and_the_timeline_tell_of_exchanges():
    net, inputs = pictures()
    plan = ms.parallel.plan(net, *inputs, device_num=4, strategies=spread(1, 2, 2))
    line = next(line for line in plan.explain("stem/conv2d").splitlines() if line.startswith("->"))
    assert line.endswith("((1, 1, 2, 2), (1, 1, 1, 1)) after halo_exchange over 2")
    lane = simulate(plan.program, 0.0)
    told = [what for stream, _, _, what in lane.events if stream == "network"]
    assert any(what.startswith("halo_exchange") for what in told) and any(what.startswith("halo_add") for what in told)


def test_strategies_travel_in_files_and_documents(tmp_path):
    from msnb.parallel.program.program_document import from_text, to_text

    net, inputs = pictures()
    plan = ms.parallel.plan(net, *inputs, device_num=4, strategies=spread(1, 2, 2))
    plan.save(tmp_path / "plan.json")
    again = ms.parallel.plan(net, *inputs, device_num=4).load(tmp_path / "plan.json")
    assert again.strategies == plan.strategies and again.collectives == plan.collectives
    ranks = Ranks(from_text(to_text(plan.program)))
    values = ranks.run(list(plan.given(inputs).values()))
    np.testing.assert_array_equal(values[0], plan.run(*inputs)[0])


# ---- what is refused -----------------------------------------------------------------------------------------------


def planned(f, *inputs):
    return ms.parallel.plan(f, *inputs, device_num=4)


def test_pieces_that_do_not_divide_are_refused_with_rows_and_windows():
    x, w = (ms.Tensor(np.zeros(s, np.float32)) for s in ((4, 2, 8, 8), (4, 2, 3, 3)))
    with pytest.raises(ValueError, match=r"axis 2 of input 0 \('h' of conv2d, with 6 windows, size 8\) cannot be split "
                                         r"4 ways over 4 devices; legal: 1, 2\."):  # fmt: skip
        planned(ops.Conv2D(4, 3).shard(((1, 1, 4, 1), (1, 1, 1, 1))), x, w)
    with pytest.raises(ValueError, match="legal: 1, 2, 4"):
        planned(ops.MaxPool(2, 2).shard(((1, 1, 1, 3),)), x)


def test_windows_on_padding_alone_are_refused():
    x, w = (ms.Tensor(np.zeros(s, np.float32)) for s in ((1, 1, 4, 4), (1, 1, 1, 1)))
    conv = ops.Conv2D(1, 1, pad_mode="pad", pad=4).shard(((1, 1, 4, 1), (1, 1, 1, 1)))
    with pytest.raises(ValueError, match=r"along 'h' of conv2d, the windows 0 to 2 of 12 see padding alone"):
        planned(conv, x, w)


# ---- what the search chooses ---------------------------------------------------------------------------------------


class Layers(nn.Cell):
    """Six convolutions over many pixels, and a mean over them."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 32, 3)
        self.layers = nn.SequentialCell(*[nn.Conv2d(32, 32, 3) for _ in range(5)])
        self.fc = nn.Dense(32, 8)

    def construct(self, x, y):
        h = ops.relu(self.layers(ops.relu(self.stem(x))))
        return ops.cross_entropy(self.fc(h.mean(axis=(2, 3))), y)


def chosen_cuts(batch, pixels):
    """(images, rows, columns) cut by the layers of the plan for eight devices, and its seconds."""
    x, y = ms.parallel.blank((batch, 3, pixels, pixels)), ms.parallel.blank((batch,), ms.int32)
    plan = ms.parallel.plan(Layers(), x, y, device_num=8)
    cuts = {(s[0][0], *s[0][2:]) for name, s in plan.strategies.items() if "layers" in name and "conv2d" in name}
    return cuts, plan.step_time


@pytest.mark.long
def test_the_search_cuts_a_large_image_and_divides_a_large_batch():
    cuts, seconds = chosen_cuts(1, 1024)
    assert all(n == 1 and h * w == 8 for n, h, w in cuts)
    assert chosen_cuts(64, 128)[0] == {(8, 1, 1)}
    net, (x, y) = Layers(), (ms.parallel.blank((1, 3, 1024, 1024)), ms.parallel.blank((1,), ms.int32))
    whole_image = {"conv2d": ((1, 1, 1, 1), (1, 1, 1, 1))}
    assert seconds < 0.5 * ms.parallel.plan(net, x, y, device_num=8, strategies=whole_image).step_time
