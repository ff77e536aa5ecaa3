"""An index outside its axis: IndexError as in Python, RuntimeError or ValueError as MindSpore's kernels raise."""

from __future__ import annotations

from typing import Any

import pytest

import msnb as ms
from msnb import Tensor, ops

X, FAR, NEW = Tensor([1.0, 2.0]), Tensor([[0], [2]], ms.int32), Tensor([5.0, 6.0])
PROGRAMS: dict[str, Any] = {
    "gather": lambda x: ops.gather(x, FAR, 0),
    "gather_elements": lambda x: ops.gather_elements(x, 0, FAR.reshape(2)),
    "scatter_nd_add": lambda x: ops.tensor_scatter_add(x, FAR, NEW),
    "scatter_update": lambda x: ops.tensor_scatter_elements(x, FAR.reshape(2), NEW),
    "key": lambda x: x[FAR],
    "number": lambda x: x[5],
}


@pytest.mark.parametrize("kind", [IndexError, RuntimeError, ValueError])
@pytest.mark.parametrize("name", list(PROGRAMS))
def test_an_index_outside(mode: int, name: str, kind: Any) -> None:
    fn = ms.jit(PROGRAMS[name]) if mode == ms.GRAPH_MODE else PROGRAMS[name]
    with pytest.raises(kind, match="outside"):
        fn(X)


def test_a_program_that_catches_it(mode: int) -> None:
    def fn(x: Any) -> Any:
        try:
            return x[7]
        except RuntimeError:
            return x

    assert (ms.jit(fn) if mode == ms.GRAPH_MODE else fn)(X).tolist() == [1.0, 2.0]
