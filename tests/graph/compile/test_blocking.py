"""State in blocks as a pass: which regions are blocked, how the graph reads then, and that it means the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from msnb.base import device_registry
from msnb.core.storage.memory_format import BlockedFormat
from msnb.devices.reference_executor import ReferenceProgram
from msnb.graph.compile import Log
from msnb.graph.compile.passes import weight_blocking
from msnb.ir.analysis.verifier import verify
from msnb.ir.graph import Graph, Node
from msnb.ir.text.parser import parse
from msnb.ir.text.printer import print_graph

BLOCKS = BlockedFormat((0, 1, 2, 3), ((1, 2), (0, 4)))
CONV = "pads=(1, 1, 1, 1)"


@pytest.fixture(autouse=True)
def _small_weights_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weight_blocking, "WORTH", 0)


def program(
    update: str, gives: str = "f32[2,8,5,5], w", returns: str = "%8, %new", params: str = "", kind: str = " state"
) -> Graph:
    """A step: forward (%8), the gradient of the weight (%9), an update (%new)."""
    text = f"""\
graph step(x: f32[2,4,5,5], w: f32[8,4,3,3]{kind}, lr: f32[]{params}) -> ({gives})
  %8 = conv2d(x, w, {CONV}) : f32[2,8,5,5]
  %9 = conv2d_weight_grad(x, %8, kernel=(3, 3), {CONV}) : f32[8,4,3,3]
  {update}
  return {returns}"""
    return parse(text.replace("%new", "%7").replace("%moment", "%6"))


def blocked(graph: Graph, blocks: Any = BLOCKS) -> tuple[Graph, dict[int, BlockedFormat], Log]:
    def blocks_of(node: Node) -> BlockedFormat | None:
        assert node.op.name == "conv2d_weight_grad"
        found: BlockedFormat | None = blocks
        return found

    before, log = print_graph(graph), Log(keep=True)
    out, forms = weight_blocking.blocked(graph, blocks_of, log)
    assert print_graph(graph) == before
    verify(out, "hardware_dependent", deep=True)
    return out, forms, log


def run(graph: Graph, args: list[Any], forms: dict[int, BlockedFormat]) -> list[Any]:
    """The graph's results on plain arguments, plain."""
    args = [forms[i].block(np, a) if i in forms else a for i, a in enumerate(args)]
    outs = ReferenceProgram(device_registry.device("CPU"), graph)(args)
    back = {graph.state[i]: blocks for i, blocks in forms.items()}
    return [back[j].unblock(np, o) if j in back else o for j, o in enumerate(outs)]


SGD = "%1 = multiply(%9, lr) : f32[8,4,3,3]\n  %new = subtract(w, %1) : f32[8,4,3,3]"


def arguments(graph: Graph, rng: np.random.Generator) -> list[Any]:
    return [rng.standard_normal(p.type.ints()).astype(np.float32) for p in graph.params]


def test_an_update_runs_on_blocks() -> None:
    out, forms, log = blocked(program(SGD))
    assert forms == {1: BLOCKS}
    attrs = "order=(0, 1, 2, 3), inner=((1, 2), (0, 4))"
    kinds = [n.op.name for n in out.nodes]
    assert kinds == ["unblock", "conv2d", "conv2d_weight_grad", "block", "multiply", "subtract"]
    assert attrs in print_graph(out)
    assert [str(out.params[i].type) for i in (0, 1)] == ["f32[2,4,5,5]", "f32[2,2,3,3,2,4]"]
    assert str(out.outputs[1].type) == "f32[2,2,3,3,2,4]"
    assert [r.pass_name for r in log.history] == ["block"]


MOMENTUM = """%1 = multiply(m, ~0.9) : f32[8,4,3,3]
  %moment = add(%1, %9) : f32[8,4,3,3]
  %2 = multiply(%moment, lr) : f32[8,4,3,3]
  %new = subtract(w, %2) : f32[8,4,3,3]"""
DECAY = """%1 = multiply(w, ~0.01) : f32[8,4,3,3]
  %2 = add(%9, %1) : f32[8,4,3,3]
  %3 = multiply(%2, lr) : f32[8,4,3,3]
  %new = subtract(w, %3) : f32[8,4,3,3]"""
