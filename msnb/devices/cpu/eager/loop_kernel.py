"""A reference body on few elements, which becomes one builtin once it is called often (``loop_table``)."""

from __future__ import annotations

from operator import itemgetter, methodcaller
from typing import Any

import numpy as np

from msnb.core import TensorType, Type
from msnb.devices.device import HOT, WARM, Kernel
from msnb.ops.definition.record import Op


class LoopKernel:
    """A kernel of one signature.

    Args:
        device: joins operations; body: runs until then, and whatever does not lie dense.
        op, types, attrs: the signature.
    """

    def __init__(self, device: Any, body: Kernel, op: Op, types: tuple[Type, ...], attrs: dict[str, Any]) -> None:
        self._device, self._body, self._signature = device, body, (op, types, attrs)
        self._calls = 0
        self._fused: Any = None
        self._result: Any = ()

    def __call__(self, *arrays: Any) -> Any:
        if self._fused is None:
            return self._cold(arrays)
        found = self._fused(*arrays, np.empty(*self._result))
        return self._body(*arrays) if found is None else found

    def _cold(self, arrays: tuple[Any, ...]) -> Any:
        self._calls += 1
        body = self._body(*arrays)
        if self._calls in (2 * WARM, HOT):  # a call of several operations is fused before each of them is
            op, types, attrs = self._signature
            n = len(types)
            steps = [(op, types, attrs, op.result_types(types, attrs), range(n), range(n, n + 1))]
            fused = self._device.fused((types, [], steps, [n]), self._calls == HOT)
            if fused is not None:
                self._result = fused.outs[0][1]
                found = fused.run(*arrays, np.empty(*self._result))
                self._fused = fused.run if found is None or found.tobytes() == body.tobytes() else None
        return body


def is_worth(op: Op, types: tuple[Type, ...], body: Kernel) -> bool:
    """True for operations on few floats that cost NumPy more than one call of a ufunc."""
    known = all(isinstance(t, TensorType) and t.is_static and not t.weak and t.dtype.itemsize > 2 for t in types)
    several = op.reduction or "elementwise" in op.traits or op.name == "cumsum"
    return bool(known and types and several and not isinstance(body, (np.ufunc, methodcaller, itemgetter)))
