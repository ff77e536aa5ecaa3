"""Plans for NVIDIA's libraries as far as they can be held without a GPU: layouts, searches, caches."""

from __future__ import annotations

import gc
import itertools
import sys
import weakref
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from msnb.devices.gpu.libraries import cublaslt, cublaslt_api, cudnn, cudnn_api, library_search
from msnb.devices.gpu.libraries.gemm_layout import ColumnMatrix, MatrixLayout, folded, gemm
from msnb.devices.gpu.libraries.plan_cache import PlanCache

ORDERS = ("rows", "columns")
SIZES = ((3, 4, 5), (1, 4, 5), (3, 1, 5), (3, 4, 1), (1, 1, 5), (1, 4, 1), (3, 1, 1), (1, 1, 1))


def layout(rows: int, cols: int, order: str, gap: int = 0, batch_stride: int = 0) -> MatrixLayout:
    """A matrix by rows or by columns, with ``gap`` unused elements behind each."""
    if order == "rows":
        return MatrixLayout(rows, cols, cols + gap, 1, batch_stride)
    return MatrixLayout(rows, cols, 1, rows + gap, batch_stride)


def seen(memory: Any, m: MatrixLayout) -> Any:
    """The matrix that a layout sees in memory."""
    size = memory.itemsize
    return np.lib.stride_tricks.as_strided(memory, (m.rows, m.cols), (m.row_stride * size, m.col_stride * size))


def by_columns(memory: Any, m: ColumnMatrix) -> Any:
    """What a column-major library sees in memory."""
    assert m.leading >= m.rows
    size = memory.itemsize
    return np.lib.stride_tricks.as_strided(memory, (m.rows, m.cols), (size, m.leading * size))


def emulated(a: Any, b: Any, out: Any, layouts: Any, bias: Any = None) -> None:
    """A column-major gemm over three flat memories, as the library would do it."""
    product = gemm(*layouts, by_columns=bias is not None)
    assert product is not None
    first, second = (b, a) if product.swapped else (a, b)
    x, y = by_columns(first, product.first), by_columns(second, product.second)
    d = by_columns(out, product.d)
    d[:] = (x.T if product.first.transposed else x) @ (y.T if product.second.transposed else y)
    if bias is not None:
        d += bias[:, None]


@pytest.mark.parametrize("gap", [0, 3])
@pytest.mark.parametrize("sizes", SIZES)
def test_a_product_of_any_layouts_is_one_of_columns(sizes: tuple[int, int, int], gap: int) -> None:
    m, k, n = sizes
    rng = np.random.default_rng(m * 100 + k * 10 + n)
    for orders in itertools.product(ORDERS, repeat=3):
        layouts = [layout(*s, order, gap) for s, order in zip(((m, k), (k, n), (m, n)), orders)]
        a, b, out = rng.standard_normal(100), rng.standard_normal(100), np.full(100, 7.0)
        emulated(a, b, out, layouts)
        np.testing.assert_allclose(seen(out, layouts[2]), seen(a, layouts[0]) @ seen(b, layouts[1]))
        assert (out != 7.0).sum() == m * n  # nothing else was written


@pytest.mark.parametrize("sizes", SIZES)
def test_a_bias_per_column_is_one_per_row_of_what_the_library_sees(sizes: tuple[int, int, int]) -> None:
    m, k, n = sizes
    rng = np.random.default_rng(1)
    for orders in itertools.product(ORDERS, repeat=2):
        layouts = [layout(m, k, orders[0]), layout(k, n, orders[1]), layout(m, n, "rows")]
        a, b, out, bias = rng.standard_normal(100), rng.standard_normal(100), np.zeros(100), rng.standard_normal(n)
        emulated(a, b, out, layouts, bias)
        np.testing.assert_allclose(seen(out, layouts[2]), seen(a, layouts[0]) @ seen(b, layouts[1]) + bias)


