"""What plans tell NVIDIA's libraries, written down by a library that only listens."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

from msnb.base.errors import DeviceError
from msnb.devices.gpu.libraries import cublaslt, cublaslt_api, cudnn, cudnn_api
from msnb.devices.gpu.libraries.gemm_layout import MatrixLayout


class Function:
    """A C function that writes down its arguments; ``answer`` fills what it points to and gives the status."""

    restype: Any = None
    argtypes: Any = None

    def __init__(self, library: Listener, name: str) -> None:
        self.library, self.name = library, name

    def __call__(self, *args: Any) -> Any:
        self.library.calls.append((self.name, args))
        return self.library.answer(self.name, args)


class Listener:
    """A shared library with every function that is asked for.

    Args:
        status: what a launch answers.
    """

    def __init__(self, status: int = 0) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self.status, self.made = status, 0
        self.proposed: list[dict[str, int]] = [{"algorithm": 1, "workspace": 64}, {"algorithm": 4, "workspace": 0}]

    def __getattr__(self, name: str) -> Any:
        found = Function(self, name)
        setattr(self, name, found)
        return found

    def answer(self, name: str, args: tuple[Any, ...]) -> Any:
        if "Create" in name:
            self.made += 1
            args[0]._obj.value = self.made
        elif name.endswith("LastErrorString"):
            args[0].value = b"and why"
        elif name.endswith(("StatusString", "ErrorString")):
            return b"THE_STATUS"
        elif name.endswith("Version"):
            return 130100
        elif "GetHeuristic" in name or "Algorithm" in name:
            self.propose(args)
        elif name.endswith("WorkspaceSize"):
            args[-1]._obj.value = 100 + args[-2]
        elif name in ("cublasLtMatmul", "cudnnConvolutionForward"):
            return self.status
        return 0

    def propose(self, args: tuple[Any, ...]) -> None:
        array = next(a for a in args if isinstance(a, ctypes.Array))
        count = next(a for a in args if isinstance(getattr(a, "_obj", None), ctypes.c_int))
        count._obj.value = len(self.proposed)
        for entry, wanted in zip(array, self.proposed):
            for field, value in wanted.items():
                if field == "algorithm" and not isinstance(entry.algorithm, int):
                    entry.algorithm[0] = value
                else:
                    setattr(entry, field, value)

    def of(self, name: str) -> list[tuple[Any, ...]]:
        """Arguments of every call of a function."""
        return [args for called, args in self.calls if called == name]


@pytest.fixture
def lt(monkeypatch: pytest.MonkeyPatch) -> Any:
    library = Listener()
    found = cublaslt_api.CublasLtApi(library)
    monkeypatch.setattr(cublaslt_api, "api", lambda: found)
    yield from _fresh(library)


@pytest.fixture
def dnn(monkeypatch: pytest.MonkeyPatch) -> Any:
    library = Listener()
    found = cudnn_api.CudnnApi(library)
    monkeypatch.setattr(cudnn_api, "api", lambda: found)
    yield from _fresh(library)


def _fresh(library: Listener) -> Any:
    def forget() -> None:
        cublaslt.handle_of.cache_clear()
        cudnn_api.thread_handle.cache_clear()
        for plans in (cublaslt.PLANS, cudnn.PLANS):
            plans.clear()

    forget()
    yield library
    forget()


# ---- products ----------------------------------------------------------------------------------------------------


def problem(**changes: Any) -> cublaslt.MatmulProblem:
    sizes = ((3, 4), (4, 5), (3, 5))
    a, b, out = (MatrixLayout(r, c, c, 1, 7 * r * c) for r, c in sizes)
    return cublaslt.MatmulProblem(**{"a": a, "b": b, "out": out, "dtype": "float32", **changes})


def number(argument: Any) -> Any:
    return argument._obj.value


def test_a_product_by_rows_swaps_its_operands_and_carries_its_bias(lt: Listener) -> None:
    plan = cublaslt.plan(problem(epilogue="bias", alpha=2.0, beta=3.0, batch=6))
    assert plan is not None
    plan.run(9, 1000, 2000, 3000, 4000, 5000, 6000)
    (args,) = lt.of("cublasLtMatmul")
    handle, _, alpha, first, _, second, _, beta, c, _, d, _, _, workspace, size, stream = args
    assert (handle, first, second, c, d, workspace, size, stream) == (9, 2000, 1000, 3000, 3000, 5000, 64, 6000)
    assert (number(alpha), number(beta)) == (2.0, 3.0)
    pointers = [number(v) for _, what, v, _ in lt.of("cublasLtMatmulDescSetAttribute") if what == 8]
    assert pointers == [256, 4000]  # an alignment while it is planned, then the bias


def test_an_epilogue_with_aux_and_bias_is_told_both_addresses(lt: Listener) -> None:
    plan = cublaslt.plan(problem(epilogue="gelu_aux_bias", batch=6))
    assert plan is not None
    plan.run(9, 1000, 2000, 3000, 4000, 5000, 6000, aux=7000)
    told = [(what, number(v)) for _, what, v, _ in lt.of("cublasLtMatmulDescSetAttribute")]
    assert told[2:] == [(7, 164), (8, 256), (11, 256), (12, 5), (13, 105), (8, 4000), (11, 7000)]


def test_sums_over_a_batch_have_no_plan(lt: Listener) -> None:
    assert cublaslt.plan(problem(epilogue="bgrad", batch=6)) is None
    assert cublaslt.plan(problem(epilogue="bgrad")) is not None


def test_layouts_are_told_by_columns(lt: Listener) -> None:
    cublaslt.plan(problem(batch=6))
    assert [args[1:] for args in lt.of("cublasLtMatrixLayoutCreate")] == [(0, 5, 4, 5), (0, 4, 3, 4), (0, 5, 3, 5)]
    told = [(what, number(v)) for _, what, v, _ in lt.of("cublasLtMatrixLayoutSetAttribute")]
    assert told == [(5, 6), (6, 140), (5, 6), (6, 84), (5, 6), (6, 105)]


@pytest.mark.parametrize(
    ("dtype", "precision", "expected"),
    [
        ("float32", "highest", (68, 0)),
        ("float32", "high", (77, 0)),
        ("float16", "high", (68, 0)),
        ("bfloat16", "highest", (68, 0)),
        ("float64", "highest", (70, 1)),
    ],
)
def test_only_float32_that_gives_it_up_is_rounded(lt: Listener, dtype: str, precision: str, expected: Any) -> None:
    cublaslt.plan(problem(dtype=dtype, precision=precision))
    assert [args[1:] for args in lt.of("cublasLtMatmulDescCreate")] == [expected]


def test_tuning_keeps_the_fastest(lt: Listener) -> None:
    plan = cublaslt.plan(problem())
    assert plan is not None and (plan.chosen, plan.workspace) == (0, 64)
    times = iter((2.0, 1.0))
    plan.tune(lambda found: next(times))
    assert (plan.chosen, plan.workspace) == (1, 0)
    plan.run(9, 1, 2, 3, 0, 0, 0)
    assert lt.of("cublasLtMatmul")[0][-2] == 0


def test_a_plan_is_made_once_and_frees_what_it_made(lt: Listener) -> None:
    assert cublaslt.plan(problem()) is cublaslt.plan(problem())
    assert lt.made == 6  # handle, desc, three layouts, preference
    cublaslt.PLANS.clear()
    freed = [name for name, _ in lt.calls if name.endswith("Destroy")]
    assert sorted(freed) == sorted(["cublasLtMatmulPreferenceDestroy", "cublasLtMatmulDescDestroy"]
                                   + ["cublasLtMatrixLayoutDestroy"] * 3)  # fmt: skip


def test_no_proposal_is_no_plan(lt: Listener) -> None:
    lt.proposed = []
    assert cublaslt.plan(problem()) is None


def test_a_failing_product_names_the_status_and_the_problem(lt: Listener) -> None:
    plan = cublaslt.plan(problem(batch=6))
    lt.status = 13
    said = r"cublasLtMatmul answered THE_STATUS \(13\) for \[3,4\] @ \[4,5\] x 6 in float32"
    assert plan is not None
    with pytest.raises(DeviceError, match=said):
        plan.run(9, 1, 2, 3, 0, 0, 0)


# ---- convolutions ------------------------------------------------------------------------------------------------


def convolution(**changes: Any) -> cudnn.ConvProblem:
    given: dict[str, Any] = {"kind": "forward", "x": (2, 3, 8, 9), "weight": (4, 3, 3, 3), "out": (2, 4, 6, 7)}
    return cudnn.ConvProblem(**{**given, **changes})


PLACES = {"x": 1000, "weight": 2000, "out": 3000}


@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [
        ("forward", "Forward", ("x", "weight", "out")),
        ("input_grad", "BackwardData", ("weight", "out", "x")),
        ("weight_grad", "BackwardFilter", ("x", "out", "weight")),
    ],
)
def test_each_kind_reads_and_writes_its_places(dnn: Listener, kind: str, name: str, expected: Any) -> None:
    plan = cudnn.plan(convolution(kind=kind))
    assert plan is not None
    plan.run(9, **PLACES, workspace=5000, stream=6000)
    (args,) = dnn.of(f"cudnnConvolution{name}")
    descs = {role: plan._descs[role].address for role in PLACES}
    first, second, third = ((descs[role], PLACES[role]) for role in expected)
    assert args[0] == 9 and args[2:6] == (*first, *second) and args[11:] == third
    assert args[7:10] == (1, 5000, 101)  # the algorithm, its workspace, as asked for
    assert dnn.of("cudnnSetStream") == [(9, 6000)]


def test_channels_last_is_said_of_images_and_filters(dnn: Listener) -> None:
    cudnn.plan(
        convolution(x=(2, 8, 9, 3), out=(2, 6, 7, 4), data_format="NHWC", weight_layout="OHWI", dtype="bfloat16")
    )
    assert [args[1:] for args in dnn.of("cudnnSetTensor4dDescriptor")] == [(1, 9, 2, 3, 8, 9), (1, 9, 2, 4, 6, 7)]
    assert [args[1:] for args in dnn.of("cudnnSetFilter4dDescriptor")] == [(9, 1, 4, 3, 3, 3)]


def test_windows_are_said_in_cudnns_order(dnn: Listener) -> None:
    cudnn.plan(convolution(stride=(1, 2), pads=(1, 1, 2, 2), dilation=(2, 1), out=(2, 4, 6, 6)))
    assert [args[1:] for args in dnn.of("cudnnSetConvolution2dDescriptor")] == [(1, 2, 1, 2, 2, 1, 1, 0)]


def test_float32_never_meets_the_tensor_cores_whatever_is_proposed(dnn: Listener) -> None:
    dnn.proposed = [{"algorithm": 1, "math": 1}, {"algorithm": 1, "math": 0}, {"algorithm": 2, "math": 0}]
    plan = cudnn.plan(convolution())
    assert plan is not None and [found.algorithm for found in plan.algorithms] == [1, 2]
    assert {args[1] for args in dnn.of("cudnnSetConvolutionMathType")} == {cudnn_api.FMA_MATH}
    plan = cudnn.plan(convolution(precision="high"))
    assert plan is not None and [found.math for found in plan.algorithms] == [1, 0, 0]


def test_what_is_proposed_must_run_fit_and_be_deterministic_if_asked(dnn: Listener) -> None:
    dnn.proposed = [
        {"algorithm": 1, "status": 3000},
        {"algorithm": 2, "workspace": cudnn.WORKSPACE_BYTES + 1},
        {"algorithm": 3, "determinism": 0},
        {"algorithm": 4, "determinism": 1},
    ]
    plans = [cudnn.plan(convolution(deterministic=asked)) for asked in (False, True)]
    assert [[f.algorithm for f in plan.algorithms] for plan in plans if plan] == [[3, 4], [4]]
    dnn.proposed = dnn.proposed[:1]
    assert cudnn.plan(convolution(groups=1, dtype="float16")) is None


def test_measuring_is_done_once_on_memory_of_the_caller(dnn: Listener) -> None:
    asked: list[int] = []

    def allocate(size: int) -> int:
        asked.append(size)
        return 100 * len(asked)

    plan = cudnn.plan(convolution())
    assert cudnn.plan(convolution(), allocate=allocate) is plan
    assert cudnn.plan(convolution(), allocate=allocate) is plan
    assert asked == [4 * 2 * 3 * 8 * 9, 4 * 4 * 27, 4 * 2 * 4 * 6 * 7, 64]
    (args,) = dnn.of("cudnnFindConvolutionForwardAlgorithmEx")
    assert args[2] == 100 and args[4] == 200 and args[7] == 300 and args[-2:] == (400, 64)
    assert plan is not None and plan.measured


def test_a_failing_convolution_names_the_status_and_the_problem(dnn: Listener) -> None:
    plan = cudnn.plan(convolution())
    dnn.status = 4000
    assert plan is not None
    said = (
        r"cudnnConvolutionForward answered THE_STATUS, and why \(4000\) for the convolution's forward, x \[2, 3, 8, 9\]"
    )
    with pytest.raises(DeviceError, match=said):
        plan.run(9, **PLACES, workspace=0, stream=0)


def test_a_handle_belongs_to_a_device_and_a_thread(dnn: Listener) -> None:
    assert cudnn_api.handle_of(0) == cudnn_api.handle_of(0) != cudnn_api.handle_of(1)
    assert cudnn_api.thread_handle(0, 1) != cudnn_api.thread_handle(0, 2)
