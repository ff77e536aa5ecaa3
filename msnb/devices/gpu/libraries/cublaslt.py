"""Matrix products through cuBLASLt, with what follows them done in the same kernel.

    out = activation(alpha * a @ b + beta * out + bias)        bias: one number per column of out

    epilogue        out                          besides
    bias            a @ b + bias
    relu, gelu      relu(a @ b), gelu(a @ b)     ..._bias: of a @ b + bias
    gelu_aux        gelu(a @ b)                  aux = a @ b (_bias: + bias), as the gradient wants it
    dgelu           (a @ b) * gelu'(aux)         dgelu_bgrad: bias = sums of out over its rows
    bgrad           a @ b                        bias = sums of b over its rows, as a weight's gradient wants them

``plan`` turns a problem into descriptors (gemm_layout says how rows become columns) and asks the library which of its
algorithms fit; they are listed best first by its own estimate, and ``tune`` takes the one that is fastest by the clock.

Precision: float32 is multiplied as float32 unless the problem says "high", which rounds operands to TF32 (10 bits) for
the tensor cores. Two-byte floats are summed in float32, float64 in float64. ``gelu`` is the tanh formula.

The one workspace is the caller's: ``plan.workspace`` bytes, aligned to 256, not shared by products that may overlap.
Source: https://docs.nvidia.com/cuda/cublas/#cublasltmatmul
"""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Callable
from ctypes import byref, c_double, c_float, c_int, c_int32, c_int64, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from typing import Any

from msnb.base import DeviceError
from msnb.devices.gpu.libraries import cublaslt_api as c
from msnb.devices.gpu.libraries.gemm_layout import ColumnMatrix, Gemm, MatrixLayout, gemm
from msnb.devices.gpu.libraries.library_search import load
from msnb.devices.gpu.libraries.plan_cache import PlanCache

WORKSPACE_BYTES = 32 << 20  # what NVIDIA recommends for Hopper and later
_PROPOSALS = 8
_PRECISIONS = ("highest", "high")


@dataclass(frozen=True)
class MatmulProblem:
    """A product of two matrices, or of stacks of them.

    Attributes:
        a, b, out: how they lie.
        dtype: of a and b: "float32", "float64", "float16" or "bfloat16".
        batch: how many products.
        out_dtype: of out and bias; "" is that of a and b.
        precision: of float32: "highest" (as it is) or "high" (TF32).
        epilogue: one of the table at the head of this module.
        alpha, beta: factors of the product and of what out holds already.
        alignment: bytes that divide the addresses of a, b and out, and of the bias; more than 256 means nothing.
    """

    a: MatrixLayout
    b: MatrixLayout
    out: MatrixLayout
    dtype: str
    batch: int = 1
    out_dtype: str = ""
    precision: str = "highest"
    epilogue: str = "none"
    alpha: float = 1.0
    beta: float = 0.0
    alignment: int = 256

    @property
    def has_bias(self) -> bool:
        """Whether a bias is read or written."""
        return self.epilogue.endswith(("bias", "bgrad"))

    @property
    def has_aux(self) -> bool:
        """Whether ``aux`` is read or written, which lies as ``out`` does."""
        return "aux" in self.epilogue or "dgelu" in self.epilogue

    def __str__(self) -> str:
        sizes = f"[{self.a.rows},{self.a.cols}] @ [{self.b.rows},{self.b.cols}]"
        times = f" x {self.batch}" if self.batch > 1 else ""
        return f"{sizes}{times} in {self.dtype} ({self.precision}, epilogue {self.epilogue})"


