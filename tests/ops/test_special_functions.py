"""Special functions and Fourier transforms against SciPy's and NumPy's, in both modes; what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb.base.errors import AttributeValueError, DTypeError, GradientError, ShapeError

special = pytest.importorskip("scipy.special")
SEED = 20
BESSEL = ("i0", "i0e", "i1", "i1e", "j0", "j1", "k0", "k0e", "k1", "k1e", "y0", "y1")


def random(low: float, high: float, count: int = 200) -> Any:
    print("seed", SEED)
    return np.random.default_rng(SEED).uniform(low, high, count)


def both(fn: Any, *args: Any) -> Any:
    """The eager result, after that of a compiled call was found to be the same."""
    given = [ms.Tensor(a) for a in args]
    eager, graph = fn(*given).asnumpy(), ms.jit(fn)(*given).asnumpy()
    np.testing.assert_allclose(graph, eager, rtol=1e-12, atol=1e-300)
    return eager


@pytest.mark.parametrize("name", BESSEL)
def test_bessel_functions_are_scipys(name: str) -> None:
    x = np.concatenate([random(1e-4, 60), [1e-12, 1.0, 5.0, 30.0, 500.0]])
    x = np.concatenate([x, -x]) if name[0] in "ij" else x
    np.testing.assert_allclose(both(getattr(ms.ops, f"bessel_{name}"), x), getattr(special, name)(x), 1e-11, 1e-14)


def test_bessel_functions_at_the_ends_of_their_domain() -> None:
    ends = ms.Tensor([-1.0, 0.0, np.inf])
    assert np.isnan(ms.ops.bessel_k0(ends).asnumpy()[0]) and ms.ops.bessel_k0(ends).tolist()[1:] == [np.inf, 0.0]
    assert np.isnan(ms.ops.bessel_y1(ends).asnumpy()[0]) and ms.ops.bessel_y1(ends).tolist()[1:] == [-np.inf, 0.0]
    assert ms.ops.bessel_i0(ends).tolist()[1:] == [1.0, np.inf]


def test_gamma_functions_are_scipys() -> None:
    x, a = random(-7.5, 50), random(0.05, 60)
    up = np.abs(x) + 1e-6
    np.testing.assert_allclose(both(ms.ops.lgamma, x), special.gammaln(x), 1e-12, 1e-14)
    np.testing.assert_allclose(both(ms.ops.digamma, x), special.digamma(x), 1e-11, 1e-13)
    np.testing.assert_allclose(both(ms.ops.zeta, a + 1, up), special.zeta(a + 1, up), 1e-12)
    np.testing.assert_allclose(both(ms.ops.igamma, a, up), special.gammainc(a, up), 1e-12, 1e-300)
    np.testing.assert_allclose(both(ms.ops.igammac, a, up), special.gammaincc(a, up), 1e-11, 1e-300)
    np.testing.assert_allclose(both(lambda t: ms.ops.mvlgamma(t, 3), up + 1), special.multigammaln(5.0, 3) * 0 + [
        special.multigammaln(v, 3) for v in up + 1], 1e-11)  # fmt: skip
    for n in range(4):
        np.testing.assert_allclose(both(lambda t, n=n: ms.ops.polygamma(n, t), up), special.polygamma(n, up), 1e-11)


def test_gamma_functions_at_their_poles() -> None:
    at = ms.Tensor([0.0, -1.0, np.inf])
    assert ms.ops.lgamma(at).tolist() == [np.inf, np.inf, np.inf]
    assert np.isnan(ms.ops.digamma(at).asnumpy()[1]) and ms.ops.digamma(at).tolist()[2] == np.inf
    assert ms.ops.polygamma(1, at).tolist()[:2] == [np.inf, np.inf]
    assert ms.ops.igamma(ms.Tensor([2.0, 2.0]), ms.Tensor([0.0, np.inf])).tolist() == [0.0, 1.0]
    assert np.isnan(ms.ops.igamma(ms.Tensor([-1.0]), ms.Tensor([1.0])).item())


def test_a_gradient_that_is_not_there_is_refused_only_where_it_is_asked_for() -> None:
    a, x = ms.Tensor([2.0]), ms.Tensor([3.0])
    slope = ms.grad(lambda v: ms.ops.igamma(a, v).sum())(x)
    np.testing.assert_allclose(slope.asnumpy(), 3 * np.exp(-3.0), rtol=1e-6)
    with pytest.raises(GradientError, match="has no gradient by input"):
        ms.grad(lambda v: ms.ops.zeta(v, x).sum())(a)


def test_gradients_of_incomplete_gamma_functions_by_their_parameter(mode: int) -> None:
    a, x = np.array([0.5, 1.0, 2.5, 40.0]), np.array([0.3, 1.0, 2.0, 42.0])
    h = 1e-5 * a
    for fn, known in ((ms.ops.igamma, special.gammainc), (ms.ops.igammac, special.gammaincc)):
        slope = ms.grad(lambda v, fn=fn: fn(v, ms.Tensor(x)).sum())(ms.Tensor(a))
        np.testing.assert_allclose(slope.asnumpy(), (known(a + h, x) - known(a - h, x)) / (2 * h), rtol=1e-6)
    half = ms.grad(lambda v: ms.ops.igamma(v, ms.Tensor(x, ms.float32)).sum())(ms.Tensor(a, ms.float32))
    assert half.dtype is ms.float32


def test_special_functions_under_vmap_and_in_float32() -> None:
    x = ms.Tensor(random(0.5, 9, 6).reshape(2, 3), ms.float32)
    for fn in (ms.ops.lgamma, ms.ops.bessel_y0, lambda v: ms.ops.igamma(v, v + 1), lambda v: ms.ops.polygamma(2, v)):
        assert fn(x).dtype is ms.float32
        np.testing.assert_array_equal(ms.vmap(fn)(x).asnumpy(), fn(x).asnumpy())


def test_special_functions_refuse() -> None:
    with pytest.raises(AttributeValueError, match="order n is an integer from 0"):
        ms.ops.polygamma(-1, ms.Tensor([1.0]))
    with pytest.raises(AttributeValueError, match="p is an integer from 1"):
        ms.ops.mvlgamma(ms.Tensor([1.0]), 0)
    with pytest.raises(DTypeError, match="does not take complex"):
        ms.ops.lgamma(ms.Tensor([1j]))


# ---- Fourier transforms ----------------------------------------------------------------------------------------------


def signal() -> Any:
    rng = np.random.default_rng(SEED)
    return rng.normal(size=(3, 4, 5)) + 1j * rng.normal(size=(3, 4, 5))


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
@pytest.mark.parametrize("n, axis, norm", [(None, -1, None), (6, 1, "ortho"), (3, 0, "forward"), (4, 2, "backward")])
def test_transforms_along_an_axis_are_numpys(name: str, n: Any, axis: int, norm: Any) -> None:
    x = signal().real.copy() if name in ("rfft", "ihfft") else signal()
    have = both(lambda t: getattr(ms.ops, name)(t, n, axis, norm), x)
    np.testing.assert_allclose(have, getattr(np.fft, name)(x, n, axis, norm), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", [f"{k}{n}" for k in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft") for n in "2n"])
def test_transforms_along_axes_are_scipys(name: str) -> None:
    fft = pytest.importorskip("scipy.fft")
    x = signal().real.copy() if name[:2] in ("rf", "ih") else signal()
    np.testing.assert_allclose(both(getattr(ms.ops, name), x), getattr(fft, name)(x), rtol=1e-12, atol=1e-12)
    have = getattr(ms.ops, name)(ms.Tensor(x), (4, 4), (0, 1)).asnumpy()
    np.testing.assert_allclose(have, getattr(fft, name)(x, (4, 4), (0, 1)), rtol=1e-12, atol=1e-12)


def test_frequencies_and_shifts_are_numpys() -> None:
    for n in (1, 4, 5):
        np.testing.assert_allclose(ms.ops.fftfreq(n, 0.5, dtype=ms.float64).asnumpy(), np.fft.fftfreq(n, 0.5))
        np.testing.assert_allclose(ms.ops.rfftfreq(n).asnumpy(), np.fft.rfftfreq(n), rtol=1e-6)
    x = signal()
    np.testing.assert_array_equal(both(ms.ops.fftshift, x), np.fft.fftshift(x))
    np.testing.assert_array_equal(both(lambda t: ms.ops.ifftshift(t, 1), x), np.fft.ifftshift(x, 1))


def test_gradients_of_transforms_are_those_of_the_matrix() -> None:
    x, w = signal().real[0].copy(), np.abs(signal()[1])

    def power(t: Any) -> Any:
        return (ms.ops.abs(ms.ops.fft(t)) ** 2 * ms.Tensor(w)).sum()

    matrix = np.fft.fft(np.eye(5))
    want = 2 * ((x @ matrix) * w @ matrix.conj().T).real
    for grad in (ms.grad(power), ms.jit(ms.grad(power))):
        np.testing.assert_allclose(grad(ms.Tensor(x)).asnumpy(), want, rtol=1e-10)
    back = ms.grad(lambda t: (ms.ops.irfft(ms.ops.rfft(t, 5), 5) ** 2).sum())(ms.Tensor(x))
    np.testing.assert_allclose(back.asnumpy(), 2 * x, rtol=1e-10)


def test_transforms_under_vmap_and_their_dtypes() -> None:
    x = ms.Tensor(signal())
    np.testing.assert_allclose(ms.vmap(lambda t: ms.ops.fft(t, None, 0))(x).asnumpy(), np.fft.fft(signal(), axis=1))
    assert ms.ops.fft(ms.Tensor([1.0])).dtype is ms.complex64 and ms.ops.fft(x).dtype is ms.complex128
    assert ms.ops.irfft(ms.Tensor([1.0, 2.0])).dtype is ms.float32


def test_transforms_refuse() -> None:
    x = ms.Tensor([1.0, 2.0])
    with pytest.raises(AttributeValueError, match="norm is"):
        ms.ops.fft(x, norm="half")
    with pytest.raises(AttributeValueError, match="integer from 1"):
        ms.ops.fft(x, 0)
    with pytest.raises(DTypeError, match="takes real numbers"):
        ms.ops.rfft(ms.Tensor([1j]))
    with pytest.raises(ShapeError, match="at least one axis"):
        ms.ops.fft(ms.Tensor(1.0))
    with pytest.raises(AttributeValueError, match="of one length"):
        ms.ops.fftn(x, (2,), (0, 0))
    with pytest.raises(AttributeValueError, match="d is not 0"):
        ms.ops.fftfreq(4, 0)
