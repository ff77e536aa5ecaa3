"""Layers as functions: convolutions, norms, activations, attention, pooling, interpolation, losses."""

from __future__ import annotations

from typing import Any

_PLAIN = ("relu", "relu6", "selu", "silu", "mish", "hardswish", "hardsigmoid", "logsigmoid", "softsign", "tanhshrink")
_REDUCTIONS = ("none", "mean", "sum")


def f(text: str) -> str:
    """A template with the functions of ``mint.nn.functional``."""
    return text.replace("F.", "mint.nn.functional.")


def _upsample(mode: str) -> Any:
    def template(a: dict[str, Any]) -> str:
        size = "size={output_size}" if a.get("output_size") is not None else "scale_factor={scale_factors}"
        corners = "{, align_corners=align_corners}" if mode not in ("nearest", "area", "nearest-exact") else ""
        return f(f'F.interpolate({{{"input" if "input" in a else "self"}}}, {size}, mode="{mode}"{corners})')

    return template


def _loss(text: str) -> Any:
    """A loss: ``reduction`` is a number in ATen."""

    def template(a: dict[str, Any]) -> str:
        return f(text).replace("REDUCTION", f'reduction="{_REDUCTIONS[a.get("reduction", 1)]}"')

    return template


def _convolution(n: int) -> str:
    return f(f"F.conv{n}d({{input}}, {{weight}}{{, bias=bias}}{{, stride=stride|1}}{{, padding=padding|0}}"
             "{, dilation=dilation|1}{, groups=groups|1})")  # fmt: skip


def _pooling(n: int, kind: str) -> str:
    window = "{self}, {kernel_size}{, stride=stride}{, padding=padding|0}"
    rest = "{, dilation=dilation|1}{, ceil_mode=ceil_mode|False}" if kind == "max" else \
        "{, ceil_mode=ceil_mode|False}{, count_include_pad=count_include_pad|True}" \
        "{, divisor_override=divisor_override}"  # fmt: skip
    return f"{'mint.nn.functional' if (n, kind) in _IN_MINT else 'ops'}.{kind}_pool{n}d({window}{rest})"


def _pooling_1d(kind: str) -> str:
    window = "{self}, {kernel_size_0}{, stride=stride_0}{, padding=padding_0|0}{, ceil_mode=ceil_mode|False}"
    if kind == "avg":
        return f("F.avg_pool1d(" + window + "{, count_include_pad=count_include_pad|True})")
    return f'ops.max_pool1d({window}{{, dilation=dilation_0|1}}, pad_mode="pad")'


def _attention(a: dict[str, Any]) -> str:
    parts = ["{query}", "{key}", "{value}"]
    if a.get("enable_gqa"):  # heads of keys and values serve several heads of queries
        parts[1:] = [f"mint.repeat_interleave({part}, {{query}}.shape[-3] // {part}.shape[-3], dim=-3)"
                     for part in parts[1:]]  # fmt: skip
    dropped = ", dropout_p={dropout_p} if self.training else 0.0" if a.get("dropout_p") else ""
    return (f"ops.scaled_dot_product_attention({', '.join(parts)}{{, attn_mask=attn_mask}}" + dropped
            + "{, is_causal=is_causal|False}{, scale=scale})")  # fmt: skip


def _nothing_in_evaluation(a: dict[str, Any]) -> str:
    """Random layers that are not here: in evaluation they pass everything on."""
    if a.get("train") or a.get("training"):
        raise ValueError("it draws")
    a.get("p")  # of no meaning then
    return "{input}"


def _rms_norm(a: dict[str, Any]) -> str:
    weight = "mint.ones({normalized_shape}, dtype={input}.dtype)" if a.get("weight") is None else "{weight}"
    a.get("normalized_shape")  # the weight has it
    return f"ops.rms_norm({{input}}, {weight}" + ("{, eps=eps})" if a.get("eps") else f", eps={2.0**-23})")


def _instance_norm(a: dict[str, Any]) -> str:
    affine = "{, weight=weight}{, bias=bias}{, eps=eps|1e-05})"
    if not a.get("use_input_stats"):
        return f("F.batch_norm({input}, {running_mean}, {running_var}" + affine)
    if a.get("running_mean") is not None:
        raise ValueError("it writes running statistics")
    return f("F.instance_norm({input}" + affine)


_IN_MINT = {(2, "max"), (2, "avg"), (3, "avg")}


def _softmax(name: str) -> Any:
    def template(a: dict[str, Any]) -> str:
        return f(f"F.{name}({{self}}, dim={{dim}}{{, dtype=dtype}})")

    return template


