"""PyTorch's own table of sample inputs, run against the functions of the same name here: values and gradients.

``mint`` has PyTorch's names and forms; a function of ``ops`` is taken where ``mint`` has none, and has MindSpore's
forms where the two differ: such samples are no calls of it. ``OTHER`` says what is different on purpose.
"""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
common = pytest.importorskip("torch.testing._internal.common_methods_invocations")

import msnb as ms  # noqa: E402
from msnb import mint, ops  # noqa: E402

SAMPLES, SEED = 8, 20261130
DRAWN = ("rand", "empty", "bernoulli", "multinomial", "normal", "dropout", "geometric", "cauchy", "exponential",
         "uniform", "rrelu", "fractional", "lowrank")  # fmt: skip
OTHER = {
    "cholesky": "the gradient is that of the triangle which is read, PyTorch's is symmetric",
    "cholesky_inverse": "as of cholesky",
    "cholesky_solve": "as of cholesky",
    "linalg.cholesky": "as of cholesky",
    "linalg.pinv": "of a Hermitian matrix as of cholesky; of no elements it raises",
    "aminmax": "without an axis MindSpore's goes along the first",
    "linalg.svd": "MindSpore's order: s, u, v",
    "svd": "MindSpore's order: s, u, v",
    "linalg.eig": "eigenvalues in another order",
    "linalg.vander": "MindSpore's order of powers",
    "nn.functional.rms_norm": "MindSpore's arguments: the weight second",
    "nn.functional.instance_norm": "without running statistics",
    "nn.functional.max_unpool1d": "a value that another one overwrites has no gradient",
    "nn.functional.max_unpool2d": "as max_unpool1d",
    "nn.functional.max_unpool3d": "as max_unpool1d",
    "nn.functional.scaled_dot_product_attention": "the samples draw",
    "nn.functional.hinge_embedding_loss": "targets other than 1 and -1",
    "polygamma": "MindSpore's order: the number first",
    "special.polygamma": "MindSpore's order: the number first",
    "where": "the samples have the condition second",
    "nn.functional.ctc_loss": "MindSpore's has two results",
    "unfold": "mint's is that of windows of images",
    "repeat": "MindSpore's Tensor.repeat is NumPy's",
    "arange": "of fractions with an integer dtype",
    "matrix_exp": "infinities of another order",
    "logcumsumexp": "PyTorch's gradient has fewer digits",
    "linalg.solve": "B is a matrix, also where it could be a row of vectors",
    "sgn": "a sample without memory",
}
# at least half of the samples are forms that are not here, and say so
PARTLY = {
    "cdist", "einsum", "eye", "fill", "linalg.eigh", "linalg.lstsq", "linalg.lu_factor", "linalg.lu_solve",
    "linalg.matrix_rank", "linalg.solve_triangular", "lu_solve", "lu_unpack", "nanquantile", "bucketize",
    "nn.functional.conv_transpose1d", "nn.functional.embedding", "slice", "T",
    *(f"{name} unbiased" for name in ("std", "std_mean", "var", "var_mean")),
}  # fmt: skip
TOLERANCE = 2e-4


def counterpart(name: str) -> Any:
    """The function of that name: mint's before MindSpore's."""
    library, _, short = name.rpartition(".")
    first = {"nn.functional": mint.nn.functional, "linalg": mint.linalg, "special": mint.special}.get(library, mint)
    if library not in ("", "nn.functional", "linalg", "special", "fft"):
        return None
    return next((fn for fn in (getattr(place, short, None) for place in (first, ops)) if callable(fn)), None)


def ours(value: Any) -> Any:
    """PyTorch's tensors as Tensors."""
    if isinstance(value, torch.Tensor):
        return ms.Tensor(value.detach().resolve_conj().resolve_neg().numpy().copy())
    if isinstance(value, torch.dtype):
        return getattr(ms, str(value).removeprefix("torch."))
    if type(value) in (list, tuple, torch.Size):
        return tuple(map(ours, value)) if type(value) is not list else list(map(ours, value))
    return value


def leaves(value: Any) -> list[Any]:
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, (list, tuple)) else [value]


