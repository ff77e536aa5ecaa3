"""The GPU's seam, with a fake CuPy in its place: what set_context does, what moves, what is refused."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb.base import device_registry
from msnb.base.errors import ContextError, DeviceError
from msnb.devices.gpu.device import GPU, open_gpu
from tests import fake_cupy


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A machine on which ``import cupy`` works."""
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy)
    device_registry._made.pop("GPU", None)
    fake_cupy.Device.current = 0
    yield fake_cupy
    ms.reset_context()
    device_registry._made.pop("GPU", None)


@pytest.fixture
def no_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)  # import cupy raises ImportError
    device_registry._made.pop("GPU", None)


def settings() -> dict[str, Any]:
    return {name: ms.get_context(name) for name in ("mode", "device_target", "device_id")}


# ---- missing devices -------------------------------------------------------------------------------------------------


def test_without_cupy_the_way_out_is_told_and_nothing_changes(no_cupy: None) -> None:
    before, heard = settings(), []
    with pytest.raises(DeviceError, match=r"the GPU cannot be used: CuPy [\s\S]*NVIDIA.*pip install msnb\[gpu\]"):
        ms.set_context(mode=ms.GRAPH_MODE, device_target="GPU", device_id=1)
    assert settings() == before and device_registry.current().name == "CPU" and heard == []
    assert (ms.Tensor([1.0]) + 1).tolist() == [2.0]


def test_without_a_driver(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_driver() -> int:
        raise OSError("cudaErrorInsufficientDriver: CUDA driver version is insufficient")

    monkeypatch.setattr(fake_cupy.runtime, "getDeviceCount", no_driver)
    with pytest.raises(DeviceError, match="used: the driver is missing, or older .*cudaErrorInsufficientDriver"):
        ms.set_context(device_target="GPU")
    assert device_registry.current().name == "CPU"


@pytest.mark.parametrize(("there", "words"), [(0, "0 GPUs"), (1, "1 GPU")])
def test_a_gpu_that_is_not_there(gpu: Any, monkeypatch: pytest.MonkeyPatch, there: int, words: str) -> None:
    monkeypatch.setattr(fake_cupy.runtime, "getDeviceCount", lambda: there)
    with pytest.raises(DeviceError, match=f"device_id={there} is not there: this machine has {words}\\."):
        ms.set_context(device_target="GPU", device_id=there)
    assert settings()["device_target"] == "CPU" and settings()["device_id"] == 0


def test_a_library_that_is_no_cupy() -> None:
    with pytest.raises(DeviceError, match="the GPU cannot be used"):
        GPU(types.SimpleNamespace(ndarray=np.ndarray))
    with pytest.raises(DeviceError, match="CuPy is not installed"):
        open_gpu("no_such_array_library")


def test_unknown_devices_list_the_legal_ones() -> None:
    with pytest.raises(ContextError, match=r"device_target='TPU'.*legal: Ascend, CPU, GPU"):
        ms.set_context(device_target="TPU")
    with pytest.raises(ContextError, match="legal"):
        ms.set_context(device_target=3)


# ---- a device that is there ------------------------------------------------------------------------------------------


def test_eager_runs_there_and_comes_back(gpu: Any) -> None:
    with ms.set_context(device_target="GPU"):
        x = ms.Tensor([1.0, 2.0])
        y = (x * x + 1) / 2
        assert isinstance(y._data, fake_cupy.ndarray) and y.device == "GPU"
        assert y.asnumpy().tolist() == [1.0, 2.5] and isinstance(y.asnumpy(), np.ndarray)
        assert "2.5" in repr(y) and y[1].item() == 2.5
    assert settings()["device_target"] == "CPU" and ms.Tensor([1.0]).device == "CPU"
    assert y.asnumpy().tolist() == [1.0, 2.5]  # a value stays readable after the switch


def test_graphs_run_there(gpu: Any) -> None:
    @ms.jit
    def program(x: ms.Tensor) -> ms.Tensor:
        total = x
        while total.sum() < 20:
            total = total * 2 + 1
        return total

    want = program(ms.Tensor([1.0, 2.0])).asnumpy()
    ms.set_context(device_target="GPU")
    got = program(ms.Tensor([1.0, 2.0]))
    assert isinstance(got._data, fake_cupy.ndarray)
    np.testing.assert_array_equal(got.asnumpy(), want)


def test_gradients_run_there(gpu: Any, mode: int) -> None:
    def loss(w: ms.Tensor, x: ms.Tensor) -> ms.Tensor:
        return ms.ops.tanh(x @ w).sum()

    w, x = np.float32([[0.5], [0.25]]), np.float32([[1, 2], [3, 4]])
    want = ms.grad(loss)(ms.Tensor(w), ms.Tensor(x)).asnumpy()
    ms.set_context(device_target="GPU", mode=mode)
    for _ in range(3):  # the third call runs the compiled backward program
        got = ms.grad(loss)(ms.Tensor(w), ms.Tensor(x))
        assert isinstance(got._data, fake_cupy.ndarray)
        np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-6)