class MatmulPlan:
    """How a product is computed.

    Args:
        api: the library.
        problem: what is computed; product: the same by columns.
        handle: of the library.

    Attributes:
        problem: what it is for.
        algorithms: what the library proposes, best first by its estimate.
        chosen: which of them runs.
        workspace: bytes that it wants.

    Raises:
        RuntimeError: CublasLtError: the library refuses the problem.
    """

    problem: MatmulProblem

    def __init__(self, api: c.CublasLtApi, problem: MatmulProblem, product: Gemm, handle: int) -> None:
        self.problem, self._api, self._swapped = problem, api, product.swapped
        number = c_double if problem.dtype == "float64" else c_float
        self._alpha, self._beta = number(problem.alpha), number(problem.beta)
        self._pointers = _pointers(problem)
        self._desc = _desc(api, problem, product)
        out_dtype = problem.out_dtype or problem.dtype
        operands = ((product.first, problem.dtype), (product.second, problem.dtype), (product.d, out_dtype))
        self._layouts = [_layout(api, matrix, dtype, problem.batch) for matrix, dtype in operands]
        self._lock = threading.Lock()
        self.algorithms: list[c.MatmulHeuristic] = _proposals(api, problem, handle, self._desc, self._layouts)
        self.use(0)

    def use(self, k: int) -> None:
        """Run algorithm ``k`` from here on."""
        self.chosen = k
        self._algorithm = self.algorithms[k]
        self.workspace: int = int(self._algorithm.workspace)
        self._args = self._bound()

    def _bound(self) -> tuple[Any, ...]:
        """Arguments that are the same in every run."""
        alpha, beta = byref(self._alpha), byref(self._beta)
        first, second, d = (layout.address for layout in self._layouts)
        return alpha, first, second, beta, d, byref(self._algorithm.algorithm), self.workspace

    def tune(self, seconds: Callable[[MatmulPlan], float]) -> None:
        """Use the algorithm that takes the least time.

        Args:
            seconds: runs the plan as it is now and says how long it took.
        """
        times = []
        for k in range(len(self.algorithms)):
            self.use(k)
            times.append(seconds(self))
        self.use(times.index(min(times)))

    def run(
        self, handle: int, a: int, b: int, out: int, bias: int, workspace: int, stream: int, aux: int = 0
    ) -> None:  # fmt: skip
        """Launch the product; returns before it is done.

        Args:
            handle: of the library, for the current device.
            a, b, out: addresses on the device.
            bias: its address, of which the epilogue reads or writes one number per column; 0 where it has none.
            workspace: the address of ``self.workspace`` bytes, or more.
            stream: a cudaStream_t.
            aux: its address; 0 where the epilogue has none.

        Raises:
            RuntimeError: CublasLtError: the library refuses or fails.
        """
        if self._swapped:
            a, b = b, a
        if not self._pointers:
            self._launch(handle, a, b, out, workspace, stream)
            return
        with self._lock:  # these addresses are a part of the descriptor
            for pointer in self._pointers:
                self._desc.set(pointer, c_void_p(bias if pointer == c.BIAS_POINTER else aux))
            self._launch(handle, a, b, out, workspace, stream)

    def _launch(self, handle: int, a: int, b: int, out: int, workspace: int, stream: int) -> None:
        alpha, first, second, beta, d, algorithm, size = self._args
        status = self._api.matmul(
            handle, self._desc.address, alpha, a, first, b, second, beta, out, d, out, d,
            algorithm, workspace, size, stream,
        )  # fmt: skip
        if status:
            self._api.check("Matmul", status, self.problem)


def _desc(api: c.CublasLtApi, problem: MatmulProblem, product: Gemm) -> c.CublasLtObject:
    """What is computed."""
    wide = problem.dtype == "float64"
    fast = problem.dtype == "float32" and problem.precision == "high"
    compute = c.COMPUTE_64F if wide else c.COMPUTE_32F_FAST_TF32 if fast else c.COMPUTE_32F
    desc = c.CublasLtObject(api, "MatmulDesc", compute, c.DTYPES["float64" if wide else "float32"])
    desc.set(c.TRANSA, c_int32(product.first.transposed))
    desc.set(c.TRANSB, c_int32(product.second.transposed))
    desc.set(c.EPILOGUE, c_uint32(c.EPILOGUES[problem.epilogue]))
    for pointer in _pointers(problem):
        desc.set(pointer, c_void_p(_aligned(problem)))  # not read before a run: only its alignment counts
    if problem.has_aux:
        desc.set(c.AUX_LEADING, c_int64(product.d.leading))
        if problem.batch > 1:
            desc.set(c.AUX_BATCH_STRIDE, c_int64(product.d.batch_stride))
    return desc


def _pointers(problem: MatmulProblem) -> tuple[int, ...]:
    """Attributes that hold an address of the epilogue."""
    named = ((c.BIAS_POINTER, problem.has_bias), (c.AUX_POINTER, problem.has_aux))
    return tuple(pointer for pointer, there in named if there)


