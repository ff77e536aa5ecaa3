"""Convolutions through cuDNN: one trilinear form F(X, W, Y) and its three kernels.

    kind           reads      writes     cuDNN's name
    forward        x weight   out        ConvolutionForward
    input_grad     weight out x          ConvolutionBackwardData
    weight_grad    x out      weight     ConvolutionBackwardFilter

``x``, ``weight`` and ``out`` are places of the form in every kind: for "input_grad", ``out`` is the gradient that comes
in and ``x`` the one that is made. The library has several algorithms for each. It proposes them by its own estimate,
or, given memory to try them on, measures them; the best one runs.

Channels lie last in filters where they do in images: ``weight_layout`` is OIHW with NCHW, and OHWI with NHWC, which is
what the tensor cores want. Two-byte floats are summed in float32. float32 is multiplied as it is unless the problem
says "high", which rounds operands to TF32.
Source: https://docs.nvidia.com/deeplearning/cudnn/backend/latest/api/cudnn-cnn-library.html
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from ctypes import byref, c_double, c_float, c_int, c_size_t
from dataclasses import dataclass
from typing import Any

from msnb.devices.gpu.libraries import cudnn_api as c
from msnb.devices.gpu.libraries.plan_cache import PlanCache

Pair = tuple[int, int]
WORKSPACE_BYTES = 1 << 30  # no algorithm may want more
_PROPOSALS = 16
_ORDERS = {"NCHW": "OIHW", "NHWC": "OHWI"}
_BYTES = {"float32": 4, "float64": 8, "float16": 2, "bfloat16": 2}
# places of the form: what is read, and last what is written
_ROLES = {
    "forward": ("x", "weight", "out"),
    "input_grad": ("weight", "out", "x"),
    "weight_grad": ("x", "out", "weight"),
}


@dataclass(frozen=True)
class ConvProblem:
    """A convolution or one of its gradients.

    Attributes:
        kind: "forward", "input_grad" or "weight_grad".
        x, out: shapes of the images and of the windows, axes in the order of ``data_format``.
        weight: (out, in / groups, rows, columns), whatever its layout is.
        data_format: "NCHW" or "NHWC".
        weight_layout: "OIHW" or "OHWI": how the weight lies, densely.
        stride, pads, dilation, groups: as in the records; pads are (top, bottom, left, right).
        dtype: "float32", "float64", "float16" or "bfloat16".
        precision: of float32: "highest" (as it is) or "high" (TF32).
        deterministic: only algorithms that give the same bits every time.
    """

    kind: str
    x: tuple[int, ...]
    weight: tuple[int, ...]
    out: tuple[int, ...]
    data_format: str = "NCHW"
    weight_layout: str = "OIHW"
    stride: Pair = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    dilation: Pair = (1, 1)
    groups: int = 1
    dtype: str = "float32"
    precision: str = "highest"
    deterministic: bool = False

    @property
    def padding(self) -> Pair | None:
        """Padding of rows and columns; None where cuDNN has no such padding."""
        (rows, columns), windows = (self._places(shape) for shape in (self.x, self.out))
        reach = tuple(d * (k - 1) + 1 for d, k in zip(self.dilation, self.weight[2:]))
        return c.leading_pads((rows, columns), windows, (reach[0], reach[1]), self.stride, self.pads)

    def _places(self, shape: tuple[int, ...]) -> Pair:
        return shape[self.data_format.index("H")], shape[self.data_format.index("W")]

    @property
    def supported(self) -> bool:
        """Whether cuDNN has words for it; whether it has code is another question."""
        named = self.kind in _ROLES and self.dtype in _BYTES and self.precision in ("highest", "high")
        ordered = _ORDERS.get(self.data_format) == self.weight_layout
        return named and ordered and all(map(math.prod, (self.x, self.weight, self.out))) and self.padding is not None

    def __str__(self) -> str:
        sizes = " ".join(f"{role} {list(getattr(self, role))}" for role in ("x", "weight", "out"))
        window = f"stride {self.stride}, pads {self.pads}, dilation {self.dilation}, groups {self.groups}"
        return f"the convolution's {self.kind}, {sizes}, {self.data_format}, {window}, {self.dtype} ({self.precision})"


class ConvPlan:
    """How a convolution is computed.

    Args:
        api: the library.
        problem: what is computed.
        handle: of the library.

    Attributes:
        problem: what it is for.
        algorithms: what the library proposes, best first.
        chosen: which of them runs.
        workspace: bytes that it wants.
        measured: whether ``algorithms`` are in the order of measured times.

    Raises:
        RuntimeError: CudnnError: the library refuses the problem.
    """

    problem: ConvProblem
    chosen: int

    def __init__(self, api: c.CudnnApi, problem: ConvProblem, handle: int) -> None:
        self.problem, self.measured, self._api = problem, False, api
        number = c_double if problem.dtype == "float64" else c_float
        self._alpha, self._beta = number(1.0), number(0.0)
        self._name, self._roles = c.KINDS[problem.kind], _ROLES[problem.kind]
        self._function = api.functions[f"Convolution{self._name}"]
        self._desc = _window(api, problem)
        self._descs = {
            "x": c.images(api, problem.x, problem.data_format, problem.dtype),
            "weight": _filter(api, problem),
            "out": c.images(api, problem.out, problem.data_format, problem.dtype),
        }
        self.algorithms = self._usable(*self._asked(f"GetConvolution{self._name}Algorithm_v7", handle))
        self._handle = handle
        self.use(0)

    def use(self, k: int) -> None:
        """Run algorithm ``k`` from here on."""
        found = self.algorithms[k]
        self.chosen, size = k, c_size_t()
        self._api.call("SetConvolutionMathType", self._desc.address, self._math(found))
        first, second, third = self._operands()
        args = (first, second, self._desc.address, third, found.algorithm, byref(size))
        self._api.call(f"GetConvolution{self._name}WorkspaceSize", self._handle, *args)
        self.workspace: int = size.value

    def run(self, handle: int, x: int, weight: int, out: int, workspace: int, stream: int) -> None:
        """Launch it; returns before it is done. The head of this module says which tensor is written.

        Args:
            handle: of the library, of this thread and the current device.
            x, weight, out: addresses on the device.
            workspace: the address of ``self.workspace`` bytes, or more.
            stream: a cudaStream_t.

        Raises:
            RuntimeError: CudnnError: the library refuses or fails.
        """
        places = {"x": x, "weight": weight, "out": out}
        first, second, third = self._operands()
        p, q, r = (places[role] for role in self._roles)
        self._api.call("SetStream", handle, stream)
        status = self._function(
            handle, byref(self._alpha), first, p, second, q, self._desc.address, self.algorithms[self.chosen].algorithm,
            workspace, self.workspace, byref(self._beta), third, r,
        )  # fmt: skip
        if status:
            self._api.fail(f"Convolution{self._name}", status, self.problem)

    def measure(self, handle: int, allocate: Callable[[int], int], stream: int = 0) -> None:
        """Try every algorithm and use the fastest. Waits for the device; not to be captured in a graph.

        Args:
            handle: of the library, of this thread and the current device.
            allocate: gives the address of so many bytes, which may be used until this returns.
            stream: a cudaStream_t.

        Raises:
            RuntimeError: CudnnError: the library fails.
        """
        self._api.call("SetStream", handle, stream)
        shapes = [getattr(self.problem, role) for role in self._roles]
        places = [allocate(math.prod(shape) * _BYTES[self.problem.dtype]) for shape in shapes]
        room = max(found.workspace for found in self.algorithms)
        workspace = allocate(room) if room else 0
        try:
            asked = self._asked(f"FindConvolution{self._name}AlgorithmEx", handle, places, (workspace, room))
            self.algorithms = self._usable(*asked)
        except c.CudnnError as error:
            if not error.unsupported:
                raise
        self.measured = True  # or there is nothing to measure: the estimates stay
        self.use(0)

    def _operands(self) -> tuple[int, int, int]:
        first, second, third = (self._descs[role].address for role in self._roles)
        return first, second, third

    def _asked(
        self, function: str, handle: int, places: Iterable[int] | None = None, workspace: tuple[int, ...] = ()
    ) -> tuple[Any, int]:
        """What the library answers when it is asked for algorithms: an array, and how many entries count."""
        found, count = (c.ConvolutionHeuristic * _PROPOSALS)(), c_int()
        given: Iterable[tuple[int, ...]] = zip(self._operands())
        if places is not None:
            given = zip(self._operands(), places)
        first, second, third = given
        window = self._desc.address
        self._api.call("SetConvolutionMathType", window, _wanted_math(self.problem))
        answer = (_PROPOSALS, byref(count), found)
        self._api.call(function, handle, *first, *second, window, *third, *answer, *workspace)
        return found, count.value

    def _usable(self, found: Any, count: int) -> list[c.ConvolutionHeuristic]:
        """Those that run, want no more memory than there may be, and each once."""
        kept: dict[tuple[int, int], c.ConvolutionHeuristic] = {}
        for entry in found[:count]:
            fits = not entry.status and entry.workspace <= WORKSPACE_BYTES
            if fits and (entry.determinism == c.DETERMINISTIC or not self.problem.deterministic):
                copy = c.ConvolutionHeuristic.from_buffer_copy(entry)
                kept.setdefault((entry.algorithm, self._math(entry)), copy)
        if not kept:
            refused = found[0].status if count and found[0].status else c.NOT_SUPPORTED
            self._api.fail(f"GetConvolution{self._name}Algorithm_v7", refused, self.problem)
        return list(kept.values())

    def _math(self, found: c.ConvolutionHeuristic) -> int:
        """The kind of units for an algorithm. "highest" is a promise: never the tensor cores for float32."""
        exact = _wanted_math(self.problem) == c.FMA_MATH
        return c.FMA_MATH if exact else int(found.math)


def _wanted_math(problem: ConvProblem) -> int:
    if problem.dtype in ("float16", "bfloat16"):
        return c.TENSOR_OP_MATH
    exact = problem.dtype == "float32" and problem.precision == "highest"
    return c.FMA_MATH if exact else c.DEFAULT_MATH


def _window(api: c.CudnnApi, problem: ConvProblem) -> c.CudnnDescriptor:
    """How windows slide."""
    padding = problem.padding or (0, 0)
    summed = c.DTYPES["float64" if problem.dtype == "float64" else "float32"]
    numbers = (*padding, *problem.stride, *problem.dilation, c.CROSS_CORRELATION, summed)
    desc = c.CudnnDescriptor(api, "Convolution", *numbers)
    api.call("SetConvolutionGroupCount", desc.address, problem.groups)
    return desc


def _filter(api: c.CudnnApi, problem: ConvProblem) -> c.CudnnDescriptor:
    """How the weight lies."""
    layout = c.FORMATS[problem.data_format]
    return c.CudnnDescriptor(api, "Filter", c.DTYPES[problem.dtype], layout, *problem.weight)


# ---- plans ----

PLANS: PlanCache[ConvPlan] = PlanCache()


def plan(problem: ConvProblem, device: int = 0, allocate: Callable[[int], int] | None = None) -> ConvPlan | None:
    """How to compute a convolution; made once per problem and device, and measured at most once.

    Args:
        problem: what is computed.
        device: the number of the current device.
        allocate: gives the address of so many bytes for the time of this call; None: the library's estimates decide.

    Returns:
        The plan; None where there is no library, or it has no code for the problem.

    Raises:
        RuntimeError: CudnnError: the library fails (there is no device, no memory).
    """
    api = c.api()
    if api is None or not problem.supported:
        return None
    found = PLANS.get((problem, device), lambda: _made(api, problem, device))
    if found is not None and allocate is not None and not found.measured:
        found.measure(c.handle_of(device), allocate)
    return found


def _made(api: c.CudnnApi, problem: ConvProblem, device: int) -> ConvPlan | None:
    handle = c.handle_of(device)
    try:
        return ConvPlan(api, problem, handle)
    except c.CudnnError as error:
        if error.unsupported:
            return None
        raise
