"""Generated Fourier transforms against NumPy's in double precision: lengths, axes, layouts, both directions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops
from msnb.base.errors import AttributeValueError, ShapeError
from msnb.devices import cpu
from msnb.devices.cpu.kernels.fourier import fourier_recipe, tables
from msnb.devices.cpu.program.run.program_cache import LINKS

pytest.importorskip("llvmlite")
LENGTHS = [1, 2, 3, 4, 6, 7, 8, 11, 13, 16, 20, 26, 60, 63, 64, 100, 128, 210, 441, 1000, 1024, 2048]
LONG = [4096, 5000, 6006, 16384]
OTHERS = [17, 34, 97, 1009]  # prime factors that are left to NumPy
TOLERANCE = {np.dtype(np.complex64): 1e-6, np.dtype(np.complex128): 2e-15}


@pytest.fixture(autouse=True)
def native(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Native code for everything, however small."""
    monkeypatch.setattr(cpu, "_SMALL", 1)
    monkeypatch.setattr(fourier_recipe, "WORTH", 1)
    before = ms.get_context("jit_level")
    ms.set_context(jit_level="O1")
    yield
    ms.set_context(jit_level=before)


def numbers(*shape: int, dtype: Any = np.complex64) -> Any:
    rng = np.random.default_rng(sum(shape))
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)


def close(found: Any, wanted: Any, dtype: Any) -> None:
    found = found.asnumpy()
    assert found.shape == wanted.shape
    assert found.dtype.itemsize * (1 if found.dtype.kind == "c" else 2) == np.dtype(dtype).itemsize
    assert np.abs(found - wanted).max(initial=0) <= TOLERANCE[np.dtype(dtype)] * np.abs(wanted).max(initial=0)


def four(x: Any, axis: int, norm: str, way: Any = lambda f: f) -> None:
    """The transforms of complex numbers and of their real parts, forth and back."""
    z, n = x.astype(np.complex128), x.shape[axis]
    close(way(lambda t: ops.fft(t, None, axis, norm))(ms.Tensor(x)), np.fft.fft(z, axis=axis, norm=norm), x.dtype)
    close(way(lambda t: ops.ifft(t, None, axis, norm))(ms.Tensor(x)), np.fft.ifft(z, axis=axis, norm=norm), x.dtype)
    real = np.array(x.real)
    wanted = np.fft.rfft(real.astype(np.float64), axis=axis, norm=norm)
    close(way(lambda t: ops.rfft(t, None, axis, norm))(ms.Tensor(real)), wanted, x.dtype)
    for count in (2 * n - 1, 2 * n - 2)[: 2 if n > 1 else 1]:
        wanted = np.fft.irfft(z, count, axis=axis, norm=norm)
        close(way(lambda t, c=count: ops.irfft(t, c, axis, norm))(ms.Tensor(x)), wanted, x.dtype)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("n", LENGTHS + LONG + OTHERS)
def test_lines_that_lie_close(n: int, dtype: Any) -> None:
    for rows, norm in zip((1, 17, 40) if n < 2000 else (1, 19), ("backward", "ortho", "forward")):
        four(numbers(rows, n, dtype=dtype), -1, norm)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("n", [1, 2, 5, 12, 64, 97])
def test_lines_that_lie_side_by_side(n: int, dtype: Any) -> None:
    for outer, inner in ((1, 1), (3, 5), (2, 16), (1, 33)):
        four(numbers(outer, n, inner, dtype=dtype), -2, "ortho")
    four(numbers(n, 3, 7, dtype=dtype), 0, "backward")


@pytest.mark.parametrize("n", [12, 100, 1024])
def test_programs_give_the_same(n: int) -> None:
    four(numbers(20, n), -1, "backward", ms.jit)
    four(numbers(2, n, 6), 1, "forward", ms.jit)


def test_several_axes_and_operands_with_gaps() -> None:
    x = numbers(4, 24, 30)
    close(ops.fftn(ms.Tensor(x), dim=(0, -1)), np.fft.fftn(x.astype(complex), axes=(0, -1)), x.dtype)
    close(ops.irfft2(ops.rfft2(ms.Tensor(x.real.copy()))), x.real, x.dtype)
    gaps = ms.Tensor(x).swapaxes(1, 2)[:, ::2]
    close(ops.fft(gaps), np.fft.fft(x.astype(complex).swapaxes(1, 2)[:, ::2]), x.dtype)
    close(ops.rfft(ops.real(gaps), 64), np.fft.rfft(x.real.swapaxes(1, 2)[:, ::2].astype(float), 64), x.dtype)
    empty = ms.Tensor(np.zeros((0, 8), np.complex64))
    assert ops.fft(empty).shape == (0, 8) and ops.rfft(ops.real(empty)).shape == (0, 5)
    assert ops.irfft(empty).shape == (0, 14)