def _layout(api: c.CublasLtApi, matrix: ColumnMatrix, dtype: str, batch: int) -> c.CublasLtObject:
    """How one matrix lies."""
    layout = c.CublasLtObject(api, "MatrixLayout", c.DTYPES[dtype], matrix.rows, matrix.cols, matrix.leading)
    if batch > 1:
        layout.set(c.BATCH_COUNT, c_int32(batch))
        layout.set(c.STRIDED_BATCH_OFFSET, c_int64(matrix.batch_stride))
    return layout


def _proposals(
    api: c.CublasLtApi, problem: MatmulProblem, handle: int, desc: c.CublasLtObject, layouts: list[c.CublasLtObject]
) -> list[c.MatmulHeuristic]:
    """Algorithms for these descriptors, best first."""
    preference = c.CublasLtObject(api, "MatmulPreference")
    preference.set(c.MAX_WORKSPACE_BYTES, c_uint64(WORKSPACE_BYTES))
    for attribute in c.MIN_ALIGNMENT_BYTES:
        preference.set(attribute, c_uint32(_aligned(problem)))
    first, second, d = (layout.address for layout in layouts)
    found, count = (c.MatmulHeuristic * _PROPOSALS)(), c_int()
    args = (desc.address, first, second, d, d, preference.address, _PROPOSALS, found, byref(count))
    api.call("MatmulAlgoGetHeuristic", handle, *args)
    usable = [c.MatmulHeuristic.from_buffer_copy(h) for h in found[: count.value] if h.state == 0]
    api.check("MatmulAlgoGetHeuristic", 0 if usable else c.NOT_SUPPORTED, problem)
    return usable


def _aligned(problem: MatmulProblem) -> int:
    return min(problem.alignment, 256)


PLANS: PlanCache[MatmulPlan] = PlanCache()


def missing() -> str:
    """Why cuBLASLt cannot be used; "" where it can."""
    return load("cublasLt").reason


@functools.cache
def handle_of(device: int = 0) -> int:
    """The library's handle for a device, which must be the current one. Handles are never given back.

    Args:
        device: its number.

    Returns:
        The handle; any thread may use it.

    Raises:
        RuntimeError: DeviceError: there is no library, or no device.
    """
    api = c.api()
    if api is None:
        raise DeviceError(f"cuBLASLt cannot be used: {missing()}.")
    return api.create("Create")


def plan(problem: MatmulProblem, device: int = 0) -> MatmulPlan | None:
    """How to compute a product; made once per problem and device.

    Args:
        problem: what is computed.
        device: the number of the current device.

    Returns:
        The plan; None where there is no library, or it has no code for the problem.

    Raises:
        RuntimeError: CublasLtError: the library fails (there is no device, no memory).
    """
    api = c.api()
    product = gemm(problem.a, problem.b, problem.out, by_columns=problem.has_bias)
    if api is None or product is None or not _known(problem):
        return None
    return PLANS.get((problem, device), lambda: _made(api, problem, product, device))


def _known(problem: MatmulProblem) -> bool:
    """Whether dtypes and the epilogue are some that we have names for. Sums over a whole batch have none, and the gelu
    of float64 has ten digits."""
    out_dtype = problem.out_dtype or problem.dtype
    dtypes = problem.dtype in c.DTYPES and out_dtype in c.DTYPES
    summed = problem.epilogue.endswith("bgrad") and problem.batch > 1
    named = problem.epilogue in c.EPILOGUES and problem.precision in _PRECISIONS
    rough = "gelu" in problem.epilogue and problem.dtype == "float64"
    return dtypes and named and problem.batch > 0 and not summed and not rough


def _made(api: c.CublasLtApi, problem: MatmulProblem, product: Gemm, device: int) -> MatmulPlan | None:
    handle = handle_of(device)
    try:
        return MatmulPlan(api, problem, product, handle)
    except c.CublasLtError as error:
        if error.status in c.UNSUPPORTED:
            return None
        raise


def library_version() -> int:
    """As the library says it: 130100 is 13.1.0. 0 without one."""
    api = c.api()
    return 0 if api is None else api.version


assert ctypes.sizeof(c.MatmulHeuristic) == 96, "cublasLtMatmulHeuristicResult_t has 96 bytes"
