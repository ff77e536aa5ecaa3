"""What MindSpore's programs ask of Parameters and of a Cell's names, and operators named as views. Both modes."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from msnb import Tensor


def test_information_about_a_parameter(mode: int) -> None:
    from mindspore import Parameter, nn

    net = nn.SequentialCell(nn.Dense(2, 3), nn.Dense(3, 1))
    weight = net[0].weight
    assert (weight.comm_fusion, weight.requires_aggr, weight.cache_enable, weight.key) == (1, True, False, -1)
    assert (weight.sliced, weight.has_init, weight.is_init, weight.init_mode) == (False, False, False, None)
    net.set_comm_fusion(3)
    assert [p.param_info.comm_fusion for p in net.get_parameters()] == [3] * 4
    info = weight.param_info
    assert (info.name, info.requires_grad, info.obj is weight) == ("0.weight", True, True)
    info.parallel_optimizer = False
    assert not weight.parallel_optimizer and Parameter(Tensor([1.0])).comm_fusion == 1
    with pytest.raises(AttributeError, match="no attribute 'comm_fusio'"):
        print(weight.comm_fusio)


def test_names_that_stand_twice(mode: int) -> None:
    from mindspore import Parameter, nn

    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.a = Parameter(Tensor([1.0]), name="a")
            self.b = Parameter(Tensor([2.0]), name="b")

        def construct(self, x: Any) -> Any:
            return x * self.a + self.b

    net = Net()
    assert net.check_names() is None
    assert net(Tensor([3.0])).tolist() == [5.0]
    net.b.name = "a"
    with pytest.raises(ValueError, match="the name of b, 'a', is another Parameter's too"):
        net.check_names()


def test_pictures_behind_the_data_sets() -> None:
    pytest.importorskip("PIL")
    program = "import msnb.as_mindspore as a, sys; a.install(); assert 'PIL.Image' not in sys.modules; "
    program += "import mindspore.dataset; import PIL; print(PIL.Image.new('L', (2, 1)).size)"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert found.stdout.strip() == "(2, 1)"


def test_views_as_operators(mode: int) -> None:
    from mindspore import jit, ops

    numbers = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
    turn, swap, pick = ops.TransposeView(), ops.operations.TransposeExtView(), ops.auto_generate.SelectView()
    program = jit(lambda x: (turn(x, (2, 0, 1)), swap(x, 0, 2), pick(x, 1, -1)))
    found = program(Tensor(numbers))
    wanted = numbers.transpose(2, 0, 1), numbers.swapaxes(0, 2), numbers[:, -1]
    assert all(np.array_equal(f.asnumpy(), w) for f, w in zip(found, wanted))
    with pytest.raises((ValueError, IndexError)):
        pick(Tensor(numbers), 1, 3)
    with pytest.raises(ValueError):
        turn(Tensor(numbers), (0, 0, 1))


def test_data_of_another_dtype_is_converted(mode: int) -> None:
    import mindspore as ms

    p, q = ms.Parameter(Tensor([1, 2], ms.int8), name="p"), ms.Parameter(Tensor([True, True]), name="q")
    assert p.set_data(Tensor([1.7, -2.5])) is p and p.tolist() == [1, -2]
    p.data = Tensor([3.9])  # of another shape too
    assert (p.tolist(), p.dtype, q.set_data(Tensor([0, 3])).tolist()) == ([3], ms.int8, [False, True])
    with pytest.raises(ValueError, match="has shape"):
        q.set_data(Tensor([1.0]))


def test_settings_of_parameter_servers() -> None:
    import mindspore as ms
    from mindspore import context

    context.set_ps_context(enable_ps=True, scheduler_port=81)
    assert ms.get_ps_context("enable_ps") and context.get_ps_context("scheduler_port") == 81
    ms.reset_ps_context()
    assert ms.get_ps_context("enable_ps") is False and ms.get_ps_context("scheduler_ip") == "127.0.0.1"
    for wrong in (lambda: ms.set_ps_context(ps=True), lambda: ms.get_ps_context("ps")):
        with pytest.raises(ValueError, match="no setting 'ps'"):
            wrong()
    with pytest.raises(TypeError, match="enable_ps=. is a bool, not 1"):
        ms.set_ps_context(worker_num=2, enable_ps=1)
    assert ms.get_ps_context("worker_num") == 0 and ms.ms_memory_recycle() is None