def test_a_result_in_columns_takes_no_bias_per_column() -> None:
    layouts = layout(3, 4, "rows"), layout(4, 5, "rows"), layout(3, 5, "columns")
    assert gemm(*layouts) is not None
    assert gemm(*layouts, by_columns=True) is None


@pytest.mark.parametrize(
    ("a", "b", "out"),
    [
        (MatrixLayout(3, 4, 8, 2), layout(4, 5, "rows"), layout(3, 5, "rows")),  # no stride of 1
        (MatrixLayout(3, 4, 2, 1), layout(4, 5, "rows"), layout(3, 5, "rows")),  # rows overlap
        (layout(3, 4, "rows"), layout(4, 5, "rows"), MatrixLayout(3, 5, 10, 2)),
        (layout(3, 4, "rows"), layout(3, 5, "rows"), layout(3, 5, "rows")),  # sizes do not fit
        (layout(3, 4, "rows"), layout(4, 5, "rows"), layout(5, 3, "rows")),
        (layout(0, 4, "rows"), layout(4, 5, "rows"), layout(0, 5, "rows")),
        (layout(3, 0, "rows"), layout(0, 5, "rows"), layout(3, 5, "rows")),
    ],
)
def test_what_no_library_can_see_is_none(a: MatrixLayout, b: MatrixLayout, out: MatrixLayout) -> None:
    assert gemm(a, b, out) is None


def test_a_strided_vector_is_a_matrix_with_a_leading_dimension() -> None:
    a, b, out = MatrixLayout(1, 4, 99, 3), MatrixLayout(4, 2, 2, 1), MatrixLayout(1, 2, 2, 1)
    memory, other, result = np.arange(12.0), np.arange(8.0), np.zeros(2)
    emulated(memory, other, result, (a, b, out))
    np.testing.assert_allclose(result, memory[::3] @ other.reshape(4, 2))


# ---- batches -----------------------------------------------------------------------------------------------------


def test_a_batch_over_one_weight_is_one_tall_product() -> None:
    a, b, out = layout(3, 4, "rows", 1, 15), layout(4, 5, "columns"), layout(3, 5, "rows", 0, 15)
    got = folded(a, b, out, 6)
    assert got == (layout(18, 4, "rows", 1), b, layout(18, 5, "rows"), 1)


def test_vectors_of_a_batch_become_rows() -> None:
    a, b, out = MatrixLayout(1, 4, 4, 1, 9), layout(4, 5, "rows"), MatrixLayout(1, 5, 5, 1, 5)
    assert folded(a, b, out, 6) == (MatrixLayout(6, 4, 9, 1), b, MatrixLayout(6, 5, 5, 1), 1)


@pytest.mark.parametrize("which", ["a gap", "columns", "weights differ", "a repeats"])
def test_other_batches_stay(which: str) -> None:
    a, b, out = layout(3, 4, "rows", 0, 12), layout(4, 5, "rows"), layout(3, 5, "rows", 0, 15)
    a = {"a gap": replace(a, batch_stride=13), "columns": layout(3, 4, "columns", 0, 12),
         "a repeats": replace(a, batch_stride=0)}.get(which, a)  # fmt: skip
    b = replace(b, batch_stride=20) if which == "weights differ" else b
    assert folded(a, b, out, 6) == (a, b, out, 6)


# ---- the search for libraries ------------------------------------------------------------------------------------


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A machine without NVIDIA's libraries."""

    def refuse(name: str, mode: int = 0) -> Any:
        raise OSError(f"{name}: no such file")

    monkeypatch.setattr(library_search.ctypes, "CDLL", refuse)
    forget()
    yield monkeypatch
    monkeypatch.undo()
    forget()


def forget() -> None:
    """Look for libraries again."""
    apis = (cublaslt_api.api, cudnn_api.api)
    searches = (library_search.load, library_search.wheel_folders, library_search.toolkit_folders)
    for search in (*searches, *apis, cublaslt.handle_of, cudnn_api.thread_handle):
        search.cache_clear()
    for plans in (cublaslt.PLANS, cudnn.PLANS):
        plans.clear()


