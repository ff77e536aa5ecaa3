"""A model that comes in is a citizen: it prints, runs in both modes, differentiates, trains, is saved and planned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="needs onnx (`pip install 'msnb[onnx]'`)")

import onnx
from onnx.reference import ReferenceEvaluator

import msnb as ms
from msnb import nn
from msnb.base.errors import ArgumentError, CheckpointError, DTypeError, ShapeError
from tests.onnx_models.models import CONVOLUTIONS, HEAD, MLP, convolution_weights, mlp_weights, model, saved


def expected(made: Any, *inputs: Any) -> list[Any]:
    names = [x.name for x in made.graph.input]
    return list(ReferenceEvaluator(made).run(None, dict(zip(names, inputs))))


@pytest.fixture
def mlp(tmp_path: Path) -> str:
    return saved(tmp_path / "mlp.onnx", MLP, **mlp_weights())


@pytest.mark.parametrize("batch", [1, 5])
def test_it_runs_for_every_size(mode: str, mlp: str, batch: int, rng: np.random.Generator) -> None:
    net = nn.GraphCell(ms.load(mlp))
    for n in (batch, batch + 1):
        x = rng.standard_normal((n, 4)).astype(np.float32)
        want = expected(model(MLP, **mlp_weights()), x)[0]
        np.testing.assert_allclose(net(ms.Tensor(x)).asnumpy(), want, rtol=1e-5, atol=1e-6)


def test_convolutions_and_shapes_that_are_computed(mode: str, tmp_path: Path, rng: np.random.Generator) -> None:
    weights = convolution_weights()
    net = nn.GraphCell(ms.load(saved(tmp_path / "net.onnx", CONVOLUTIONS, **weights)))
    x = rng.standard_normal((2, 3, 8, 8)).astype(np.float32)
    want = expected(model(CONVOLUTIONS, **weights), x)[0]
    np.testing.assert_allclose(net(ms.Tensor(x)).asnumpy(), want, rtol=1e-4, atol=1e-5)
    trained = {p.name for p in net.trainable_params()}
    assert trained == {"k", "scale", "shift", "w"} and {p.name for p in net.get_parameters()} - trained == {
        "mean",
        "var",
    }


def test_it_prints(mlp: str) -> None:
    program = ms.load(mlp)
    assert str(program).splitlines()[:2] == ["graph mlp(x: float32[batch, 4])", "  weight w1: float32[4, 6]"]
    assert "h = MatMul(x, w1)" in str(program) and "mlp(x: float32[batch, 4]): 4 weights, 5 nodes" in repr(program)
    assert "mlp" in repr(nn.GraphCell(program))


def test_values_by_name(mlp: str, rng: np.random.Generator) -> None:
    program, x = ms.load(mlp), rng.standard_normal((2, 4)).astype(np.float32)
    values = program.values(ms.Tensor(x))
    assert list(values) == ["h", "b", "r", "z", "y"]
    np.testing.assert_allclose(values["h"].asnumpy(), x @ mlp_weights()["w1"], rtol=1e-5)
    np.testing.assert_array_equal(values["r"].asnumpy(), np.maximum(values["b"].asnumpy(), 0))


def test_gradients(mode: str, mlp: str, rng: np.random.Generator) -> None:
    net = nn.GraphCell(ms.load(mlp))
    x, labels = ms.Tensor(rng.standard_normal((3, 4)).astype(np.float32)), ms.Tensor([0, 2, 1])
    weights = {p.name: p for p in net.trainable_params()}

    def loss(v: ms.Tensor) -> ms.Tensor:
        return ms.ops.nll_loss(net(v), labels)

    def by_hand(v: ms.Tensor) -> ms.Tensor:
        hidden = ms.ops.relu(v @ weights["w1"] + weights["b1"])
        return ms.ops.nll_loss(ms.ops.log_softmax(hidden @ weights["w2"] + weights["b2"], -1), labels)

    found, want = (
        ms.value_and_grad(f, 0, ms.ParameterTuple(weights.values()))(x) for f in (loss, by_hand)
    )  # fmt: skip
    assert found[0].item() == pytest.approx(want[0].item(), rel=1e-5)
    for got, right in zip([found[1][0], *found[1][1]], [want[1][0], *want[1][1]]):
        np.testing.assert_allclose(got.asnumpy(), right.asnumpy(), rtol=1e-4, atol=1e-6)


def test_it_trains_further_and_is_saved(mode: str, mlp: str, tmp_path: Path, rng: np.random.Generator) -> None:
    net = nn.GraphCell(ms.load(mlp))
    data = rng.standard_normal((16, 4)).astype(np.float32)
    x, labels = ms.Tensor(data), ms.Tensor(data[:, :3].argmax(1))  # something that can be learned
    step = nn.TrainOneStepCell(nn.WithLossCell(net, ms.nn.NLLLoss()), nn.Adam(net.trainable_params(), 0.05))
    losses = [step(x, labels).item() for _ in range(60)]
    assert losses[-1] < 0.5 * losses[0]
    ms.save_checkpoint(net, str(tmp_path / "net.ckpt"))
    ms.export(net, x, file_name=str(tmp_path / "net"))
    fresh = nn.GraphCell(ms.load(mlp), params_init=ms.load_checkpoint(str(tmp_path / "net.ckpt")))
    again = nn.GraphCell(ms.load(str(tmp_path / "net.mindir")))
    for other in (fresh, again):
        np.testing.assert_allclose(other(x).asnumpy(), net(x).asnumpy(), rtol=1e-6)
    assert not np.allclose(nn.GraphCell(ms.load(mlp))(x).asnumpy(), net(x).asnumpy())


def test_transforms_and_a_plan(mlp: str, rng: np.random.Generator) -> None:
    net = nn.GraphCell(ms.load(mlp))
    x = ms.Tensor(rng.standard_normal((8, 4)).astype(np.float32))
    rows = ms.vmap(lambda row: net(row.expand_dims(0))[0])(x)
    np.testing.assert_allclose(rows.asnumpy(), net(x).asnumpy(), rtol=1e-5, atol=1e-6)
    planned = ms.parallel.plan(net, x, device_num=2)
    np.testing.assert_allclose(planned.run(x), net(x).asnumpy(), rtol=1e-5, atol=1e-6)


# ---- control flow, functions, sequences ------------------------------------------------------------------------------

IF = """
choice (float[2] x, bool c) => (float[2] y) {
   y = If(c) <then_branch = up () => (float[2] u) { u = Add(x, x) },
              else_branch = down () => (float[2] d) { d = Neg(x) }>
}
"""

SCAN = """
total (float[2] start, float[n, 2] rows) => (float[2] end, float[n, 2] all) {
   end, all = Scan <num_scan_inputs = 1, body = step (float[2] s, float[2] r) => (float[2] t, float[2] o) {
      t = Add(s, r)
      o = Identity(t)
   }> (start, rows)
}
"""

OWN = """
uses (float[n] x) => (float[n] y) {
   y = own.twice <times = 3.0> (x)
}
<domain: "own", opset_import: ["" : 21]>
twice <times> (a) => (b) {
   k = Constant <value_float: float = @times> ()
   c = Mul(a, k)
   b = Softplus(c)
}
"""


def test_a_branch_that_asks_a_tensor(mode: str, tmp_path: Path) -> None:
    net = nn.GraphCell(ms.load(saved(tmp_path / "if.onnx", IF)))
    x = ms.Tensor([1.0, 2.0])
    assert net(x, ms.Tensor(True)).tolist() == [2.0, 4.0] and net(x, ms.Tensor(False)).tolist() == [-1.0, -2.0]
    slope = ms.grad(lambda v, c: net(v, c).sum())
    assert slope(x, ms.Tensor(True)).tolist() == [2.0, 2.0] and slope(x, ms.Tensor(False)).tolist() == [-1.0, -1.0]


def test_a_scan_and_its_gradient(mode: str, tmp_path: Path) -> None:
    net = nn.GraphCell(ms.load(saved(tmp_path / "scan.onnx", SCAN)))
    rows = ms.Tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    end, found = net(ms.Tensor([0.0, 10.0]), rows)
    assert end.tolist() == [9.0, 22.0] and found.tolist() == [[1.0, 12.0], [4.0, 16.0], [9.0, 22.0]]
    slope = ms.grad(lambda v: net(ms.Tensor([0.0, 0.0]), v)[1].sum())(rows)
    assert slope.tolist() == [[3.0, 3.0], [2.0, 2.0], [1.0, 1.0]]


def test_a_function_of_the_model(mode: str, tmp_path: Path) -> None:
    net = nn.GraphCell(ms.load(saved(tmp_path / "own.onnx", OWN)))
    np.testing.assert_allclose(net(ms.Tensor([0.0, 1.0])).asnumpy(), np.log1p(np.exp([0.0, 3.0])), rtol=1e-5)


# ---- wrong inputs ----------------------------------------------------------------------------------------------------


def test_inputs_that_do_not_fit(mode: str, mlp: str) -> None:
    net = nn.GraphCell(ms.load(mlp))
    with pytest.raises(ShapeError, match=r"x: float32\[batch, 4\] got the shape \(2, 5\)"):
        net(ms.ops.ones((2, 5)))
    with pytest.raises(DTypeError, match="is float32, got int32"):
        net(ms.ops.ones((2, 4), dtype=ms.int32))
    with pytest.raises(ArgumentError, match="takes 1 inputs, 2 were given"):
        net(ms.ops.ones((2, 4)), ms.ops.ones((2, 4)))


def test_operators_that_nobody_knows_are_told_all_at_once(tmp_path: Path) -> None:
    text = "net (float[n] x) => (float[n] y) {\n   a = own.first(x)\n   b = own.first(a)\n   y = own.second(b)\n}"
    path = tmp_path / "net.onnx"
    path.write_bytes(onnx.parser.parse_model(HEAD + text).SerializeToString())
    with pytest.raises(CheckpointError, match=r"own.first \(2\), own.second \(1\)"):
        ms.load(str(path))


def test_an_error_inside_names_the_node(mode: str, tmp_path: Path) -> None:
    text = "net (float[a, b] x, float[c, d] y) => (float[a, d] z) {\n   z = MatMul(x, y)\n}"
    net = nn.GraphCell(ms.load(saved(tmp_path / "net.onnx", text)))
    with pytest.raises(ShapeError) as caught:
        net(ms.ops.ones((2, 3)), ms.ops.ones((4, 2)))
    assert "z = MatMul(x, y)" in str(caught.value)


def test_endings_and_missing_files(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="'.mindir' or '.onnx'"):
        ms.load(str(tmp_path / "net.pb"))
    with pytest.raises(FileNotFoundError):
        ms.load(str(tmp_path / "none.onnx"))
