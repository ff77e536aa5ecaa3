"""A jitted function is pickled as what was compiled: by name where that finds it, by value with cloudpickle."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import jitted_material as material
import numpy as np
import pytest

import msnb as ms
from msnb import nn

cloudpickle = pytest.importorskip("cloudpickle")
X = ms.Tensor([1.0, 2.0])


@pytest.fixture(params=[ms.PYNATIVE_MODE, ms.GRAPH_MODE], autouse=True)
def mode(request):
    with ms.base.settings.set_context(mode=request.param):
        yield


def test_functions_of_modules_travel_by_name():
    for dumps in (pickle.dumps, cloudpickle.dumps):
        assert pickle.loads(dumps(material.tripled)) is material.tripled
        assert pickle.loads(dumps(material.Held.halved)) is material.Held.halved


def test_local_functions_travel_by_value_also_after_they_were_compiled():
    factor = 2.0

    @ms.jit
    def scaled(x):
        return x * factor

    for _ in range(2):
        again = cloudpickle.loads(cloudpickle.dumps(scaled))
        assert again is not scaled and again.name == "scaled"
        np.testing.assert_array_equal(again(X).asnumpy(), [2, 4])
        np.testing.assert_array_equal(scaled(X).asnumpy(), [2, 4])


def test_what_a_local_function_calls_travels_with_its_text():
    def doubled(x):
        return x + x

    class Net(nn.Cell):
        def construct(self, x):
            return doubled(x) + 1

    nets = [nn.SequentialCell(Net()), Net()]
    run = ms.jit(lambda x: nets[0](x) + nets[1](x))
    for made in (run, ms.jit(nets[0])):
        again = cloudpickle.loads(cloudpickle.dumps(made))
        np.testing.assert_array_equal(again(X).asnumpy(), made(X).asnumpy())
    source = cloudpickle.loads(cloudpickle.dumps(run)).__msnb_fn__
    assert source.__code__.co_filename == __file__


def test_the_text_travels_where_no_file_holds_it():
    """In another process: neither the folder of the script nor its command line is there."""
    text = ("import msnb as ms, cloudpickle, sys\n"
            "def doubled(x):\n    return x + x\n"
            "@ms.jit\n"
            "def run(x):\n    return doubled(x) * 3\n"
            "sys.stdout.buffer.write(cloudpickle.dumps(run))\n")  # fmt: skip
    sent = subprocess.run([sys.executable, "-c", text], capture_output=True, timeout=120, check=True).stdout
    np.testing.assert_array_equal(pickle.loads(sent)(X).asnumpy(), [6, 12])


def test_a_compiled_cell_travels_with_its_weights():
    net = nn.Dense(2, 1)
    run = ms.jit(net)
    want = run(ms.ops.ones((3, 2))).asnumpy()
    again = pickle.loads(pickle.dumps(run))
    np.testing.assert_array_equal(again(ms.ops.ones((3, 2))).asnumpy(), want)


def test_a_copy_is_a_function_of_its_own():
    double = ms.jit(lambda x: x * 2)
    double(X)
    for made in (copy.copy(double), copy.deepcopy(double)):
        assert made is not double
        np.testing.assert_array_equal(made(X).asnumpy(), [2, 4])


@pytest.mark.long
def test_functions_of_a_cell_compute_in_worker_processes():
    """As a notebook has them: no file holds their text, workers get it with the function."""
    cell = (
        "import msnb as ms, msnb.dataset as ds\n"
        "@ms.jit\n"
        "def square(x):\n"
        "    return x * x\n"
        "def work(x):\n"
        "    return square(ms.Tensor([float(x)]))\n"
        "data = ds.NumpySlicesDataset([1, 2, 3], 'x', shuffle=False)\n"
        "data = data.map(work, num_parallel_workers=1, python_multiprocessing=True)\n"
        "print([float(x[0]) for (x,) in data.create_tuple_iterator(num_epochs=1, output_numpy=True)])\n"
    )
    text = ("import linecache\n"
            f"cell = {cell!r}\n"
            "linecache.cache['<cell 1>'] = (len(cell), None, cell.splitlines(True), '<cell 1>')\n"
            "exec(compile(cell, '<cell 1>', 'exec'))\n")  # fmt: skip
    made = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120)
    assert made.stdout == "[1.0, 4.0, 9.0]\n", made.stderr