@pytest.mark.parametrize("name", sorted(library_search.LIBRARIES))
def test_a_missing_library_is_none_with_a_reason(nowhere: Any, name: str) -> None:
    found = library_search.load(name)
    assert found.library is None
    assert library_search.LIBRARIES[name][0] in found.reason and "pip install nvidia-" in found.reason


def test_a_file_that_does_not_load_is_named(nowhere: Any, tmp_path: Path) -> None:
    (tmp_path / "libcudnn.so.9").write_bytes(b"not a library")
    nowhere.setattr(library_search, "_SYSTEM", (str(tmp_path),))
    forget()
    assert f"{tmp_path}/libcudnn.so.9 cannot be loaded" in library_search.load("cudnn").reason


def test_wheels_come_before_the_system_and_that_before_toolkits(nowhere: Any, tmp_path: Path) -> None:
    made = [tmp_path / part for part in ("nvidia/cudnn/lib", "cuda/lib64", "cuda-13/lib64", "cuda-12/lib64")]
    for folder in made:
        folder.mkdir(parents=True)
        (folder / "libcudnn.so.9").write_bytes(b"")
    tried: list[str] = []

    def refuse(name: str, mode: int = 0) -> Any:
        tried.append(name)
        raise OSError("no")

    nowhere.setattr(library_search.ctypes, "CDLL", refuse)
    nowhere.syspath_prepend(str(tmp_path))
    nowhere.delitem(sys.modules, "nvidia", raising=False)
    nowhere.setattr(library_search, "_SYSTEM", (str(tmp_path / "cuda-*/lib64"),))
    nowhere.setenv("CUDA_HOME", str(tmp_path / "cuda"))
    forget()
    assert library_search.load("cudnn").library is None
    name = "libcudnn.so.9"
    assert tried == [name, str(made[0] / name), name, *[str(folder / name) for folder in made[1:]]]


def test_the_first_that_loads_is_taken(nowhere: Any) -> None:
    nowhere.setattr(library_search.ctypes, "CDLL", lambda name, mode=0: name)
    forget()
    assert library_search.load("cublasLt") == ("libcublasLt.so.13", "")


def problem(**changes: Any) -> cublaslt.MatmulProblem:
    given: dict[str, Any] = {"a": layout(3, 4, "rows"), "b": layout(4, 5, "rows"), "out": layout(3, 5, "rows")}
    return cublaslt.MatmulProblem(**{**given, "dtype": "float32", **changes})


def test_without_the_library_there_is_no_plan(nowhere: Any) -> None:
    assert cublaslt.plan(problem()) is None
    assert "libcublasLt.so.13" in cublaslt.missing()
    with pytest.raises(Exception, match="cuBLASLt cannot be used: libcublasLt"):
        cublaslt.handle_of()


@pytest.mark.parametrize(
    "changes",
    [{"dtype": "int32"}, {"out_dtype": "int8"}, {"epilogue": "selu"}, {"precision": "low"}, {"batch": 0}],
)
def test_what_the_library_has_no_name_for_has_no_plan(monkeypatch: pytest.MonkeyPatch, changes: Any) -> None:
    monkeypatch.setattr(cublaslt_api, "api", lambda: object())
    monkeypatch.setattr(cublaslt, "_made", lambda *args: pytest.fail("the library was asked"))
    assert cublaslt.plan(problem(**changes)) is None


# ---- convolutions ------------------------------------------------------------------------------------------------


def convolution(**changes: Any) -> cudnn.ConvProblem:
    given: dict[str, Any] = {"kind": "forward", "x": (2, 3, 8, 9), "weight": (4, 3, 3, 3), "out": (2, 4, 6, 7)}
    return cudnn.ConvProblem(**{**given, **changes})