TABLE: dict[str, Any] = {
    **{name: f(f"F.{name}({{self}})") for name in _PLAIN},
    "log_sigmoid": f("F.logsigmoid({self})"),
    "gelu": f("F.gelu({self}{, approximate=approximate|'none'})"),
    "elu": f("F.elu({self}{, alpha=alpha|1.0})"), "celu": "ops.celu({self}{, alpha=alpha|1.0})",
    "leaky_relu": f("F.leaky_relu({self}{, negative_slope=negative_slope|0.01})"),
    "hardtanh": f("F.hardtanh({self}{, min_val=min_val|-1}{, max_val=max_val|1})"),
    "softplus": f("F.softplus({self}{, beta=beta|1}{, threshold=threshold|20})"),
    "softshrink": f("F.softshrink({self}{, lambd=lambd|0.5})"),
    "hardshrink": f("F.hardshrink({self}{, lambd=lambd|0.5})"),
    "threshold": f("F.threshold({self}, {threshold}, {value})"),
    "prelu": f("F.prelu({self}, {weight})"), "glu": f("F.glu({self}{, dim=dim|-1})"),
    "softmax": _softmax("softmax"), "_softmax": _softmax("softmax"),
    "log_softmax": _softmax("log_softmax"), "_log_softmax": _softmax("log_softmax"),
    "_weight_norm": lambda a: "{v} * ({g} / mint.linalg.vector_norm({v}, 2, tuple(i for i in range({v}.ndim) "
    + f"if i != {a.get('dim', 0)}), keepdim=True))",
    "_grouped_mm": f("F.grouped_mm({self}, {mat2}{, offs=offs})"),
    "transformers.grouped_mm_fallback": f("F.grouped_mm({input}, {weight}, offs={offs})"),
    "linear": f("F.linear({input}, {weight}{, bias=bias})"),
    "bilinear": lambda a: 'mint.einsum("...i,oij,...j->...o", {input1}, {weight}, {input2})'
    + (" + {bias}" if a.get("bias") is not None else ""),
    **{f"conv{n}d": _convolution(n) for n in (1, 2, 3)},
    "conv_transpose1d": 'ops.conv_transpose1d({input}, {weight}{, bias=bias}{, stride=stride_0|1}, pad_mode="pad"'
    "{, padding=padding_0|0}{, output_padding=output_padding_0|0}{, groups=groups|1}{, dilation=dilation_0|1})",
    "conv_transpose2d": f("F.conv_transpose2d({input}, {weight}{, bias=bias}{, stride=stride|1}{, padding=padding|0}"
                          "{, output_padding=output_padding|0}{, groups=groups|1}{, dilation=dilation|1})"),
    "batch_norm": f("F.batch_norm({input}, {running_mean}, {running_var}{, weight=weight}{, bias=bias}"
                    "{, training=training|False}{, eps=eps|1e-05})"),
    "layer_norm": f("F.layer_norm({input}, {normalized_shape}{, weight=weight}{, bias=bias}{, eps=eps|1e-05})"),
    "rms_norm": _rms_norm, "instance_norm": _instance_norm,
    "group_norm": f("F.group_norm({input}, {num_groups}{, weight=weight}{, bias=bias}{, eps=eps|1e-05})"),
    "local_response_norm": "ops.lrn({self}, depth_radius={radius}, bias={bias}, alpha={alpha}, beta={beta})",
    "embedding": lambda a: f("F.embedding({indices}, {weight}")
    + (", {padding_idx})" if a.get("padding_idx", -1) >= 0 else ")"),
    "one_hot": f("F.one_hot({self}, {num_classes})"),
    "alpha_dropout": _nothing_in_evaluation, "feature_alpha_dropout": _nothing_in_evaluation,
    "rrelu": lambda a: f(f'F.leaky_relu({{self}}, {(a.get("lower", 1 / 8) + a.get("upper", 1 / 3)) / 2})')
    if not a.get("training") else _nothing_in_evaluation({"train": True}),
    "pairwise_distance": lambda a: f"mint.norm({{x1}} - {{x2}} + {a.get('eps', 1e-6)}, p={a.get('p', 2.0)}, dim=-1"
    + "{, keepdim=keepdim|False})",
    "dropout": f("F.dropout({input}, {p}, self.training)"),
    "dropout2d": f("F.dropout2d({input}, {p}, self.training)"),
    "feature_dropout": f("F.dropout2d({input}, {p}, self.training)"),
    "scaled_dot_product_attention": _attention,
    **{f"avg_pool{n}d": _pooling(n, "avg") for n in (2, 3)}, "avg_pool1d": _pooling_1d("avg"),
    **{f"max_pool{n}d": _pooling(n, "max") for n in (2, 3)}, "max_pool1d": _pooling_1d("max"),
    **{f"max_pool{n}d_with_indices": _pooling(n, "max")[:-1] + ", return_indices=True)" for n in (2, 3)},
    "max_pool1d_with_indices": _pooling_1d("max")[:-1] + ", return_indices=True)",
    **{f"adaptive_avg_pool{n}d": f(f"F.adaptive_avg_pool{n}d({{self}}, {{output_size}})") for n in (2, 3)},
    "adaptive_avg_pool1d": f("F.adaptive_avg_pool1d({self}, {output_size_0})"),
    **{f"adaptive_max_pool{n}d": f"ops.adaptive_max_pool{n}d({{self}}, {{output_size}}, return_indices=True)"
       for n in (1, 2, 3)},
    "multilabel_margin_loss": _loss("ops.multilabel_margin_loss({self}, {target}, REDUCTION)"),
    "pad": lambda a: f("F.pad({self}, {pad}{, mode=mode|'constant'}{, value=value})"),
    "constant_pad_nd": f("F.pad({self}, {pad}{, value=value})"),
    "reflection_pad2d": f('F.pad({self}, {padding}, mode="reflect")'),
    "reflection_pad1d": f('F.pad({self}, {padding}, mode="reflect")'),
    "replication_pad2d": f('F.pad({self}, {padding}, mode="replicate")'),
    "upsample_nearest1d": _upsample("nearest"), "upsample_nearest2d": _upsample("nearest"),
    "upsample_nearest3d": _upsample("nearest"), "upsample_linear1d": _upsample("linear"),
    "upsample_bilinear2d": _upsample("bilinear"), "upsample_bicubic2d": _upsample("bicubic"),
    "upsample_trilinear3d": _upsample("trilinear"),
    "grid_sampler": lambda a: f('F.grid_sample({input}, {grid}, '
    + f'mode="{("bilinear", "nearest", "bicubic")[a["interpolation_mode"]]}", '
    + f'padding_mode="{("zeros", "border", "reflection")[a["padding_mode"]]}", align_corners={{align_corners}})'),
    "affine_grid_generator": "ops.affine_grid({theta}, {size}, {align_corners})",
    "im2col": f("F.unfold({self}, {kernel_size}{, dilation=dilation|1}{, padding=padding|0}{, stride=stride|1})"),
    "col2im": f("F.fold({self}, {output_size}, {kernel_size}{, dilation=dilation|1}{, padding=padding|0}"
                "{, stride=stride|1})"),
    "mse_loss": _loss("F.mse_loss({self}, {target}, REDUCTION)"),
    "l1_loss": _loss("F.l1_loss({self}, {target}, REDUCTION)"),
    "huber_loss": _loss("ops.huber_loss({self}, {target}, REDUCTION{, delta=delta|1.0})"),
    "hinge_embedding_loss": _loss("ops.hinge_embedding_loss({self}, {target}{, margin=margin|1.0}, REDUCTION)"),
    "multi_margin_loss": _loss("ops.multi_margin_loss({self}, {target}{, p=p|1}{, margin=margin|1}{, weight=weight}, "
                               "REDUCTION)"),
    "soft_margin_loss": _loss("F.soft_margin_loss({self}, {target}, REDUCTION)"),
    "margin_ranking_loss": _loss("F.margin_ranking_loss({input1}, {input2}, {target}{, margin=margin|0.0}, REDUCTION)"),
    "cosine_embedding_loss": _loss("F.cosine_embedding_loss({input1}, {input2}, {target}{, margin=margin|0.0}, "
                                   "REDUCTION)"),
    "triplet_margin_loss": _loss("F.triplet_margin_loss({anchor}, {positive}, {negative}{, margin=margin|1.0}"
                                 "{, p=p|2.0}{, eps=eps|1e-06}{, swap=swap|False}, REDUCTION)"),
    "poisson_nll_loss": _loss("ops.poisson_nll_loss({input}, {target}{, log_input=log_input|True}{, full=full|False}"
                              "{, eps=eps|1e-08}, REDUCTION)"),
    "smooth_l1_loss": _loss("F.smooth_l1_loss({self}, {target}, REDUCTION{, beta=beta|1.0})"),
    "binary_cross_entropy": _loss("F.binary_cross_entropy({self}, {target}{, weight=weight}, REDUCTION)"),
    "binary_cross_entropy_with_logits": _loss(
        "F.binary_cross_entropy_with_logits({self}, {target}{, weight=weight}{, pos_weight=pos_weight}, REDUCTION)"),
    "kl_div": _loss("F.kl_div({self}, {target}, REDUCTION{, log_target=log_target|False})"),
    "cross_entropy_loss": _loss("F.cross_entropy({self}, {target}{, weight=weight}{, ignore_index=ignore_index|-100}, "
                                "REDUCTION{, label_smoothing=label_smoothing|0.0})"),
    "nll_loss_nd": _loss("F.nll_loss({self}, {target}{, weight=weight}{, ignore_index=ignore_index|-100}, REDUCTION)"),
    "nll_loss": _loss("F.nll_loss({self}, {target}{, weight=weight}{, ignore_index=ignore_index|-100}, REDUCTION)"),
}  # fmt: skip
