"""``ops.flash_attention_score`` against NumPy, in both modes: layouts, masks, sparse modes, shared heads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops
from msnb.base.errors import MsnbError
from msnb.devices.device import DeviceFeatures

SEED = 8
B, N, S1, S2, D = 2, 4, 5, 7, 3
RNG = np.random.default_rng(SEED)
Q, K, V = RNG.normal(size=(B, N, S1, D)), RNG.normal(size=(B, 2, S2, D)), RNG.normal(size=(B, 2, S2, D))
PLACES = np.arange(S2)[None, :] - np.arange(S1)[:, None]


def wanted(hidden: Any = False, shift: Any = 0.0, scale: float = 0.5) -> np.ndarray:
    """[batch, heads, positions, features]; rows that see nothing are zeros."""
    k, v = (np.repeat(x, 2, axis=1) for x in (K, V))
    scores = Q @ k.swapaxes(-1, -2) * scale + shift
    seen = np.broadcast_to(~np.asarray(hidden, bool), scores.shape)
    weights = np.where(seen, np.exp(scores), 0.0)
    total = weights.sum(-1, keepdims=True)
    return weights / np.where(total == 0, 1.0, total) @ v


def called(mode: str, **more: Any) -> np.ndarray:
    tensors = {name: ms.Tensor(x) for name, x in more.items() if isinstance(x, np.ndarray)}
    plain = {name: x for name, x in more.items() if name not in tensors}
    names = list(tensors)

    def score(q: Any, k: Any, v: Any, *rest: Any) -> Any:
        options = {"head_num": N, "input_layout": "BNSD", "scalar_value": 0.5, **plain}
        return ops.flash_attention_score(q, k, v, **options, **dict(zip(names, rest)))

    args = [*(ms.Tensor(x) for x in (Q, K, V)), *tensors.values()]
    run = score if mode == "eager" else ms.jit(score)
    return np.asarray(run(*args).asnumpy())


def laid(x: np.ndarray, layout: str) -> np.ndarray:
    order = {"BNSD": (0, 1, 2, 3), "BSND": (0, 2, 1, 3), "BSH": (0, 2, 1, 3), "SBH": (2, 0, 1, 3)}[layout]
    x = x.transpose(order)
    return x.reshape(*x.shape[:2], -1) if layout.endswith("H") else x


@pytest.mark.parametrize("layout", ["BNSD", "BSND", "BSH", "SBH"])
def test_layouts(layout: str) -> None:
    args = [ms.Tensor(laid(x, layout)) for x in (Q, K, V)]
    found = ops.flash_attention_score(*args, N, scalar_value=0.5, input_layout=layout)
    np.testing.assert_allclose(found.asnumpy(), laid(wanted(), layout), rtol=1e-9, atol=1e-12)


MASK = RNG.random((B, 1, S1, S2)) < 0.4
SHIFT = RNG.normal(size=(1, N, S1, S2))


@pytest.mark.parametrize(
    ("more", "want"),
    [
        ({"attn_mask": MASK}, wanted(MASK)),
        ({"attn_mask": MASK.astype(np.uint8), "real_shift": SHIFT}, wanted(MASK, SHIFT)),
        ({"attn_mask": MASK, "pre_tokens": 2, "next_tokens": 1}, wanted(MASK | (PLACES > 1) | (PLACES < -2))),
        ({"attn_mask": MASK, "pre_tokens": 2, "next_tokens": 1, "sparse_mode": 1}, wanted(MASK)),
        ({"pre_tokens": 0, "next_tokens": 0}, wanted()),
        ({"sparse_mode": 2}, wanted(PLACES > 0)),
        ({"sparse_mode": 3}, wanted(PLACES > S2 - S1)),
        ({"sparse_mode": 4, "pre_tokens": 1, "next_tokens": 0}, wanted((PLACES > 2) | (PLACES < 1))),
        ({"attn_mask": np.ones((S1, S2), np.bool_)}, np.zeros((B, N, S1, D))),
    ],
)
def test_masks(mode: str, more: dict[str, Any], want: np.ndarray) -> None:
    np.testing.assert_allclose(called(mode, **more), want, rtol=1e-9, atol=1e-12)


def test_dropped_weights_are_zero_and_the_others_grow() -> None:
    ms.set_seed(SEED)
    v = np.broadcast_to(np.eye(S2), (B, 2, S2, S2))
    args = [ms.Tensor(x) for x in (np.zeros((B, N, S1, S2)), np.zeros((B, 2, S2, S2)), v)]
    found = ops.flash_attention_score(*args, N, keep_prob=0.5, input_layout="BNSD").asnumpy()
    assert set(np.round(np.unique(found), 9)) == {0.0, round(2 / S2, 9)}


@pytest.mark.parametrize("sparse_mode", [0, 2])
def test_a_device_that_has_attention_is_asked(monkeypatch: pytest.MonkeyPatch, sparse_mode: int) -> None:
    x = ms.Tensor(RNG.normal(size=(B, S1, 4 * 32)).astype(np.float16))
    y = x[:, :, :64]
    composite = ops.flash_attention_score(x, y, y, 4, sparse_mode=sparse_mode)
    monkeypatch.setattr(DeviceFeatures, "has_attention", True)
    heads: list[Any] = []
    tiled = ops.mindspore.attention_score.tiled
    monkeypatch.setattr("msnb.ops.mindspore.attention_score.tiled", lambda *a: heads.append(a) or tiled(*a))
    found = ops.flash_attention_score(x, y, y, 4, sparse_mode=sparse_mode)
    assert len(heads) == 1 and heads[0][-1] is (sparse_mode == 2)
    np.testing.assert_allclose(found.asnumpy(), composite.asnumpy(), rtol=0, atol=4e-3)


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"input_layout": "TND"}, "input_layout is one of BNSD, BSND, BSH, SBH"),
        ({"input_layout": "BSH"}, "BSH has 3 axes"),
        ({"head_num": 3}, "3 heads of the query, 4 in its shape"),
        ({"sparse_mode": 5}, "sparse_mode is 0, 1, 2, 3 or 4"),
        ({"prefix": (1, 2)}, "prefix is not built"),
        ({"drop_mask": MASK}, "drop_mask is not built"),
    ],
)
def test_what_it_refuses(more: dict[str, Any], sentence: str) -> None:
    with pytest.raises(MsnbError, match=sentence):
        called("eager", **more)


def test_as_an_operator_class(mode: int) -> None:
    score = ops.FlashAttentionScore(N, scale_value=0.5, input_layout="BNSD")
    run = ms.jit(lambda *x: score(*x)[3]) if mode == ms.GRAPH_MODE else lambda *x: score(*x)[3]
    found = run(*(ms.Tensor(x) for x in (Q, K, V, SHIFT)), None, None, ms.Tensor(MASK))
    np.testing.assert_allclose(found.asnumpy(), wanted(MASK, SHIFT), rtol=1e-9, atol=1e-12)
    with pytest.raises(MsnbError, match="FlashAttentionScore needs head_num"):
        ops.FlashAttentionScore()