def test_random_draws_go_on_on_another_device(gpu: Any) -> None:
    from msnb.core import random

    ms.set_seed(7)
    state = random.state()
    ms.set_context(device_target="GPU")
    assert random.state() is state and state.device == "GPU"
    assert state.asnumpy().tolist() == [7, 0]
    ms.set_context(device_target="CPU")
    assert state.device == "CPU"


def test_the_device_number(gpu: Any) -> None:
    ms.set_context(device_target="GPU", device_id=1)
    assert fake_cupy.Device.current == 1
    ms.set_context(device_id=0)
    assert fake_cupy.Device.current == 0
    with pytest.raises(DeviceError, match="device_id=2 is not there: this machine has 2 GPUs"):
        ms.set_context(device_id=2)
    assert settings()["device_id"] == 0 and fake_cupy.Device.current == 0


def test_synchronize_waits_for_the_device(gpu: Any) -> None:
    ms.runtime.synchronize()
    ms.set_context(device_target="GPU")
    before = fake_cupy.Device.synchronized
    ms.runtime.synchronize()
    assert fake_cupy.Device.synchronized == before + 1


# ---- moving ----------------------------------------------------------------------------------------------------------


def test_tensors_move_when_told_to(gpu: Any) -> None:
    x = ms.Tensor(np.arange(4, dtype=np.int16))
    there = x.to("GPU")
    assert there.device == "GPU" and there.dtype is x.dtype and x.device == "CPU"
    for moved in (x.cuda(), x.move_to("GPU"), x.to("cuda:0"), x.to("gpu")):
        assert moved.device == "GPU" and moved.asnumpy().tolist() == [0, 1, 2, 3]
    assert there.cpu().device == "CPU" and there.to("CPU").asnumpy().tolist() == [0, 1, 2, 3]
    assert x.to("CPU") is x and there.to("GPU") is there


def test_to_also_takes_a_dtype() -> None:
    x = ms.Tensor([1.5])
    assert x.to("float16").dtype.name == "float16" and x.to(np.int32).tolist() == [1]
    with pytest.raises(ContextError, match="device_target='quantum' is not known; legal: Ascend, CPU, GPU"):
        x.to("quantum")
    with pytest.raises(TypeError, match="is not a dtype"):
        x.to(3.5)


def test_moving_without_a_gpu(no_cupy: None) -> None:
    with pytest.raises(DeviceError, match="CuPy"):
        ms.Tensor([1.0]).to("GPU")


@pytest.mark.parametrize("target", ["CPU", "GPU"])
@pytest.mark.parametrize("op", ["add", "matmul", "where", "concat"])
def test_operands_of_two_devices(gpu: Any, target: str, op: str) -> None:
    here = ms.Tensor([[1.0, 2.0], [3.0, 4.0]])
    there = here.to("GPU")
    other = "GPU" if target == "CPU" else "CPU"
    ms.set_context(device_target=target)
    call = {
        "add": lambda: here + there,
        "matmul": lambda: ms.ops.matmul(here, there),
        "where": lambda: ms.ops.where(here > 2 if target == "CPU" else there > 2, here, there),
        "concat": lambda: ms.ops.concat((here, there)),
    }[op]
    with pytest.raises(DeviceError) as caught:
        call()
    text = caught.value.message()
    assert f"operations run on {target}, and an operand lives on {other}." in text
    assert "f32[2,2] on CPU" in text and "f32[2,2] on GPU" in text
    assert f'x.to("{target}")' in text and f'device_target="{other}"' in text
    assert caught.value.where is not None and caught.value.where.file == __file__


@pytest.mark.parametrize("target", ["CPU", "GPU"])
def test_a_program_with_arguments_of_two_devices(gpu: Any, target: str) -> None:
    """The executor gives the sentence that eager mode gives."""
    from msnb.graph.compile import compile_graph
    from msnb.ir.text.parser import parse

    here = ms.Tensor([1.0, 2.0])
    there = here.to("GPU")
    ms.set_context(device_target=target)
    with pytest.raises(DeviceError) as eager:
        here * there
    text = (
        "graph f(x: f32[2], y: f32[2]) -> (f32[2])\n  %1 = exp(x) : f32[2]\n  %2 = multiply(x, y) : f32[2]\n  return %2"
    )
    program = compile_graph(parse(text))
    with pytest.raises(DeviceError) as graph:
        program([here._data, there._data])
    assert graph.value.message() == eager.value.message()


def test_hidden_copies_up_are_refused_even_where_dtypes_are_converted(gpu: Any) -> None:
    here, there = ms.Tensor([1, 2]), ms.Tensor([1.0, 2.0]).to("GPU")
    ms.set_context(device_target="GPU")
    with pytest.raises(DeviceError, match="an operand lives on CPU"):
        there + here  # int64 + float32: the kernel converts, and must not upload on the way


def test_bfloat16_moves(gpu: Any) -> None:
    there = ms.Tensor([1.0, 2.5], dtype="bfloat16").to("GPU")
    assert there.dtype.name == "bfloat16" and there.asnumpy().tolist() == [1.0, 2.5]


