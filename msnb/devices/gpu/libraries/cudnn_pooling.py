"""Pooling through cuDNN, where it means what the records mean.

    kind             reads   writes
    max              x       out        NaN is larger than everything, padding smaller
    average          x       out        with or without the padding in the count
    average_grad     out     x

Left out on purpose: the gradient of the maximum, because the record sends a gradient to the first of equal values and
cuDNN does not say to which; and windows that reach beyond the padding (``ceil_mode``), which cuDNN does not have.
Source: https://docs.nvidia.com/deeplearning/cudnn/backend/latest/api/cudnn-ops-library.html
"""

from __future__ import annotations

import math
from ctypes import byref, c_double, c_float
from dataclasses import dataclass
from typing import Any

from msnb.devices.gpu.libraries import cudnn_api as c
from msnb.devices.gpu.libraries.plan_cache import PlanCache

Pair = tuple[int, int]
_KINDS = ("max", "average", "average_grad")


@dataclass(frozen=True)
class PoolProblem:
    """A pooling of images.

    Attributes:
        kind: "max", "average" or "average_grad".
        x, out: shapes of the images and of the windows, axes in the order of ``data_format``.
        kernel, stride, pads: as in the records; pads are (top, bottom, left, right).
        data_format: "NCHW" or "NHWC".
        count_include_pad: whether an average counts the padding.
        dtype: "float32", "float64", "float16" or "bfloat16".
    """

    kind: str
    x: tuple[int, ...]
    out: tuple[int, ...]
    kernel: Pair
    stride: Pair
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    data_format: str = "NCHW"
    count_include_pad: bool = True
    dtype: str = "float32"

    @property
    def padding(self) -> Pair | None:
        """Padding of rows and columns; None where cuDNN has no such padding."""
        rows, columns = (self.data_format.index(axis) for axis in "HW")
        size, windows = ((shape[rows], shape[columns]) for shape in (self.x, self.out))
        return c.leading_pads(size, windows, self.kernel, self.stride, self.pads)

    @property
    def supported(self) -> bool:
        """Whether cuDNN has words for it."""
        named = self.kind in _KINDS and self.dtype in c.DTYPES and self.data_format in c.FORMATS
        return named and all(map(math.prod, (self.x, self.out))) and self.padding is not None

    def __str__(self) -> str:
        window = f"window {self.kernel}, stride {self.stride}, pads {self.pads}"
        return (
            f"pooling ({self.kind}) of {list(self.x)} to {list(self.out)}, {self.data_format}, {window}, {self.dtype}"
        )


class PoolPlan:
    """How a pooling is computed.

    Args:
        api: the library.
        problem: what is computed.

    Raises:
        RuntimeError: CudnnError: the library refuses the problem.
    """

    problem: PoolProblem

    def __init__(self, api: c.CudnnApi, problem: PoolProblem) -> None:
        self.problem, self._api = problem, api
        number = c_double if problem.dtype == "float64" else c_float
        self._alpha, self._beta = number(1.0), number(0.0)
        self._desc = c.CudnnDescriptor(
            api, "Pooling", _mode(problem), c.PROPAGATE_NAN, *problem.kernel, *(problem.padding or (0, 0)),
            *problem.stride,
        )  # fmt: skip
        self._x, self._out = (c.images(api, s, problem.data_format, problem.dtype) for s in (problem.x, problem.out))

    def run(self, handle: int, x: int, out: int, stream: int) -> None:
        """Launch it; returns before it is done.

        Args:
            handle: of the library, of this thread and the current device.
            x, out: addresses on the device; "average_grad" reads ``out`` and writes ``x``.
            stream: a cudaStream_t.

        Raises:
            RuntimeError: CudnnError: the library refuses or fails.
        """
        self._api.call("SetStream", handle, stream)
        alpha, beta, desc = byref(self._alpha), byref(self._beta), self._desc.address
        image, windows = self._x.address, self._out.address
        args: tuple[Any, ...]
        if self.problem.kind == "average_grad":  # it wants x and out as well, and of a mean reads neither
            name = "PoolingBackward"
            args = (handle, desc, alpha, windows, out, windows, out, image, x, beta, image, x)
        else:
            name, args = "PoolingForward", (handle, desc, alpha, image, x, beta, windows, out)
        status = self._api.functions[name](*args)
        if status:
            self._api.fail(name, status, self.problem)


def _mode(problem: PoolProblem) -> int:
    if problem.kind == "max":
        return c.POOLING_MAX
    return c.POOLING_INCLUDE_PADDING if problem.count_include_pad else c.POOLING_EXCLUDE_PADDING


POOL_PLANS: PlanCache[PoolPlan] = PlanCache()


def plan_pool(problem: PoolProblem) -> PoolPlan | None:
    """How to pool; made once per problem.

    Args:
        problem: what is computed.

    Returns:
        The plan; None where there is no library, or it has no words for the problem. Whether it has code is known
        when it runs.
    """
    api = c.api()
    if api is None or not problem.supported:
        return None
    return POOL_PLANS.get(problem, lambda: _made(api, problem))


def _made(api: c.CudnnApi, problem: PoolProblem) -> PoolPlan | None:
    try:
        return PoolPlan(api, problem)
    except c.CudnnError as error:
        if error.unsupported:
            return None
        raise