def test_a_line_is_its_own() -> None:
    x = numbers(20, 64)
    x[3, 5] = np.nan
    found = ops.fft(ms.Tensor(x)).asnumpy()
    assert np.isnan(found[3]).all() and np.isfinite(np.delete(found, 3, 0)).all()
    x[3, 5] = 1e30
    close(ops.fft(ms.Tensor(np.delete(x, 3, 0))), np.fft.fft(np.delete(x, 3, 0).astype(complex)), x.dtype)
    np.testing.assert_array_equal(np.delete(ops.fft(ms.Tensor(x)).asnumpy(), 3, 0), np.delete(found, 3, 0))


def test_threads_change_nothing() -> None:
    x, before = ms.Tensor(numbers(300, 256)), ms.get_context("runtime_num_threads")
    try:
        found = []
        for count in (1, 2):
            ms.set_context(runtime_num_threads=count)
            found.append([f(x).asnumpy() for f in (ops.fft, lambda t: ops.fft(t, None, 0), ops.irfft)])
        for one, two in zip(*found):
            np.testing.assert_array_equal(one, two)
    finally:
        ms.set_context(runtime_num_threads=before)


@pytest.mark.parametrize("n", [1, 2, 6, 7, 16])
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_gradients_are_the_adjoints(n: int, norm: str, mode: str) -> None:
    forth = np.fft.rfft(np.eye(n), axis=0, norm=norm)
    m = n // 2 + 1
    x, z = numbers(5, n, dtype=np.complex128).real.copy(), numbers(5, m, dtype=np.complex128)
    found = ms.vjp(lambda t: ops.rfft(t, norm=norm), ms.Tensor(x))[1](ms.Tensor(z))[0]
    np.testing.assert_allclose(found.asnumpy(), (z @ forth.conj()).real, rtol=1e-12, atol=1e-12)
    parts = [np.fft.irfft(unit * np.eye(m), n, axis=0, norm=norm) for unit in (1, 1j)]
    found = ms.vjp(lambda t: ops.irfft(t, n, norm=norm), ms.Tensor(z))[1](ms.Tensor(x))[0]
    np.testing.assert_allclose(found.asnumpy(), x @ parts[0] + 1j * (x @ parts[1]), rtol=1e-12, atol=1e-12)

    def loss(t: ms.Tensor) -> ms.Tensor:
        return (ops.abs(ops.irfft(ops.rfft(t, norm=norm) ** 2, n)) ** 2).sum()

    first = ms.grad(lambda t: (ms.grad(loss)(t) * ms.Tensor(x[0])).sum())
    step, at = 1e-6, ms.Tensor(x[1])
    rows = [ms.grad(loss)(ms.Tensor(x[1] + sign * step * x[0])).asnumpy() for sign in (1, -1)]
    wanted = (rows[0] - rows[1]) / (2 * step)
    np.testing.assert_allclose(first(at).asnumpy(), wanted, rtol=1e-5, atol=1e-5 * np.abs(wanted).max())


def test_gradients_of_real_transforms_stay_real() -> None:
    x = ms.Tensor(numbers(3, 32).real.copy())
    compiled = ms.jit(ms.grad(lambda t: ops.real(ops.rfft(t)).sum()))
    compiled(x)
    names = {node.op.name for _, node in compiled.versions[0].captured.graph.walk()}
    assert "real_idft" in names and "dft" not in names


def test_nothing_is_left_to_python() -> None:
    x = ms.Tensor(numbers(3, 32, 6))
    for fn in (ops.fft, lambda t: ops.ifft(t, None, 1), ops.rfft, ops.irfft):
        compiled = ms.jit(fn)
        compiled(ops.real(x) if fn is ops.rfft else x)
        assert compiled.versions[0].compiled.executable.host_steps == []


def test_lanes_are_lines() -> None:
    x = numbers(6, 12, 8)
    for fn in (lambda t: ops.fft(t, None, 0), ops.ifft, lambda t: ops.rfft(ops.real(t), None, 0), ops.irfft):
        lanes, lines = ms.vmap(fn)(ms.Tensor(x)).asnumpy(), np.stack([fn(ms.Tensor(row)).asnumpy() for row in x])
        np.testing.assert_allclose(lanes, lines, rtol=1e-4, atol=1e-5)


def test_tables_can_be_made_again() -> None:
    for kind in tables.KINDS:
        table = tables.RootTable(kind, 64, ms.float32)
        name, *about = table.data()
        assert LINKS[name](*about).words() == table.words()
    assert set(tables.roots(np.arange(8), 8)[::2]) == {1, -1j, -1, 1j}


def test_what_is_refused(mode: str) -> None:
    x = ms.Tensor(numbers(2, 4))
    with pytest.raises(AttributeValueError, match="from 1, got 0"):
        ops.irfft(x, 0)
    with pytest.raises(AttributeValueError, match="'backward', 'ortho' or 'forward'"):
        ops.rfft(ops.real(x), norm="both")
    with pytest.raises(AttributeValueError, match="from 1, got 0"):
        ops.fft(ms.Tensor(np.zeros((2, 0), np.complex64)))
    with pytest.raises(ShapeError, match="at least one axis"):
        ops.rfft(ms.Tensor(1.0))
