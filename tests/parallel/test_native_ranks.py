"""Ranks compute as eager mode does: reference bodies at "O0", native code at "O1" where there is enough to do."""

from __future__ import annotations

import numpy as np
import pytest
from nets import small
from sharded import call_of

import msnb as ms
from msnb.devices.device import body_kernel
from msnb.ops.definition.record import find
from msnb.parallel.engine.comm.communicator import Communicator
from msnb.parallel.engine.comm.shards import LocalCall, kernel_of
from msnb.parallel.engine.rank.rank_state import RankState
from msnb.parallel.program.program_document import to_text
from msnb.parallel.sharding.device_mesh import Mesh
from msnb.parallel.sharding.strategies import assigned, place


class Told(Communicator):
    """Alone, and knows under which settings its rank walked."""

    def answer(self, run, mesh):
        self.level, self.threads = ms.get_context("jit_level"), ms.get_context("runtime_num_threads")
        return super().answer(run, mesh)


@pytest.mark.parametrize("level", ["O0", "O1"])
def test_a_plan_runs_under_the_settings_it_was_loaded_with(level):
    net, inputs = small()
    plan, comm = ms.parallel.plan(net, *inputs, device_num=1), Told(0, 1, 10.0)
    before = ms.get_context("jit_level"), ms.get_context("runtime_num_threads")
    held = RankState(to_text(plan.program), comm, None, {"jit_level": level, "runtime_num_threads": 1})
    loss = held.run(plan.given(inputs))[0]
    assert (comm.level, comm.threads) == (level, 1)
    assert (ms.get_context("jit_level"), ms.get_context("runtime_num_threads")) == before, "of the step alone"
    assert float(loss) == pytest.approx(net(*inputs).item(), rel=1e-4)


def test_without_machine_code_ranks_run_the_bodies(rng):
    """At "O0" the very bits of the body on the rank's part."""
    x, w = rng.standard_normal((4, 8, 12, 12)).astype(np.float32), rng.standard_normal((6, 8, 3, 3)).astype(np.float32)
    call, mesh = call_of(find("conv2d"), (x, w), {}), Mesh.over(2)
    types = (call_of(find("conv2d"), (x[:2], w), {})).types
    with ms.set_context(jit_level="O0"):
        (got,) = LocalCall(mesh, call, place(call, assigned(call, {"n": 2}, mesh), mesh))(1, (x[2:], w))
    np.testing.assert_array_equal(got, body_kernel(np, call.op, types, dict(call.attrs))(x[2:], w))


def test_simulated_devices_and_other_array_modules_run_the_bodies(rng):
    x = rng.standard_normal((64, 1024)).astype(np.float32)
    call = call_of(find("exp"), (x,), {})
    with ms.set_context(device_target="Ascend"):
        got = kernel_of(np, call.op, call.types, {})(x)
    np.testing.assert_array_equal(got, body_kernel(np, call.op, call.types, {})(x))
