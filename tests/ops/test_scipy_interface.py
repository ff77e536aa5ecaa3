"""``msnb.scipy`` against SciPy, in both modes and under ``jit``, with gradients and wrong inputs."""

import warnings

import msnb.scipy as msp
import numpy as np
import pytest

import msnb as ms
import msnb.numpy as mnp
from msnb import ops

linalg = pytest.importorskip("scipy.linalg")
fft = pytest.importorskip("scipy.fft")
optimize = pytest.importorskip("scipy.optimize")
MODES = [ms.PYNATIVE_MODE, ms.GRAPH_MODE]


@pytest.fixture(params=MODES, autouse=True)
def mode(request):
    ms.set_context(mode=request.param)


def both(function, *args):
    """Called as it is, and compiled."""
    found, compiled = function(*args), ms.jit(function)(*args)
    flat = [x if isinstance(x, tuple) else (x,) for x in (found, compiled)]
    for a, b in zip(*flat):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-9, atol=1e-12)
    return found


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


# ---- transforms ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [1, 2, 3, 4])
@pytest.mark.parametrize("norm", [None, "backward", "forward", "ortho"])
@pytest.mark.parametrize("n, axis", [(None, -1), (3, 0), (9, 1)])
def test_cosine_transforms(kind, norm, n, axis):
    x = normal(5, 6)
    for name in ("dct", "idct"):
        found = getattr(msp.fft, name)(ms.Tensor(x), kind, n, axis, norm)
        np.testing.assert_allclose(found.asnumpy(), getattr(fft, name)(x, kind, n, axis, norm), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("s, axes", [(None, None), ((3, 7), None), ((4,), (0,)), (None, (1,)), ((-1, 3), (1, 0))])
def test_cosine_transforms_along_several_axes(s, axes):
    x = normal(5, 6)
    for name in ("dctn", "idctn"):
        found = both(lambda v, name=name: getattr(msp.fft, name)(v, 2, s, axes, "ortho"), ms.Tensor(x))
        sizes = s if s is None or -1 not in s else tuple(x.shape[a] if k == -1 else k for k, a in zip(s, axes))
        np.testing.assert_allclose(found.asnumpy(), getattr(fft, name)(x, 2, sizes, axes, "ortho"), atol=1e-12)


def test_the_gradient_of_an_orthogonal_transform_is_its_inverse():
    x, d = ms.Tensor(normal(3, 8)), ms.Tensor(normal(3, 8, seed=1))
    pulled = ms.vjp(lambda v: msp.fft.dct(v, norm="ortho"), x)[1](d)[0]
    np.testing.assert_allclose(pulled.asnumpy(), msp.fft.idct(d, norm="ortho").asnumpy(), atol=1e-12)
    assert msp.fft.dct(ms.Tensor([1, 2, 3])).dtype == ms.float32


def test_wrong_transforms_are_refused():
    x = ms.Tensor(normal(4))
    with pytest.raises(ValueError, match="type is 1, 2, 3 or 4"):
        msp.fft.dct(x, 5)
    with pytest.raises(ValueError, match="norm is"):
        msp.fft.idct(x, norm="half")
    with pytest.raises(ValueError, match="at least 2"):
        msp.fft.dct(x, 1, 1)
    with pytest.raises(TypeError, match="real numbers"):
        msp.fft.dct(x.astype(ms.complex64))
    with pytest.raises(ValueError, match="one for each"):
        msp.fft.dctn(x, s=(2, 2), axes=(0,))


# ---- linear algebra --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(4, 4), (4, 6), (6, 4), (1, 3), (3, 1)])
def test_lu_and_least_squares_of_every_shape(shape):
    a, b = normal(*shape), normal(shape[0], 2, seed=1)
    for found, wanted in zip(both(msp.linalg.lu, ms.Tensor(a)), linalg.lu(a)):
        np.testing.assert_allclose(found.asnumpy(), wanted, atol=1e-12)
    product = both(lambda v: ops.matmul(*msp.linalg.lu(v, permute_l=True)), ms.Tensor(a))
    np.testing.assert_allclose(product.asnumpy(), a, atol=1e-12)
    for found, wanted in zip(
        both(msp.linalg.lstsq, ms.Tensor(a), ms.Tensor(b)), linalg.lstsq(a, b, lapack_driver="gelss")
    ):
        np.testing.assert_allclose(found.asnumpy(), wanted, atol=1e-10)


@pytest.mark.parametrize("shape", [(3, 3), (3, 5), (5, 3)])
def test_gradients_of_lu_are_those_of_differences(shape):
    x, w = normal(*shape), normal(*shape, seed=2)
    loss = lambda v: sum((ops.sin(p) * (k + 1)).sum() for k, p in enumerate(msp.linalg.lu(v)[1:]))
    found = (ms.grad(loss)(ms.Tensor(x)).asnumpy() * w).sum()
    step = 1e-6
    wanted = (loss(ms.Tensor(x + step * w)).item() - loss(ms.Tensor(x - step * w)).item()) / (2 * step)
    assert abs(found - wanted) < 1e-6 * max(1, abs(wanted))


@pytest.mark.parametrize("lower", [True, False])
def test_factors_of_symmetric_matrices_read_one_triangle(lower):
    half = normal(5, 5)
    a, b = half @ half.T + 5 * np.eye(5), normal(5, 2, seed=1)
    given = ms.Tensor(np.tril(a) if lower else np.triu(a))
    c, same = msp.linalg.cho_factor(given, lower)
    np.testing.assert_allclose(c.asnumpy(), linalg.cholesky(a, lower), atol=1e-12)
    for right in (b, b[:, 0]):
        found = msp.linalg.cho_solve((c, same), ms.Tensor(right))
        np.testing.assert_allclose(found.asnumpy(), np.linalg.solve(a, right), atol=1e-12)
    w, v = both(lambda t: msp.linalg.eigh(t, lower=lower), given)
    np.testing.assert_allclose(a @ v.asnumpy(), v.asnumpy() * w.asnumpy(), atol=1e-10)
    np.testing.assert_allclose(msp.linalg.eigh(given, lower=lower, eigvals_only=True).asnumpy(), w.asnumpy())
    z = a + 1j * (half - half.T)
    w, v = msp.linalg.eigh(ms.Tensor(np.tril(z) if lower else np.triu(z)), lower=lower)
    np.testing.assert_allclose(z @ v.asnumpy(), v.asnumpy() * w.asnumpy(), atol=1e-10)


def test_solutions_with_factors_and_triangles():
    a, b = normal(4, 4) + 3 * np.eye(4), normal(4, 2, seed=1)
    x, y = ms.Tensor(a), ms.Tensor(b)
    factors = msp.linalg.lu_factor(x)
    for trans, matrix in ((0, a), (1, a.T), (2, a.T)):
        found = msp.linalg.lu_solve(factors, y, trans)
        np.testing.assert_allclose(found.asnumpy(), np.linalg.solve(matrix, b), atol=1e-10)
        found = both(lambda m, r, t=trans: msp.linalg.solve_triangular(m, r, t, lower=True), x, y)
        np.testing.assert_allclose(found.asnumpy(), linalg.solve_triangular(a, b, trans, lower=True), atol=1e-10)
    np.testing.assert_allclose(msp.linalg.inv(x).asnumpy(), np.linalg.inv(a), atol=1e-12)
    np.testing.assert_allclose(msp.linalg.det(ms.Tensor([[2, 1], [0, 4]])).item(), 8)
    assert msp.linalg.block_diag().shape == (1, 0)
    wanted = linalg.block_diag(np.ones((3, 4)), 5.0, np.ones((2, 2)))
    blocks = [ms.Tensor(v) for v in (np.ones((3, 4)), np.float64(5), np.ones((2, 2)))]
    np.testing.assert_array_equal(msp.linalg.block_diag(*blocks).asnumpy(), wanted)


def test_wrong_matrices_and_flags_are_refused():
    a = ms.Tensor(normal(3, 3))
    with pytest.raises(TypeError, match="lower is True or False"):
        msp.linalg.eigh(a, lower=5.0)
    with pytest.raises(TypeError, match="takes Float32"):
        msp.linalg.eigh(a.astype(ms.float16))
    with pytest.raises(ValueError, match="square matrix"):
        msp.linalg.cholesky(a[:2])
    with pytest.raises(ValueError, match="b and eigvals are None"):
        msp.linalg.eigh(a, a)
    with pytest.raises(TypeError, match="one dtype"):
        msp.linalg.solve_triangular(a, a.astype(ms.float32))
    with pytest.raises(ValueError, match="rows of a"):
        msp.linalg.solve_triangular(a, ops.ones(4, ms.float64))
    with pytest.raises(ValueError, match="driver"):
        msp.linalg.lstsq(a, a, driver="svd")
    with pytest.raises(ValueError, match="trans"):
        msp.linalg.lu_solve(msp.linalg.lu_factor(a), a, 3)


# ---- minimization ----------------------------------------------------------------------------------------------------


def rosenbrock(np_):
    return lambda x: (100.0 * np_.diff(x) ** 2 + (1.0 - x[:-1]) ** 2).sum()


def himmelblau(p):
    x, y = p
    return (x**2 + y - 11.0) ** 2 + (x + y**2 - 7.0) ** 2


@pytest.mark.parametrize("method", ["BFGS", "lbfgs"])
@pytest.mark.parametrize("function, start", [(rosenbrock(mnp), [0.0] * 5), (himmelblau, [0.5, 0.25])])
def test_minima(method, function, start):
    x = ms.Tensor(np.array(start))
    found = msp.optimize.minimize(function, x, method=method, options={"gtol": 1e-8})
    compiled = ms.jit(lambda v: msp.optimize.minimize(function, v, method=method, options={"gtol": 1e-8})[:6:5])(x)
    assert found.success and found.status == 0 and ops.norm(found.jac, ord=float("inf")) <= 1e-8
    assert function(found.x) < 1e-12 and (found.hess_inv is None) == (method == "lbfgs")
    np.testing.assert_allclose(compiled[0].asnumpy(), found.x.asnumpy(), atol=1e-6)


def test_a_minimum_with_arguments_and_a_given_gradient():
    target = ms.Tensor(np.array([1.0, -2.0]))
    found = msp.optimize.minimize(
        lambda x, t: ((x - t) ** 2).sum(), ops.zeros(2, ms.float64), (target,), "BFGS", lambda x, t: 2 * (x - t),
        tol=1e-9,
    )
    np.testing.assert_allclose(found.x.asnumpy(), target.asnumpy(), atol=1e-9)


def test_a_search_that_has_no_end_says_so():
    falls = msp.optimize.minimize(lambda x: x.sum(), ops.zeros(2), method="BFGS", options={"maxiter": 5})
    assert not falls.success and falls.status != 0
    stopped = msp.optimize.minimize(himmelblau, ops.zeros(2, ms.float64), method="BFGS", options={"maxiter": 2})
    assert stopped.status == 1 and stopped.nit == 2


LINES = [
    (lambda m: lambda x: -x - x**3 + x**4, lambda x: -1 - 3 * x**2 + 4 * x**3),
    (lambda m: lambda x: m.exp(-4 * x) + x**2, lambda x: -4 * np.exp(-4 * x) + 2 * x),
    (lambda m: lambda x: -m.sin(10 * x), lambda x: -10 * np.cos(10 * x)),
]


@pytest.mark.parametrize("function, slope", LINES)
def test_step_lengths_are_those_of_scipy(function, slope):
    x, p = np.array(0.0), np.array(1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = optimize.line_search(function(np), slope, x, p, maxiter=10)
    found = msp.optimize.line_search(function(mnp), ms.Tensor(x), ms.Tensor(p), maxiter=10)
    assert not found.failed and found.nfev == wanted[1]
    np.testing.assert_allclose([found.a_k.item(), found.f_k.item()], [wanted[0], wanted[3]], rtol=1e-9)
    inside = ms.jit(lambda v: msp.optimize.line_search(function(mnp), v, ms.Tensor(p), maxiter=10).a_k)(ms.Tensor(x))
    np.testing.assert_allclose(inside.item(), wanted[0], rtol=1e-9)


def test_wrong_minimizations_are_refused():
    x = ops.zeros(2)
    with pytest.raises(ValueError, match="method is 'BFGS' or 'LBFGS'"):
        msp.optimize.minimize(himmelblau, x)
    with pytest.raises(ValueError, match="no option 'gtoll'"):
        msp.optimize.minimize(himmelblau, x, method="BFGS", options={"gtoll": 1})
    with pytest.raises(TypeError, match="bounds belongs to"):
        msp.optimize.minimize(himmelblau, x, method="BFGS", bounds=((0, 1),) * 2)
    with pytest.raises(TypeError, match="constraints belong to"):
        msp.optimize.minimize(himmelblau, x, method="BFGS", constraints=(himmelblau,))
    with pytest.raises(ValueError, match="x0 is a vector"):
        msp.optimize.minimize(himmelblau, ops.zeros((2, 1)), method="BFGS")


def test_assignments_cost_what_those_of_scipy_cost():
    seed = int(np.random.SeedSequence().entropy % 10**6)
    print("seed", seed)
    rng = np.random.default_rng(seed)
    for turn in range(60):
        m, n = rng.integers(1, 9, 2)
        costs = rng.normal(size=(m, n)) if turn % 2 else rng.integers(0, 4, (m, n))
        rows, columns = msp.optimize.linear_sum_assignment(ms.Tensor(costs), turn % 3 == 0)
        wanted = optimize.linear_sum_assignment(costs, turn % 3 == 0)
        assert np.isclose(costs[rows.asnumpy(), columns.asnumpy()].sum(), costs[wanted].sum())
        assert (np.diff(rows.asnumpy()) > 0).all() and len(set(columns.tolist())) == min(m, n)


def test_an_assignment_to_fewer_columns_and_impossible_ones():
    costs = ms.Tensor([[2, 3, 3], [3, 2, 3], [3, 3, 2]])
    found = both(lambda c: msp.optimize.linear_sum_assignment(c, False, ms.Tensor(2)), costs)
    assert [v.tolist() for v in found] == [[0, 1, -1], [0, 1, -1]]
    with pytest.raises(ValueError, match="NaN"):
        msp.optimize.linear_sum_assignment(ms.Tensor([[float("nan")]]), False)
    with pytest.raises(ValueError, match="infinite cost"):
        msp.optimize.linear_sum_assignment(ms.Tensor([[float("inf")]]), False)
    with pytest.raises(TypeError, match="maximize is True or False"):
        msp.optimize.linear_sum_assignment(costs, 1)