@pytest.mark.parametrize(
    ("pads", "stride", "out", "expected"),
    [
        ((0, 0, 0, 0), (1, 1), (6, 7), (0, 0)),
        ((1, 1, 2, 2), (1, 1), (8, 11), (1, 2)),
        ((1, 0, 1, 0), (1, 1), (7, 8), None),  # a window less than with padding on both sides
        ((0, 1, 0, 1), (1, 1), (7, 8), None),
        ((1, 0, 1, 1), (2, 2), (4, 5), (1, 1)),  # the row after would not give another window
        ((0, 1, 1, 1), (2, 2), (4, 5), None),
    ],
)
def test_padding_after_an_axis_only_counts_windows(pads: Any, stride: Any, out: Any, expected: Any) -> None:
    found = convolution(pads=pads, stride=stride, out=(2, 4, *out))
    assert found.padding == expected
    assert found.supported == (expected is not None)
    last = convolution(
        x=(2, 8, 9, 3), out=(2, *out, 4), pads=pads, stride=stride, data_format="NHWC", weight_layout="OHWI"
    )
    assert last.padding == expected


def test_holes_of_a_kernel_count_as_its_reach() -> None:
    assert convolution(dilation=(2, 1), out=(2, 4, 4, 7)).padding == (0, 0)


@pytest.mark.parametrize(
    "changes",
    [
        {"pads": (0, 1, 0, 0), "out": (2, 4, 7, 7)},
        {"kind": "sideways"},
        {"weight_layout": "OHWI"},
        {"data_format": "NHWC", "x": (2, 8, 9, 3), "out": (2, 6, 7, 4)},
        {"dtype": "int8"},
        {"precision": "low"},
        {"x": (0, 3, 8, 9), "out": (0, 4, 6, 7)},
        {"out": (2, 4, 5, 7)},
    ],
)
def test_a_convolution_that_cudnn_has_no_words_for_has_no_plan(monkeypatch: pytest.MonkeyPatch, changes: Any) -> None:
    monkeypatch.setattr(cudnn_api, "api", lambda: object())
    monkeypatch.setattr(cudnn, "_made", lambda *args: pytest.fail("the library was asked"))
    assert cudnn.plan(convolution(**changes)) is None


def test_a_float32_promise_holds_whatever_the_library_proposes() -> None:
    wanted = [cudnn._wanted_math(convolution(dtype=d, precision=p)) for d, p in (
        ("float32", "highest"), ("float32", "high"), ("float16", "highest"), ("float64", "highest"))]  # fmt: skip
    assert wanted == [cudnn_api.FMA_MATH, cudnn_api.DEFAULT_MATH, cudnn_api.TENSOR_OP_MATH, cudnn_api.DEFAULT_MATH]


def test_without_cudnn_there_is_no_plan(nowhere: Any) -> None:
    assert cudnn.plan(convolution()) is None
    with pytest.raises(Exception, match="cuDNN cannot be used: libcudnn.so.9"):
        cudnn_api.handle_of()


# ---- the cache ---------------------------------------------------------------------------------------------------


class Held:
    """Something that a plan would hold."""


def test_plans_are_made_once_and_a_none_is_remembered() -> None:
    cache: PlanCache[Held] = PlanCache()
    made: list[int] = []
    first = cache.get("a", lambda: made.append(1) or Held())
    assert cache.get("a", lambda: pytest.fail("made again")) is first
    assert cache.get("b", lambda: None) is None
    assert cache.get("b", lambda: pytest.fail("asked again")) is None
    assert made == [1]


def test_the_cache_is_bounded_and_frees_what_was_not_used() -> None:
    cache: PlanCache[Held] = PlanCache(bound=2)
    old, kept = (weakref.ref(cache.get(k, Held)) for k in ("old", "kept"))
    cache.get("kept", Held)
    cache.get("new", Held)
    gc.collect()
    assert len(cache) == 2 and old() is None and kept() is not None


def test_a_failure_is_not_kept() -> None:
    cache: PlanCache[Held] = PlanCache()

    def fail() -> Held:
        raise RuntimeError("no device")

    with pytest.raises(RuntimeError):
        cache.get("a", fail)
    assert isinstance(cache.get("a", Held), Held)