BACKWARD = f"""%1 = conv2d_input_grad(%8, w, size=(5, 5), {CONV}) : f32[2,4,5,5]
  %2 = conv2d_weight_grad(%1, %8, kernel=(3, 3), {CONV}) : f32[8,4,3,3]
  %3 = add(%9, %2) : f32[8,4,3,3]
  %4 = multiply(%3, lr) : f32[8,4,3,3]
  %new = subtract(w, %4) : f32[8,4,3,3]"""


@pytest.mark.parametrize("update", [SGD, DECAY, BACKWARD], ids=["sgd", "decay", "two gradients"])
def test_it_means_the_same(update: str, rng: np.random.Generator) -> None:
    graph = program(update)
    out, forms, _ = blocked(graph)
    assert forms == {1: BLOCKS}
    args = arguments(graph, rng)
    for got, want in zip(run(out, args, forms), run(graph, args, {})):
        np.testing.assert_array_equal(got, want)


def test_moments_lie_as_their_weight(rng: np.random.Generator) -> None:
    moment = ", m: f32[8,4,3,3] state"
    graph = program(MOMENTUM, "f32[2,8,5,5], w, m", "%8, %new, %moment", moment)
    out, forms, _ = blocked(graph)
    assert forms == {1: BLOCKS, 3: BLOCKS}
    args = arguments(graph, rng)
    for got, want in zip(run(out, args, forms), run(graph, args, {})):
        np.testing.assert_array_equal(got, want)


SUM = """%1 = multiply(%9, %9) : f32[8,4,3,3]
  %2 = sum(%1) : f32[]
  %3 = multiply(%9, %2) : f32[8,4,3,3]
  %new = subtract(w, %3) : f32[8,4,3,3]"""
MASKED = "%1 = multiply(%9, mask) : f32[8,4,3,3]\n  %new = subtract(w, %1) : f32[8,4,3,3]"
ROWS = "%1 = multiply(%9, rows) : f32[8,4,3,3]\n  %new = subtract(w, %1) : f32[8,4,3,3]"
TURNED = "%1 = transpose(w, perm=(0, 1, 3, 2)) : f32[8,4,3,3]\n  %new = subtract(%1, %9) : f32[8,4,3,3]"
NEW = "%new = multiply(%9, lr) : f32[8,4,3,3]"


@pytest.mark.parametrize(
    ("update", "params"),
    [(SUM, ""), (MASKED, ", mask: f32[8,4,3,3]"), (ROWS, ", rows: f32[8,1,1,1]"), (TURNED, "")],
    ids=["a norm of the gradient", "a tensor from outside", "one number per channel", "a turned weight"],
)
def test_what_needs_plain_values_stays_plain(update: str, params: str) -> None:
    graph = program(update, params=params)
    out, forms, log = blocked(graph)
    assert out is graph and not forms and not log.total


@pytest.mark.parametrize("other", ["%new", "%9", "%1"], ids=["the new value", "the gradient", "the step"])
def test_a_value_that_is_a_result_too_stays_plain(other: str) -> None:
    assert not blocked(program(SGD, "f32[2,8,5,5], w, f32[8,4,3,3]", f"%8, %new, {other}"))[1]


def test_a_weight_that_is_no_state_stays_plain() -> None:
    assert not blocked(program(SGD, "f32[2,8,5,5], f32[8,4,3,3]", kind=""))[1]


def test_a_new_value_without_the_old_one_is_blocked_too(rng: np.random.Generator) -> None:
    graph = program(NEW)
    out, forms, _ = blocked(graph)
    args = arguments(graph, rng)
    for got, want in zip(run(out, args, forms), run(graph, args, {})):
        np.testing.assert_array_equal(got, want)


def test_the_device_may_refuse() -> None:
    graph = program(SGD)
    assert blocked(graph, None)[0] is graph


def test_small_weights_are_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weight_blocking, "WORTH", 1 << 20)
    assert not blocked(program(SGD))[1]
