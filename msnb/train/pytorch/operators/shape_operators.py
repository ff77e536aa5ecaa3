"""Views, copies, new tensors, and what changes a dtype."""

from __future__ import annotations

from typing import Any


def _same(_: dict[str, Any]) -> str:
    return "{self}"


def _split(a: dict[str, Any]) -> str:
    sizes = "split_size" if "split_size" in a else "split_sizes"
    return f"mint.split({{self}}, {{{sizes}}}{{, dim=dim|0}})"


def _to(a: dict[str, Any]) -> str:
    return "{self}.to({dtype})" if a.get("dtype") is not None else "{self}"


def _new(name: str, value: str = "") -> str:
    return f"mint.{name}({{size}}{value}{{, dtype=dtype}})"


def _tensor_creation(name: str, value: str = "") -> Any:
    """new_zeros and kin: the tensor's dtype unless another is asked for."""

    def template(a: dict[str, Any]) -> str:
        a.get("self")  # asked for its dtype at most
        dtype = "{dtype}" if a.get("dtype") is not None else "{self}.dtype"
        return f"mint.{name}({{size}}{value}, dtype={dtype})"

    return template


def _repeat_interleave(a: dict[str, Any]) -> str:
    a.get("output_size")  # what the counts add up to
    return "mint.repeat_interleave({self}, {repeats}{, dim=dim})"


def _arange(a: dict[str, Any]) -> str:
    ends = [f"{{{name}}}" for name in ("start", "end", "step") if a.get(name) is not None]
    whole = all(not isinstance(a.get(name), float) for name in ("start", "end", "step"))
    dtype = "{, dtype=dtype}" if a.get("dtype") is not None else ", dtype=ms.int64" if whole else ", dtype=ms.float32"
    return f"mint.arange({', '.join(ends)}{dtype})"