def need_close(found: Any, want: Any, what: str) -> None:
    """All leaves are alike."""
    pairs = leaves(found), leaves(want)
    assert len(pairs[0]) == len(pairs[1]), what
    for a, b in zip(*pairs):
        x, y = np.asarray(a), b.detach().resolve_conj().numpy() if isinstance(b, torch.Tensor) else np.asarray(b)
        assert x.shape == y.shape, f"{what}: {x.shape}, PyTorch {y.shape}"
        large = max(1.0, float(np.max(np.abs(np.where(np.isfinite(y), y, 0)), initial=0.0)))
        near = np.allclose(x, y, rtol=TOLERANCE, atol=TOLERANCE * large, equal_nan=True)
        assert near, f"{what}: {x.ravel()[:4]}, PyTorch {y.ravel()[:4]}"


def need_gradients(fn: Any, arguments: list[Any], given: tuple[Any, ...], named: Any, want: Any, what: str) -> None:
    """Those of a weighted sum of all results by all arguments that have one."""
    places = [i for i, value in enumerate(given) if isinstance(value, torch.Tensor) and value.requires_grad]
    results = [i for i, leaf in enumerate(leaves(want)) if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
    outputs = [leaves(want)[i] for i in results]
    if not places or not outputs or any(leaf.is_complex() for leaf in outputs):
        return
    weights = [torch.randn(leaf.shape, dtype=leaf.dtype) for leaf in outputs]
    try:
        theirs = torch.autograd.grad(outputs, [given[i] for i in places], weights, allow_unused=True)
    except (NotImplementedError, RuntimeError):  # no derivative there
        return

    def total(*values: Any) -> Any:
        whole = list(arguments)
        for i, value in zip(places, values):
            whole[i] = value
        parts = leaves(fn(*whole, **named))
        return sum((parts[i] * ours(weight)).sum() for i, weight in zip(results, weights))

    try:
        found = ms.grad(total, tuple(range(len(places))))(*[arguments[i] for i in places])
    except ms.base.errors.GradientError:  # none here, and it says so
        return
    zeros = [torch.zeros_like(given[i]) if g is None else g for i, g in zip(places, theirs)]
    need_close(list(found) if isinstance(found, tuple) else [found], zeros, f"gradient of {what}")


TABLE = [info for info in common.op_db if torch.float32 in info.dtypes and info.name not in OTHER
         and counterpart(info.name) is not None and not any(word in info.name for word in DRAWN)]  # fmt: skip


@pytest.mark.parametrize(
    "info", TABLE, ids=lambda info: f"{info.name}{'-' * bool(info.variant_test_name)}{info.variant_test_name}"
)
def test_samples(info: Any) -> None:
    torch.manual_seed(SEED)
    fn = counterpart(info.name)
    samples = list(itertools.islice(info.sample_inputs("cpu", torch.float32, requires_grad=True), 60))
    random.Random(SEED).shuffle(samples)
    tried = compared = 0
    for sample in samples[:SAMPLES]:
        given = (sample.input, *sample.args)
        flat = [part for value in (*given, *sample.kwargs.values()) for part in leaves(value)]
        if any(isinstance(part, torch.Tensor) and (not part.ndim or part.layout != torch.strided) for part in flat):
            continue  # numbers have no axes here
        try:
            want = info.op(*given, **sample.kwargs)
        except Exception:  # a sample of an error
            continue
        tried += 1
        named = {key: ours(value) for key, value in sample.kwargs.items() if key not in ("device", "layout")}
        what = f"{info.name}{tuple(map(_told, given))} {sample.kwargs}"
        arguments = list(map(ours, given))
        try:
            found = fn(*arguments, **named)
        except (TypeError, ValueError, IndexError, ms.base.errors.MsnbError):
            continue  # a form that is not here, and says so
        need_close(found, want, what)
        need_gradients(fn, arguments, given, named, want, what)
        compared += 1
    full = compared * 2 > tried or not tried
    called = f"{info.name} {info.variant_test_name}".strip()
    assert full == (not {info.name, called} & PARTLY), f"{compared} of {tried} samples were compared: see PARTLY"


def _told(value: Any) -> Any:
    return tuple(value.shape) if isinstance(value, torch.Tensor) else value
