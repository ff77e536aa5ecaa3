"""Programs of one or two operators of PyTorch, each with inputs: what ``msnb.train.pytorch`` has to know."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

T = torch.randn


def _generator() -> None:
    torch.manual_seed(3)


def floats(*shape: int) -> Any:
    return T(*shape)


def positive(*shape: int) -> Any:
    return T(*shape).abs() + 0.5


def unit(*shape: int) -> Any:
    return torch.rand(*shape) * 1.6 - 0.8


def whole(*shape: int) -> Any:
    return torch.randint(1, 9, shape)


Case = tuple[Callable[..., Any], tuple[Any, ...]]


def _named(functions: str, make: Callable[..., Any]) -> dict[str, Case]:
    return {name: (getattr(torch, name), (make(3, 4),)) for name in functions.split()}


def cases() -> dict[str, Case]:
    """Name -> (program, inputs)."""
    _generator()
    a, b, m = floats(3, 4), floats(3, 4), floats(4, 5)
    image, weight = floats(2, 4, 8, 8), floats(6, 2, 3, 3)
    mask, index = a > 0, torch.tensor([[0, 2, 1], [1, 0, 3]])
    found: dict[str, Case] = {}
    found |= _named(
        "abs ceil cos cosh erf erfc exp exp2 expm1 floor frac neg reciprocal sigmoid sign sin sinh sinc square"
        " tan tanh trunc isnan isinf isfinite logical_not relu positive atan asinh deg2rad rad2deg signbit",
        floats,
    )
    found |= _named("sqrt rsqrt log log10 log1p log2 lgamma digamma acosh", lambda *s: positive(*s) + 1)
    found |= _named("acos asin atanh erfinv", unit)
    for name in "maximum minimum atan2 fmod hypot logaddexp logaddexp2 float_power copysign remainder".split():
        found[name] = (getattr(torch, name), (a, b.abs() + 0.5) if name == "float_power" else (a, b))
    found["float_power"] = (torch.float_power, (positive(3, 4), a))
    for name in "logical_and logical_or logical_xor eq ne lt le gt ge".split():
        found[name] = (getattr(torch, name), (a.round(), b.round()))
    for name in "bitwise_and bitwise_or bitwise_xor gcd lcm".split():
        found[name] = (getattr(torch, name), (whole(3, 4), whole(3, 4)))
    found |= {
        "add alpha": (lambda x, y: torch.add(x, y, alpha=2), (a, b)),
        "sub alpha": (lambda x, y: torch.sub(x, y, alpha=0.5), (a, b)),
        "rsub": (lambda x: torch.rsub(x, 3.0), (a,)),
        "1 - x": (lambda x: 1 - x, (a,)),
        "scalars": (lambda x: (x + 2) * 3 / 4 - 1, (a,)),
        "2 / x": (lambda x: 2 / x, (positive(3),)),
        "2 ** x": (lambda x: 2**x, (a,)),
        "x ** 2": (lambda x: x**2, (a,)),
        "x ** y": (torch.pow, (positive(3, 4), a)),
        "div trunc": (lambda x, y: torch.div(x, y, rounding_mode="trunc"), (a, b)),
        "div floor": (lambda x, y: torch.div(x, y, rounding_mode="floor"), (a, b)),
        "x // 2": (lambda x: x // 2, (whole(3, 4),)),
        "x % 3": (lambda x: x % 3, (whole(3, 4),)),
        "~x": (lambda x: ~x, (mask,)),
        "x & y": (lambda x, y: x & y, (mask, ~mask)),
        "x << 1": (lambda x: x << 1, (whole(3),)),
        "round": (torch.round, (a,)),
        "round decimals": (lambda x: torch.round(x, decimals=1), (a,)),
        "clamp": (lambda x: torch.clamp(x, -0.5, 0.5), (a,)),
        "clamp max": (lambda x: torch.clamp(x, max=0.5), (a,)),
        "clamp tensor": (lambda x, y: torch.clamp(x, min=y), (a, b)),
        "clamp_min": (lambda x: torch.clamp_min(x, 0.1), (a,)),
        "min other": (torch.min, (a, b)),
        "max other": (torch.max, (a, b)),
        "addcmul": (lambda x, y, z: torch.addcmul(x, y, z, value=0.5), (a, b, a)),
        "addcdiv": (torch.addcdiv, (a, b, positive(3, 4))),
        "lerp": (lambda x, y: torch.lerp(x, y, 0.3), (a, b)),
        "nan_to_num": (torch.nan_to_num, (torch.log(a),)),
        "logit": (torch.logit, (torch.rand(3, 4),)),
        "where": (torch.where, (mask, a, b)),
        "where scalar": (lambda c, x: torch.where(c, x, 0.0), (mask, a)),
        "heaviside": (torch.heaviside, (a, b)),
        "xlogy": (torch.xlogy, (positive(3, 4), positive(3, 4))),
        "polygamma": (lambda x: torch.polygamma(1, x), (positive(3, 4),)),
        # products
        "mm": (torch.mm, (a, m)),
        "matmul": (torch.matmul, (floats(2, 3, 4), m)),
        "x @ v": (torch.mv, (a, floats(4))),
        "bmm": (torch.bmm, (floats(2, 3, 4), floats(2, 4, 5))),
        "dot": (torch.dot, (floats(4), floats(4))),
        "addmm": (lambda c, x, y: torch.addmm(c, x, y, beta=0.5, alpha=2), (floats(5), a, m)),
        "baddbmm": (torch.baddbmm, (floats(2, 3, 5), floats(2, 3, 4), floats(2, 4, 5))),
        "outer": (torch.outer, (floats(3), floats(4))),
        "einsum": (lambda x, y: torch.einsum("ij,jk->ik", x, y), (a, m)),
        "kron": (torch.kron, (a, b)),
        "tensordot": (lambda x, y: torch.tensordot(x, y, 1), (a, m)),
        "inverse": (torch.inverse, (torch.eye(3) * 3 + floats(3, 3) * 0.1,)),
        "cdist": (torch.cdist, (a, b)),
        "cross": (lambda x, y: torch.linalg.cross(x, y), (floats(2, 3), floats(2, 3))),
        "cosine_similarity": (F.cosine_similarity, (a, b)),
        # reductions
        "sum": (torch.sum, (a,)),
        "sum dim": (lambda x: x.sum((0, 1), keepdim=True), (a,)),
        "mean": (torch.mean, (a,)),
        "mean dim": (lambda x: x.mean(-1), (a,)),
        "sum dtype": (lambda x: x.sum(1, dtype=torch.float64), (a,)),
        "prod": (lambda x: x.prod(1), (a,)),
        "all": (torch.all, (mask,)),
        "any": (lambda x: x.any(1), (mask,)),
        "amax": (lambda x: x.amax(1), (a,)),
        "amin": (lambda x: x.amin((0, 1)), (a,)),
        "max": (torch.max, (a,)),
        "max dim": (lambda x: x.max(1), (a,)),
        "min dim": (lambda x: x.min(0, True), (a,)),
        "argmax": (torch.argmax, (a,)),
        "argmax dim": (lambda x: x.argmax(1), (a,)),
        "argmin": (lambda x: x.argmin(0, keepdim=True), (a,)),
        "median": (lambda x: x.median(1).values, (floats(3, 5),)),
        "std": (torch.std, (a,)),
        "std dim": (lambda x: x.std(1, unbiased=False), (a,)),
        "var": (lambda x: x.var(1), (a,)),
        "var correction": (lambda x: torch.var(x, 0, correction=2), (a,)),
        "var_mean": (lambda x: torch.var_mean(x, 1), (a,)),
        "logsumexp": (lambda x: torch.logsumexp(x, 1), (a,)),
        "aminmax": (lambda x: torch.aminmax(x, dim=1), (a,)),
        "norm": (torch.norm, (a,)),
        "norm dim": (lambda x: torch.norm(x, p=1, dim=1), (a,)),
        "vector_norm": (lambda x: torch.linalg.vector_norm(x, dim=-1, keepdim=True), (a,)),
        "normalize": (lambda x: F.normalize(x, dim=1), (a,)),
        "count_nonzero": (torch.count_nonzero, (a,)),
        "cumsum": (lambda x: x.cumsum(1), (a,)),
        "cumprod": (lambda x: x.cumprod(1), (a,)),
        "cummax": (lambda x: torch.cummax(x, 1), (a,)),
        "logcumsumexp": (lambda x: torch.logcumsumexp(x, 1), (a,)),
        "diff": (torch.diff, (a,)),
        "sort": (lambda x: torch.sort(x, 1, True), (a,)),
        "argsort": (lambda x: torch.argsort(x, 0), (a,)),
        "topk": (lambda x: torch.topk(x, 2), (a,)),
        "topk small": (lambda x: torch.topk(x, 2, dim=0, largest=False), (a,)),
        "kthvalue": (lambda x: torch.kthvalue(x, 2), (a,)),
        "trace": (torch.trace, (floats(4, 4),)),
        "quantile": (lambda x: torch.quantile(x, 0.3, dim=1), (a,)),
        "quantile lower": (lambda x: torch.quantile(x, 0.3, interpolation="lower"), (a,)),
        "nanquantile": (lambda x: torch.nanquantile(x, 0.3, 1, True), (a,)),
        "fft": (lambda x: torch.fft.fft(x, 5, 0, norm="ortho").real, (a,)),
        "rfft2": (lambda x: torch.fft.rfft2(x).abs(), (a,)),
        "ifft": (lambda x: torch.fft.ifft(torch.complex(x, x * 2)).imag, (a,)),
        "fftshift": (lambda x: torch.fft.fftshift(x), (a,)),
        "Tensor.unfold": (lambda x: x.unfold(1, 2, 1), (a,)),
        "select_scatter": (lambda x: torch.select_scatter(x, x[0] * 2, 0, 1), (a,)),
        "slice_scatter": (lambda x: torch.slice_scatter(x, x[:1] * 2, 0, 1, 2), (a,)),
        "nanmean": (lambda x: torch.nanmean(x, 1), (a,)),
        "matrix_power": (lambda x: torch.matrix_power(x @ x.T, 3), (a,)),
        "unique_consecutive": (lambda x: torch.unique_consecutive((x > 0).float()), (a,)),
        "renorm": (lambda x: torch.renorm(x, 2, 0, 0.5), (a,)),
        "conv1d alone": (lambda x: F.conv1d(x, torch.ones(2, 3, 2)), (T(3, 9),)),
        "addr": (lambda x: torch.addr(x, x[:, 0], x[0], beta=2, alpha=3), (a,)),
        "bincount": (torch.bincount, (whole(9),)),
        "searchsorted": (torch.searchsorted, (torch.arange(5.0), a)),
        "bucketize": (torch.bucketize, (a, torch.arange(5.0))),
        "nansum": (torch.nansum, (torch.log(a),)),
        # shapes
        "view": (lambda x: x.view(2, 6), (a,)),
        "reshape": (lambda x: x.reshape(-1), (a,)),
        "permute": (lambda x: x.permute(2, 0, 1), (floats(2, 3, 4),)),
        "transpose": (lambda x: x.transpose(0, 1), (a,)),
        "t": (torch.t, (a,)),
        "T": (lambda x: x.T, (a,)),
        "mT": (lambda x: x.mT, (floats(2, 3, 4),)),
        "movedim": (lambda x: torch.movedim(x, 0, 2), (floats(2, 3, 4),)),
        "swapaxes": (lambda x: x.swapaxes(0, 1), (a,)),
        "flatten": (lambda x: x.flatten(1), (image,)),
        "unflatten": (lambda x: x.unflatten(1, (2, 2)), (a,)),
        "squeeze": (torch.squeeze, (floats(1, 3, 1),)),
        "squeeze dim": (lambda x: x.squeeze(0), (floats(1, 3, 1),)),
        "unsqueeze": (lambda x: x.unsqueeze(-1), (a,)),
        "expand": (lambda x: x.expand(2, -1, 4), (floats(3, 4),)),
        "repeat": (lambda x: x.repeat(2, 3), (a,)),
        "tile": (lambda x: torch.tile(x, (2, 1)), (a,)),
        "repeat_interleave": (lambda x: x.repeat_interleave(2, 1), (a,)),
        "cat": (lambda x, y: torch.cat((x, y), 1), (a, b)),
        "stack": (lambda x, y: torch.stack((x, y), -1), (a, b)),
        "hstack": (lambda x, y: torch.hstack((x, y)), (a, b)),
        "vstack": (lambda x, y: torch.vstack((x, y)), (a, b)),
        "chunk": (lambda x: torch.chunk(x, 2, 1), (a,)),
        "split": (lambda x: torch.split(x, 3, 1), (a,)),
        "split sizes": (lambda x: torch.split(x, [1, 3], 1), (a,)),
        "unbind": (lambda x: x.unbind(1), (a,)),
        "tensor_split": (lambda x: torch.tensor_split(x, 2, 1), (a,)),
        "block_diag": (lambda x, y: torch.block_diag(x, y), (a, b)),
        "flip": (lambda x: x.flip(0, 1), (a,)),
        "roll": (lambda x: x.roll(1, 0), (a,)),
        "roll flat": (lambda x: x.roll(2), (a,)),
        "rot90": (lambda x: torch.rot90(x, 1, (0, 1)), (a,)),
        "diagonal": (lambda x: x.diagonal(1), (a,)),
        "diag": (torch.diag, (floats(3),)),
        "diag_embed": (torch.diag_embed, (a,)),
        "tril": (torch.tril, (a,)),
        "triu": (lambda x: x.triu(1), (a,)),
        "meshgrid": (lambda x, y: torch.meshgrid(x, y, indexing="ij"), (a[0], b[0])),
        "meshgrid xy": (lambda x, y: torch.meshgrid(x, y, indexing="xy"), (a[0], b[1, :2])),
        "pixel_shuffle": (lambda x: F.pixel_shuffle(x, 2), (image,)),
        "pixel_unshuffle": (lambda x: F.pixel_unshuffle(x, 2), (image,)),
        "channel_shuffle": (lambda x: F.channel_shuffle(x, 2), (image,)),
        "to float64": (lambda x: x.to(torch.float64) + 1, (a,)),
        "long": (lambda x: x.long(), (a,)),
        "type_as": (lambda x, y: x.type_as(y), (a, whole(2))),
        "half": (lambda x: x.half(), (a,)),
        "zeros": (lambda x: x + torch.zeros(4), (a,)),
        "ones": (lambda x: x * torch.ones(3, 1), (a,)),
        "full": (lambda x: x + torch.full((4,), 2.5), (a,)),
        "new_zeros": (lambda x: x.new_zeros(2, 3), (a,)),
        "new_full": (lambda x: x.new_full((2,), 3), (a,)),
        "zeros_like": (torch.zeros_like, (a,)),
        "full_like": (lambda x: torch.full_like(x, 2), (a,)),
        "arange": (lambda x: x + torch.arange(4), (a,)),
        "arange step": (lambda x: x + torch.arange(0.0, 1.0, 0.25), (a,)),
        "eye": (lambda x: x + torch.eye(3, 4), (a,)),
        "linspace": (lambda x: x + torch.linspace(0, 1, 4), (a,)),
        # parts
        "x[0]": (lambda x: x[0], (a,)),
        "x[:, 1:3]": (lambda x: x[:, 1:3], (a,)),
        "x[..., ::2]": (lambda x: x[..., ::2], (a,)),
        "x[None]": (lambda x: x[None, :, None], (a,)),
        "x[-1]": (lambda x: x[-1, -2], (a,)),
        "x[i]": (lambda x, i: x[i], (a, torch.tensor([2, 0]))),
        "x[:, i]": (lambda x, i: x[:, i], (a, torch.tensor([2, 0]))),
        "x[i, j]": (lambda x, i: x[i, i], (a, torch.tensor([2, 0]))),
        "narrow": (lambda x: x.narrow(1, 1, 2), (a,)),
        "index_select": (lambda x, i: x.index_select(1, i), (a, torch.tensor([2, 0]))),
        "gather": (lambda x, i: x.gather(1, i), (a, index)),
        "take_along_dim": (lambda x, i: torch.take_along_dim(x, i, 1), (a[:2], index)),
        "take": (torch.take, (a, index)),
        "scatter": (lambda x, i, y: x.scatter(1, i, y), (a, index, b)),
        "scatter value": (lambda x, i: x.scatter(1, i, 2.0), (a, index)),
        "scatter_add": (lambda x, i, y: x.scatter_add(1, i, y), (a, index, b)),
        "scatter_reduce": (lambda x, i, y: x.scatter_reduce(1, i, y, "amax"), (a, index, b)),
        "index_add": (lambda x, i, y: x.index_add(0, i, y), (a, torch.tensor([0, 2]), b[:2])),
        "index_copy": (lambda x, i, y: x.index_copy(0, i, y), (a, torch.tensor([0, 2]), b[:2])),
        "index_fill": (lambda x, i: x.index_fill(0, i, 2.0), (a, torch.tensor([0, 2]))),
        "index_put": (lambda x, i, y: x.index_put((i, i), y), (a, torch.tensor([0, 2]), floats(2))),
        "masked_fill": (lambda x, k: x.masked_fill(k, -1.0), (a, mask)),
        "masked_scatter": (lambda x, k, y: x.masked_scatter(k, y), (a, mask, b)),
        # in place
        "relu_": (lambda x: F.relu(x * 2, inplace=True) + 1, (a,)),
        "add_": (lambda x: (lambda y: (y.add_(1), y * 2)[1])(x * 2), (a,)),
        "x[0] = 1": (_writes_row, (a,)),
        "x[:, 1:3] *= 2": (_scales_part, (a,)),
        "masked_fill_": (_fills, (a, mask)),
        # networks
        "linear": (F.linear, (a, floats(5, 4), floats(5))),
        "conv2d": (lambda x, w: F.conv2d(x, w, None, 2, 1, 1, 2), (image, weight)),
        "conv2d bias": (lambda x, w, c: F.conv2d(x, w, c, padding="same"), (image, floats(3, 4, 3, 3), floats(3))),
        "conv1d": (lambda x, w: F.conv1d(x, w, None, 2, 1), (floats(2, 4, 9), floats(3, 4, 3))),
        "conv3d": (lambda x, w: F.conv3d(x, w, padding=1), (floats(1, 2, 4, 4, 4), floats(3, 2, 3, 3, 3))),
        "conv_transpose2d": (lambda x, w: F.conv_transpose2d(x, w, None, 2, 1, 1), (image, floats(4, 3, 3, 3))),
        "batch_norm": (lambda x, u, v: F.batch_norm(x, u, v), (image, floats(4), positive(4))),
        "layer_norm": (lambda x, w, c: F.layer_norm(x, (4,), w, c), (a, floats(4), floats(4))),
        "group_norm": (lambda x: F.group_norm(x, 2), (image,)),
        "instance_norm": (F.instance_norm, (image,)),
        "rms_norm": (lambda x, w: F.rms_norm(x, (4,), w), (a, floats(4))),
        "embedding": (F.embedding, (index, m.T)),
        "one_hot": (lambda i: F.one_hot(i, 5), (index,)),
        "dropout": (lambda x: F.dropout(x, 0.5, False), (a,)),
        "attention": (F.scaled_dot_product_attention, (floats(2, 2, 3, 4), floats(2, 2, 5, 4), floats(2, 2, 5, 4))),
        "attention causal": (
            lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True, scale=0.3),
            (floats(2, 2, 3, 4),),
        ),
        "attention mask": (
            F.scaled_dot_product_attention,
            (floats(2, 2, 3, 4), floats(2, 2, 3, 4), floats(2, 2, 3, 4), floats(3, 3) > -1),
        ),
        "attention groups": (
            lambda q, k: F.scaled_dot_product_attention(q, k, k, enable_gqa=True),
            (floats(2, 4, 3, 4), floats(2, 2, 3, 4)),
        ),
        "max_pool2d": (lambda x: F.max_pool2d(x, 3, 2, 1), (image,)),
        "avg_pool2d": (lambda x: F.avg_pool2d(x, 3, 2, 1), (image,)),
        "avg_pool2d inside": (lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False), (image,)),
        "max_pool2d ceil": (lambda x: F.max_pool2d(x, 3, 2, ceil_mode=True), (image,)),
        "max_pool1d": (lambda x: F.max_pool1d(x, 2), (floats(2, 3, 8),)),
        "avg_pool1d": (lambda x: F.avg_pool1d(x, 2), (floats(2, 3, 8),)),
        "max_pool3d": (lambda x: F.max_pool3d(x, 2), (floats(1, 2, 4, 4, 4),)),
        "adaptive_avg_pool2d": (lambda x: F.adaptive_avg_pool2d(x, (3, 2)), (image,)),
        "adaptive_avg_pool1d": (lambda x: F.adaptive_avg_pool1d(x, 3), (floats(2, 3, 8),)),
        "adaptive_max_pool2d": (lambda x: F.adaptive_max_pool2d(x, 2), (image,)),
        "pad": (lambda x: F.pad(x, (1, 2, 0, 1)), (image,)),
        "pad value": (lambda x: F.pad(x, (1, 2), value=3.0), (a,)),
        "pad reflect": (lambda x: F.pad(x, (1, 2, 2, 1), "reflect"), (image,)),
        "pad replicate": (lambda x: F.pad(x, (1, 2, 2, 1), "replicate"), (image,)),
        "pad circular": (lambda x: F.pad(x, (1, 2, 2, 1), "circular"), (image,)),
        "interpolate": (lambda x: F.interpolate(x, scale_factor=2), (image,)),
        "interpolate size": (lambda x: F.interpolate(x, (5, 11)), (image,)),
        "bilinear": (lambda x: F.interpolate(x, (5, 11), mode="bilinear"), (image,)),
        "bilinear corners": (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True), (image,)),
        "bicubic": (lambda x: F.interpolate(x, (12, 12), mode="bicubic"), (image,)),
        "linear 1d": (lambda x: F.interpolate(x, 12, mode="linear"), (floats(2, 3, 8),)),
        "grid_sample": (lambda x, g: F.grid_sample(x, g, align_corners=False), (image, torch.rand(2, 3, 3, 2) * 2 - 1)),
        "affine_grid": (lambda t: F.affine_grid(t, [2, 1, 3, 3], align_corners=False), (floats(2, 2, 3),)),
        "unfold": (lambda x: F.unfold(x, 3, padding=1, stride=2), (image,)),
        "fold": (lambda x: F.fold(x, (8, 8), 2, stride=2), (floats(2, 12, 16),)),
        "gelu tanh": (lambda x: F.gelu(x, approximate="tanh"), (a,)),
        "glu": (F.glu, (a,)),
        "softmax": (lambda x: F.softmax(x, 1), (a,)),
        "log_softmax": (lambda x: F.log_softmax(x, 0), (a,)),
        "softmax dtype": (lambda x: F.softmax(x, 1, dtype=torch.float64), (a,)),
        "prelu": (F.prelu, (image, floats(4))),
        "leaky_relu": (lambda x: F.leaky_relu(x, 0.2), (a,)),
        "threshold": (lambda x: F.threshold(x, 0.1, 2.0), (a,)),
        "mse_loss": (F.mse_loss, (a, b)),
        "l1_loss": (lambda x, y: F.l1_loss(x, y, reduction="sum"), (a, b)),
        "smooth_l1_loss": (lambda x, y: F.smooth_l1_loss(x, y, beta=0.5), (a, b)),
        "huber_loss": (F.huber_loss, (a, b)),
        "binary_cross_entropy": (F.binary_cross_entropy, (torch.rand(3, 4), torch.rand(3, 4))),
        "bce with logits": (F.binary_cross_entropy_with_logits, (a, torch.rand(3, 4))),
        "kl_div": (lambda x, y: F.kl_div(x, y, reduction="batchmean"), (a, torch.rand(3, 4))),
        "cross_entropy": (lambda x, y: F.cross_entropy(x, y, label_smoothing=0.1), (a, torch.tensor([1, 0, 3]))),
        "nll_loss": (F.nll_loss, (F.log_softmax(a, 1), torch.tensor([1, 0, 3]))),
        "margin_ranking_loss": (F.margin_ranking_loss, (floats(4), floats(4), torch.sign(floats(4)))),
        "cosine_embedding_loss": (F.cosine_embedding_loss, (a, b, torch.tensor([1, -1, 1]))),
        "triplet_margin_loss": (F.triplet_margin_loss, (a, b, b * 0.5)),
        "soft_margin_loss": (F.soft_margin_loss, (a, torch.sign(b))),
        "poisson_nll_loss": (F.poisson_nll_loss, (a, b)),
    }
    for name in (
        "relu6 selu silu mish hardswish hardsigmoid logsigmoid softsign tanhshrink gelu elu celu hardtanh softplus "
        "softshrink hardshrink".split()
    ):
        found[name] = (getattr(F, name), (a * 3,))
    return found


def _writes_row(x: Any) -> Any:
    y = x * 1.0
    y[0] = 1.0
    return y + x


def _scales_part(x: Any) -> Any:
    y = x * 1.0
    y[:, 1:3] *= 2
    return y


def _fills(x: Any, mask: Any) -> Any:
    y = x + 1
    y.masked_fill_(mask, 0.0)
    return y
