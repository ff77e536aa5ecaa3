"""The simulated Ascend: values as a float16 cube gives them, kernels, formats, the core's queues, memory."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given, strategies as st

import msnb as ms
from msnb import nn, ops
from msnb.core.types import tensor_type
from msnb.devices.ascend.aicore import QUEUES, aicore
from msnb.devices.ascend.chip import ASCEND910, CHIPS, CORE, Chip, Core
from msnb.devices.ascend.formats import from_nc1hwc0, from_nz, from_z, padded_bytes, to_nc1hwc0, to_nz, to_z
from msnb.devices.ascend.peak_memory import peak_of
from msnb.devices.ascend.pooling_cost import tiles_of
from msnb.devices.ascend.roofline import IMAGES, Product, conversion_seconds, op_seconds, vector_part
from msnb.graph.capture import trace
from msnb.ops.spatial.pooling_records import MAX_POOL2D_GRAD

blank = ms.parallel.blank
rng = np.random.default_rng(11)


@pytest.fixture(params=[ms.GRAPH_MODE, ms.PYNATIVE_MODE])
def ascend(request):
    with ms.set_context(device_target="Ascend", mode=request.param):
        yield


def f32(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def half(a):
    return a.astype(np.float16).astype(np.float32)


# ---- values ----------------------------------------------------------------------------------------------------------


@ms.jit
def product(a, b):
    return ops.matmul(a, b)


def test_operands_are_rounded_and_sums_are_wide(ascend):
    a, b = f32(33, 70), f32(70, 9)
    got = product(ms.Tensor(a), ms.Tensor(b)).asnumpy()
    assert got.dtype == np.float32
    assert np.array_equal(got, half(a) @ half(b))
    assert not np.array_equal(got, a @ b)


def test_overflow_is_seen(ascend):
    assert np.isinf(product(ms.Tensor([[70000.0]]), ms.Tensor([[1.0]])).item())
    assert product(ms.Tensor([[60000.0, 60000.0]]), ms.Tensor([[1.0], [1.0]])).item() == 120000.0  # sums are float32
    sums = product(ms.Tensor([[6e4, 6e4]], ms.float16), ms.Tensor([[1.0], [1.0]], ms.float16))
    assert sums.dtype is ms.float16 and np.isinf(sums.item())  # the result is not
    assert product(ms.Tensor([[1 + 2.0**-12]]), ms.Tensor([[1.0]])).item() == 1.0
    assert (ms.Tensor([1 + 2.0**-12]) * 1.0).item() > 1.0, "the vector unit works in the dtype of its operands"


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.head = nn.Conv2d(3, 5, 3), nn.BatchNorm2d(5), nn.Dense(5, 4)

    def construct(self, x, y):
        return ops.cross_entropy(self.head(ops.mean(ops.relu(self.norm(self.conv(x))), (2, 3))), y)


def test_both_modes_give_the_same_bits():
    found = []
    for mode in (ms.GRAPH_MODE, ms.PYNATIVE_MODE):
        with ms.set_context(device_target="Ascend", mode=mode):
            ms.set_seed(3)
            net = Net()
            x = ms.Tensor(np.random.default_rng(1).standard_normal((4, 3, 6, 6)), ms.float32)
            y = ms.Tensor([0, 1, 2, 3])
            loss, grads = ms.value_and_grad(net, None, net.trainable_params())(x, y)
            found.append([loss.asnumpy(), *(g.asnumpy() for g in grads)])
    assert all(np.array_equal(a, b) for a, b in zip(*found))


def test_float64_products_say_where_they_run(ascend, capsys):
    from msnb.base import events

    events.forget_notices()
    a = rng.standard_normal((3, 4 + ms.get_context("mode")))  # kernels are kept by signature
    got = product(ms.Tensor(a), ms.Tensor(a.T.copy())).asnumpy()
    assert np.array_equal(got, a @ a.T)
    assert "the cube multiplies float16 only" in capsys.readouterr().err


# ---- clock -----------------------------------------------------------------------------------------------------------


def test_a_product_reads_the_roofline():
    p = ms.ascend.profile(product, blank((8192, 1024)), blank((1024, 1024)), mode="graph")
    assert [row[1] for row in p.table] == ["cube"] and p.kernels[0].bound == "cube"
    flops = 2 * 8192 * 1024 * 1024
    assert p.seconds == pytest.approx(flops / (256e12 * ASCEND910.e_cube) + ASCEND910.launch)
    assert p.seconds < ms.ascend.profile(product, blank((8192, 1024)), blank((1024, 1024)), chip="Ascend310").seconds


def test_blocks_of_sixteen():
    assert Product(100, 3, 5).flops == 2 * 112 * 16 * 16
    assert Product(128, 16, 16).wave(32) == 4, "eight blocks keep eight cores busy"
    assert Product(128, 16384, 128).wave(32) == 1, "unless K can be cut"
    x = blank((8, 64, 28, 28))
    wide, deep = (ms.ascend.profile(nn.Conv2d(64, 64, 3, group=g), x, mode="graph").kernels[-1] for g in (1, 64))
    assert wide.cube / 64 * 10 < deep.cube < wide.cube, "depthwise uses a sixteenth of each block"


def test_a_batch_norm_is_two_sweeps_forward_and_two_backward():
    net = nn.SequentialCell(nn.Conv2d(16, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 16, 3))
    net.set_train()
    plan = ms.parallel.plan(lambda x: net(x).mean(), blank((32, 16, 56, 56)), device_num=1)
    big = 32 * 16 * 56 * 56 * 2
    first, *kernels = plan.timeline.kernels
    assert first.kind == "convert", "images come as plain rows"
    kinds = [(k.kind, round(sum(k.reads.values()) / big), round(sum(k.writes.values()) / big)) for k in kernels]
    assert kinds[:3] == [("cube", 1, 1), ("vector", 1, 1), ("cube", 1, 0)]
    assert ("vector", 2, 1) in kinds[3:], "the gradient of a batch norm reads x and dy, and writes dx"


@pytest.mark.parametrize("side, rides", [(32, True), (2048, False)])
def test_only_what_the_buffers_hold_rides_along(side, rides):
    """A sixteenth of what the kernel before it walks through is still 8 MB that pass through memory."""

    def both(x, w, y):
        little = ops.matmul(y, y)
        return ops.matmul(x, w), ops.exp(little)

    p = ms.ascend.profile(both, blank((8192, 64)), blank((64, 8192)), blank((side, side)), mode="graph")
    paid = [k for k in p.kernels if k.kind == "vector" and k.seconds]
    assert len(paid) == (0 if rides else 1)
    assert all(k.seconds > 2 * side * side * 2 / ASCEND910.hbm for k in paid), "read and written, 16 bits each"


def test_sums_join_convolutions_but_not_matrix_products():
    x, w = blank((4096, 1024)), blank((1024, 4096))
    p = ms.ascend.profile(lambda x, w: ops.log_softmax(ops.matmul(x, w), -1), x, w, mode="graph")
    assert [k.kind for k in p.kernels] == ["cube", "vector"]
    assert [t.op.name for t in p.kernels[0].tasks] == ["matmul"]
    p = ms.ascend.profile(lambda x, w: ops.matmul(ops.swapaxes(x, 1, 2), w).sum(0), blank((8, 128, 256)),
                          blank((8, 128, 512)), mode="graph")  # fmt: skip
    assert [k.kind for k in p.kernels] == ["cube"], "a sum over the matrices of a batch is part of their product"


def test_eager_pays_every_launch():
    graph, eager = (ms.ascend.profile(nn.LayerNorm((64,)), blank((16, 64)), mode=mode) for mode in ("graph", "eager"))
    assert len(graph.kernels) == 1 and graph.seconds < 6e-6
    assert len(eager.kernels) > 5 and eager.seconds == pytest.approx(40e-6 * len(eager.kernels))
    with ms.set_context(mode=ms.GRAPH_MODE):
        assert ms.ascend.profile(nn.LayerNorm((64,)), blank((16, 64))).mode == "graph"


def test_the_trace_is_chromes(tmp_path):
    p = ms.ascend.profile(nn.Dense(64, 64), blank((64, 64)), mode="eager")
    p.trace(tmp_path / "t.json")
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    spans = [e for e in events if e["ph"] == "X"]
    assert len(spans) == len(p.timeline) and "simulated" in events[0]["args"]["name"]
    assert spans[-1]["ts"] + spans[-1]["dur"] == pytest.approx(p.seconds * 1e6)
    assert "simulated" in str(p)


@pytest.mark.parametrize(
    "how, words", [({"chip": "TPU"}, "'Ascend910', 'Ascend310'"), ({"mode": "lazy"}, "'graph', 'eager'")]
)
def test_wrong_profiles(how, words):
    with pytest.raises(ValueError, match=words):
        ms.ascend.profile(nn.Dense(2, 2), blank((2, 2)), **how)


# ---- memory ----------------------------------------------------------------------------------------------------------


@ms.jit
def three(x):
    big = ops.concat([x, x], 0)
    return ops.exp(big).sum()


def test_the_peak_is_where_most_lives():
    peak = peak_of(trace(three, (blank((1000,)),)).graph)
    assert peak.node.op.name == "exp" and peak.nbytes == 4000 + 8000 + 8000


def test_out_of_memory_names_the_largest(ascend):
    with pytest.raises(RuntimeError, match="out of memory: the program needs 40") as told:
        ms.ascend.profile(three, blank((2000, 1000, 1000)))
    assert "concat: f32[4000,1000,1000], 16 GB" in str(told.value)
    with ms.set_context(soc_version="Ascend310"), pytest.raises(RuntimeError, match="has 7 GB"):
        ms.ascend.profile(three, blank((600, 1000, 1000)))


# ---- formats ---------------------------------------------------------------------------------------------------------

sizes = st.integers(1, 40)


@given(sizes, sizes, st.integers(1, 5), st.integers(1, 5))
def test_formats_there_and_back(a, b, c, d):
    x = np.arange(a * b * c * d, dtype=np.int32).reshape(a, b, c, d) + 1
    five = to_nc1hwc0(x)
    assert np.array_equal(from_nc1hwc0(five, b), x) and five.nbytes == padded_bytes(x.shape, "NC1HWC0", 4)
    z = to_z(x)
    assert np.array_equal(from_z(z, x.shape), x) and z.nbytes == padded_bytes(x.shape, "FRACTAL_Z", 4)
    m = x.reshape(c, d, a, b)
    nz = to_nz(m)
    assert np.array_equal(from_nz(nz, a, b), m) and nz.nbytes == padded_bytes(m.shape, "FRACTAL_NZ", 4)
    assert five.sum() == z.sum() == nz.sum() == x.sum(), "what is padded is zero"


def test_blocks_of_nz_stand_in_columns():
    x = np.arange(32 * 48).reshape(32, 48)
    assert np.array_equal(to_nz(x)[2, 1], x[16:, 32:])


def test_a_product_in_blocks_is_the_product():
    a, b = f32(40, 50), f32(50, 20)
    x, y = to_nz(a), to_nz(b)  # [k1, m1, 16, 16], [n1, k1, 16, 16]
    got = np.einsum("kmab,nkbc->nmac", x, y)
    assert np.allclose(from_nz(got, 40, 20), a @ b, atol=1e-4)


def test_formats_refuse():
    with pytest.raises(ValueError, match="NC1HWC0 holds tensors of 4 axes, got 2"):
        to_nc1hwc0(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="legal: NC1HWC0, FRACTAL_NZ, FRACTAL_Z"):
        padded_bytes((2, 2), "NZ")


# ---- the core --------------------------------------------------------------------------------------------------------


@given(st.integers(1, 300), st.integers(1, 300), st.integers(1, 300), st.booleans())
def test_queues_do_one_thing_at_a_time_and_buffers_hold_what_they_can(m, k, n, double):
    run = aicore(m, k, n, double_buffering=double)
    for queue in QUEUES:
        mine = sorted((e.start, e.end) for e in run.events if e.queue == queue)
        assert all(a[1] <= b[0] + 1e-9 for a, b in zip(mine, mine[1:]) if b[0] < b[1])
    limits = {"L1": CORE.l1, "L0A": CORE.l0a, "L0B": CORE.l0b, "L0C": CORE.l0c, "UB": CORE.ub}
    for name, size in limits.items():
        levels = [x for _, x in run.occupancy(name)]
        assert max(levels) <= size and levels[-1] == 0
    up = [-(-x // 16) for x in (m, k, n)]
    assert round(sum(e.end - e.start for e in run.events if e.queue == "cube"), 6) == up[0] * up[1] * up[2]
    assert 0 < run.utilisation <= 1


def test_double_buffering_pays():
    two, one = aicore(512, 512, 512), aicore(512, 512, 512, double_buffering=False)
    assert two.cycles < one.cycles and two.busy("cube") > one.busy("cube")


@pytest.mark.parametrize("tile, words", [((100, 16, 16), "multiples of 16"), ((256, 128, 128), "bytes of L0A")])
def test_tiles_that_do_not_fit(tile, words):
    with pytest.raises(ValueError, match=words):
        aicore(64, 64, 64, tile)
    with pytest.raises(ValueError, match="m must be an int of at least 1"):
        aicore(0, 1, 1)


# ---- the numbers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Chip, Core])
def test_every_parameter_says_where_it_is_from(kind):
    for field in dataclasses.fields(kind):
        assert len(field.metadata.get("source", "")) >= 6, f"{kind.__name__}.{field.name} has no source"
        assert f"{field.name}:" in kind.__doc__ or f"{field.name}," in kind.__doc__, f"{field.name} is not explained"


def pooling(images, channels, size, kernel, stride):
    """A pooling of images without padding: its operator, types and attributes."""
    x = ms.parallel.blank((images, channels, size, size), ms.float16)
    made = trace(lambda x: ops.max_pool2d(x, kernel, stride), (x,), {}).graph
    call = next(node for node in made.nodes if node.op.name == "max_pool2d")
    return call.op, [v.type for v in call.inputs], [v.type for v in call.outputs], call.attrs


ALEXNET = {(2, 96, 55, 3, 2): (5.91, 32.58), (2, 256, 27, 3, 2): (3.35, 15.93), (2, 256, 13, 3, 2): (2.97, 5.67)}
LENET = {(32, 6, 28, 2, 2): (6.66, 9.46), (32, 16, 10, 2, 2): (4.78, 7.74)}  # us: the pooling and its gradient


@pytest.mark.parametrize("profile, kept", [(ALEXNET, False), (LENET, True)])
def test_windows_take_what_a_profile_says(profile, kept):
    """Two of MindInsight's test profiles of an Ascend 910: a launch and two rates cannot be right for all ten."""
    forward, backward = [], []
    for shape in profile:
        op, ins, outs, attrs = pooling(*shape)
        share = min(32, shape[0] * -(-shape[1] // 16)) / 32  # of the cores
        small = dataclasses.replace(ASCEND910, vector=ASCEND910.vector * share)
        forward.append((vector_part(op, ins, outs, attrs, small, kept) + ASCEND910.launch) * 1e6)
        backward.append((op_seconds(MAX_POOL2D_GRAD, [*ins, *outs, *outs], ins, attrs, ASCEND910) + 4e-6) * 1e6)
    for found, measured in zip((forward, backward), zip(*profile.values())):
        assert found == sorted(found, reverse=True)
        assert sum(found) == pytest.approx(sum(measured), rel=0.4)


def test_lapping_windows_wait_for_the_memory_row_by_row():
    """3x3 windows: with stride 1 the gradient takes much longer than with stride 2, and spreads as much."""
    slow, quick = (op_seconds(MAX_POOL2D_GRAD, [*ins, *outs, *outs], ins, attrs, ASCEND910)
                   for _, ins, outs, attrs in (pooling(32, 64, 30, 3, 1), pooling(32, 64, 57, 3, 2)))  # fmt: skip
    assert slow > 2.5 * quick
    assert tiles_of(28, 32, (3, 3), (1, 1)) == (28, 28)
    assert tiles_of(14, 16, (2, 2), (2, 2)) == (1, 14)
    assert tiles_of(28, 32, (3, 3), (2, 2)) == (2, 29), "two tiles go through one row twice"
    assert tiles_of(4, 1024, (3, 3), (2, 2))[0] >= 3, "what does not fit goes in the smallest tiles"


def converted(net, *inputs):
    """The kernels of a step of training, and what was converted for whom."""
    net.set_train()
    kernels = ms.parallel.plan(lambda *xs: ops.square(net(*xs)).mean(), *inputs, device_num=1).timeline.kernels
    return kernels, [k.tasks[0].op.name for k in kernels if k.kind == "convert"]


class Joined(nn.Cell):
    """Two convolutions side by side."""

    def __init__(self, a, b):
        super().__init__()
        self.first, self.a, self.b = nn.Conv2d(16, 32, 1), nn.Conv2d(32, a, 1), nn.Conv2d(32, b, 1)

    def construct(self, x):
        x = self.first(x)
        return ops.concat([ops.relu(self.a(x)), ops.relu(self.b(x))], 1)


@pytest.mark.parametrize("sizes, plain", [((32, 32), 0), ((16, 48), 1), ((24, 40), 2)])
def test_joined_channels_are_cut_as_blocks_or_as_plain_rows(sizes, plain):
    """Equal parts of whole blocks stay blocks; unequal ones are cut plain, parts of blocks are joined plain as well."""
    _, found = converted(Joined(*sizes), blank((8, 16, 14, 14)))
    assert sum(name in ("concat", "split") for name in found) == plain


def test_the_gradient_of_a_bias_is_summed_in_plain_rows():
    """One per channel of an image; that of a batch norm comes with other sums, in blocks."""
    kernels, found = converted(nn.Conv2d(16, 64, 3, has_bias=True), blank((8, 16, 14, 14)))
    (alone,) = (k for k in kernels if k.kind == "alone")
    assert alone.tasks[0].op.name == "sum_to" and "sum_to" in found
    assert alone.vector == pytest.approx(8 * 64 * ASCEND910.row_sum)
    kernels, found = converted(nn.SequentialCell(nn.Conv2d(16, 64, 3), nn.BatchNorm2d(64)), blank((8, 16, 14, 14)))
    assert "alone" not in {k.kind for k in kernels} and "sum_to" not in found


@pytest.mark.parametrize("half, kinds", [(True, "convert cube alone"),
                                         (False, "convert convert cube convert alone convert")])  # fmt: skip
def test_values_of_32_bits_are_cast_around_kernels_of_16(monkeypatch, half, kinds):
    monkeypatch.setitem(CHIPS, "Ascend910", dataclasses.replace(ASCEND910, half=half))
    net = nn.SequentialCell(nn.Conv2d(16, 16, 1), nn.ReLU(), nn.MaxPool2d(2, 2))
    kernels = ms.ascend.profile(net, blank((8, 16, 14, 14)), mode="graph", chip="Ascend910").kernels
    assert [k.kind for k in kernels] == kinds.split()
    if not half:
        assert kernels[1].memory == pytest.approx(8 * 16 * 14 * 14 * 6 / (ASCEND910.hbm * ASCEND910.e_hbm))


def test_dropout_is_a_kernel_of_its_own():
    net = nn.SequentialCell(nn.Dense(64, 64), nn.ReLU(), nn.Dropout(p=0.1), nn.ReLU(), nn.Dense(64, 64))
    kernels, _ = converted(net, blank((512, 64)))
    drops = [k for k in kernels if any(t.op.name == "where" for t in k.tasks) and k.kind == "vector"]
    assert sum({t.op.name for t in k.tasks} <= {"where", "multiply"} for k in drops) >= 2, "forward and backward"


def test_rows_that_are_not_aligned_are_converted_one_by_one():
    even, odd = (conversion_seconds(tensor_type((32, 64, n, n), ms.float16), IMAGES, ASCEND910) for n in (16, 15))
    assert odd == pytest.approx(32 * 64 * ASCEND910.row)
    assert odd > 2 * even


def test_a_depthwise_gradient_slides_windows():
    """It costs many times its passes over memory; forward it is a product with a sixteenth of the cube."""
    x = ms.parallel.blank((32, 64, 56, 56), ms.float32)

    def kernels(group):
        with nn.no_init_parameters():
            net = nn.Conv2d(64, 64, 3, group=group)
        found = ms.parallel.plan(lambda x: net(x).mean(), x, device_num=1).timeline.kernels
        return {task.op.name: k for k in found for task in k.tasks if task.op.name.startswith("conv2d")}

    alone, full = kernels(64), kernels(1)
    assert alone["conv2d"].cube < 0.2 * alone["conv2d_weight_grad"].vector
    assert (alone["conv2d_weight_grad"].bound, full["conv2d_weight_grad"].bound) == ("vector", "cube")
    assert alone["conv2d_weight_grad"].seconds > 5 * alone["conv2d"].seconds