def test_bfloat16_is_refused_with_a_sentence_by_an_older_cupy(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fake_cupy.features, "bfloat16", False)
    with pytest.raises(DeviceError, match="has no bfloat16 arrays"):
        ms.Tensor([1.0], dtype="bfloat16").to("GPU")


# ---- the stand-in itself ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "peek",
    [
        np.asarray,
        np.add.reduce,
        np.sum,
        float,
        bool,
        list,
        lambda a: a.item(),
        lambda a: a + np.ones(1),
        lambda a: np.ones(1) + a,
    ],
)
def test_the_fake_refuses_hidden_copies(peek: Any) -> None:
    with pytest.raises(TypeError):
        peek(fake_cupy.asarray(np.ones(1)))


def test_the_fake_computes() -> None:
    a = fake_cupy.asarray(np.float32([[1, 2], [3, 4]]))
    assert fake_cupy.asnumpy(fake_cupy.add.reduce(a * 2 + a.T)).tolist() == [11.0, 19.0]
    assert type(a.sum()) is type(a[0, 0]) is fake_cupy.ndarray
    assert fake_cupy.asnumpy(fake_cupy.linalg.det(a)) == pytest.approx(-2)
    assert [v.shape for v in fake_cupy.split(a, 2)] == [(1, 2), (1, 2)]


# ---- whole programs --------------------------------------------------------------------------------------------------


class Net(ms.nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = ms.nn.Conv2d(1, 2, 3, pad_mode="valid"), ms.nn.BatchNorm2d(2)
        self.drop, self.dense = ms.nn.Dropout(p=0.2), ms.nn.Dense(8, 3)

    def construct(self, x: Any) -> Any:
        x = ms.ops.relu(self.norm(self.conv(x)))
        return self.dense(self.drop(x.reshape(x.shape[0], -1)))


def trained(rows: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    ms.set_seed(5)
    net = Net()
    model = ms.Model(net, ms.nn.CrossEntropyLoss(), ms.nn.Adam(net.trainable_params(), 0.01), {"loss", "accuracy"})
    model.train(2, rows)
    return model.eval(rows), {p.name: p.asnumpy() for p in model.train_network.get_parameters()}


def test_a_network_trains_there(gpu: Any, mode: int, rng: np.random.Generator, tmp_path: Any) -> None:
    rows = [(rng.normal(size=(4, 1, 4, 4)).astype(np.float32), rng.integers(0, 3, 4).astype(np.int32)) for _ in "ab"]
    want, state = trained(rows)
    ms.set_context(device_target="GPU")
    got, moved = trained(rows)
    assert got == pytest.approx(want, rel=1e-5)
    for name, value in state.items():
        np.testing.assert_allclose(moved[name], value, rtol=1e-5, atol=1e-6, err_msg=name)
    net = Net()
    ms.save_checkpoint(net, tmp_path / "net")
    ms.set_context(device_target="CPU")
    there, here = Net(), net  # a checkpoint written on one device is read on another
    ms.load_checkpoint(tmp_path / "net.ckpt", there, strict_load=True)
    assert there.dense.weight.device == "CPU" and here.dense.weight.device == "GPU"
    np.testing.assert_array_equal(there.dense.weight.asnumpy(), here.dense.weight.asnumpy())
    ms.load_checkpoint(tmp_path / "net.ckpt", here)
    assert here.dense.weight.device == "GPU"  # values move to where the parameter lives


def test_a_network_left_behind_has_a_sentence(gpu: Any, mode: int) -> None:
    net = ms.nn.Dense(2, 1)
    ms.set_context(device_target="GPU")
    x = ms.Tensor(np.ones((1, 2), np.float32))
    with pytest.raises(DeviceError, match=r"operations run on GPU, and an operand lives on CPU[\s\S]*x.to") as caught:
        net(x)
    assert caught.value.where.file == __file__ and "net(x)" in str(caught.value)
    with pytest.raises(DeviceError, match="an operand lives on CPU"):
        ms.grad(lambda v: net(v).sum())(x)


# ---- the GPU that every machine has ----------------------------------------------------------------------------------


def test_the_simulated_gpu_runs_generated_kernels_anywhere(mode: int, no_cupy: None) -> None:
    x = np.float32([[0.5, -1.0, 2.0], [3.0, 0.0, 1.0]])

    @ms.jit
    def f(x: Any) -> Any:
        return ms.ops.softmax(x * 2, -1)

    want = f(ms.Tensor(x)).asnumpy()
    with ms.set_context(device_target="SimulatedGPU", mode=mode, jit_level="O1"):
        assert ms.get_context("device_target") == "SimulatedGPU"
        before = fake_cupy.counters.kernels_run
        found = f(ms.Tensor(x))
        assert found.device == "SimulatedGPU"
        np.testing.assert_allclose(found.asnumpy(), want, rtol=1e-6)
        assert fake_cupy.counters.kernels_run > before