TABLE: dict[str, Any] = {
    **dict.fromkeys(("alias", "contiguous", "lift_fresh", "lift", "resolve_conj", "resolve_neg"), _same),
    "clone": "mint.clone({self})", "lift_fresh_copy": "mint.clone({self})",
    "detach": "ops.stop_gradient({self})",
    "view": "{self}.reshape({size})", "_unsafe_view": "{self}.reshape({size})",
    "view_as_real": "ops.view_as_real({self})", "view_as_complex": "ops.complex({self}[..., 0], {self}[..., 1])",
    "view.dtype": "{self}.view({dtype})",
    "reshape": "{self}.reshape({shape})",
    "view_as": "{self}.reshape({other}.shape)", "reshape_as": "{self}.reshape({other}.shape)",
    "permute": "mint.permute({self}, {dims})",
    "transpose": "mint.transpose({self}, {dim0}, {dim1})", "swapaxes": "mint.transpose({self}, {axis0}, {axis1})",
    "swapdims": "mint.transpose({self}, {dim0}, {dim1})",
    "t": "mint.t({self})", "numpy_T": "{self}.T", "mT": "{self}.mT",
    "movedim": "ops.movedim({self}, {source}, {destination})",
    "flatten": "mint.flatten({self}{, start_dim=start_dim|0}{, end_dim=end_dim|-1})",
    "unflatten": "{self}.unflatten({dim}, {sizes})",
    "ravel": "{self}.reshape((-1,))",
    "squeeze": lambda a: "mint.squeeze({self}, {dim})" if "dim" in a else "mint.squeeze({self})",
    "unsqueeze": "mint.unsqueeze({self}, {dim})",
    "expand": "{self}.expand({size})", "expand_as": "{self}.expand_as({other})",
    "broadcast_to": "mint.broadcast_to({self}, {size})",
    "repeat": "mint.tile({self}, {repeats})", "tile": "mint.tile({self}, {dims})",
    "repeat_interleave": _repeat_interleave,
    "cat": "mint.cat({tensors}{, dim=dim|0})", "concat": "mint.cat({tensors}{, dim=dim|0})",
    "concatenate": "mint.cat({tensors}{, dim=dim|0})",
    "stack": "mint.stack({tensors}{, dim=dim|0})",
    "hstack": "ops.hstack({tensors})", "vstack": "ops.vstack({tensors})", "dstack": "ops.dstack({tensors})",
    "column_stack": "ops.column_stack({tensors})", "block_diag": lambda a: "ops.block_diag("
    + ", ".join(f"{{tensors_{i}}}" for i in range(len(a["tensors"]))) + ")",
    "chunk": "mint.chunk({self}, {chunks}{, dim=dim|0})",
    "split": _split, "split_with_sizes": _split, "tensor_split": lambda a: "ops.tensor_split({self}, "
    + ("{sections}" if "sections" in a else "{indices}") + "{, axis=dim|0})",
    "unbind": "mint.unbind({self}{, dim=dim|0})",
    "flip": "mint.flip({self}, {dims})", "roll": "mint.roll({self}, {shifts}{, dims=dims})",
    "rot90": "ops.rot90({self}{, k=k|1}{, dims=dims})",
    "diagonal": "ops.diagonal({self}{, offset=offset|0}{, dim1=dim1|0}{, dim2=dim2|1})",
    "diag": "mint.diag({self}{, diagonal=diagonal|0})",
    "diagflat": "ops.diagflat({self}{, offset=offset|0})",
    "unfold": "{self}.unfold(dimension={dimension}, size={size}, step={step})",
    **{f"atleast_{n}d": f"ops.atleast_{n}d({{self}})" for n in (1, 2, 3)}, "argwhere": "mint.argwhere({self})",
    "diag_embed": "ops.diag_embed({self}{, offset=offset|0}{, dim1=dim1|-2}{, dim2=dim2|-1})",
    "tril": "mint.tril({self}{, diagonal=diagonal|0})", "triu": "mint.triu({self}{, diagonal=diagonal|0})",
    "meshgrid": lambda a: "mint.meshgrid(" + ", ".join(f"{{tensors_{i}}}" for i in range(len(a["tensors"])))
    + "{, indexing=indexing|'ij'})",
    "pixel_shuffle": "mint.nn.functional.pixel_shuffle({self}, {upscale_factor})",
    "pixel_unshuffle": "ops.pixel_unshuffle({self}, {downscale_factor})",
    "channel_shuffle": "ops.channel_shuffle({self}, {groups})",
    # dtypes
    "to": _to, "_to_copy": _to, "type_as": "{self}.to({other}.dtype)", "to.other": "{self}.to({other}.dtype)",
    # new tensors
    "zeros": _new("zeros"), "ones": _new("ones"), "empty": _new("zeros"),
    "full": _new("full", ", {fill_value}"),
    "new_zeros": _tensor_creation("zeros"), "new_ones": _tensor_creation("ones"),
    "new_empty": _tensor_creation("zeros"), "new_full": _tensor_creation("full", ", {fill_value}"),
    "zeros_like": "mint.zeros_like({self}{, dtype=dtype})", "ones_like": "mint.ones_like({self}{, dtype=dtype})",
    "empty_like": "mint.zeros_like({self}{, dtype=dtype})",
    "full_like": "mint.full_like({self}, {fill_value}{, dtype=dtype})",
    "scalar_tensor": "ms.Tensor({s}{, dtype=dtype})",
    "arange": _arange,
    "linspace": "mint.linspace({start}, {end}, {steps}{, dtype=dtype})",
    "eye": lambda a: "mint.eye({n}, {m}{, dtype=dtype})" if "m" in a else "mint.eye({n}{, dtype=dtype})",
    "rand": "mint.rand({size}{, dtype=dtype})", "randn": "mint.randn({size}{, dtype=dtype})",
    "rand_like": "mint.rand_like({self}{, dtype=dtype})", "randn_like": "mint.randn_like({self}{, dtype=dtype})",
    "bernoulli": "mint.bernoulli({self})",
}  # fmt: skip
