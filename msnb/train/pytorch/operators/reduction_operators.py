"""Sums and other reductions, scans, order."""

from __future__ import annotations

from typing import Any


def _over(name: str, keyword: str = "keepdim") -> str:
    return f"mint.{name}({{self}}{{, dim=dim}}{{, keepdim={keyword}|False}})"


def _spread(name: str) -> Any:
    """std and var: ``unbiased`` or ``correction`` says by what is divided."""

    def template(a: dict[str, Any]) -> str:
        given = a.get("correction")
        correction = given if given is not None else int(a.get("unbiased", True))
        field = "" if correction == 1 else f", correction={int(correction)}"
        return f"mint.{name}({{self}}{{, dim=dim}}{field}{{, keepdim=keepdim|False}})"

    return template


def _diff(a: dict[str, Any]) -> str:
    ends = [f"{{{name}}}" for name in ("prepend", "self", "append") if a.get(name) is not None]
    whole = f"mint.cat(({', '.join(ends)}){{, dim=dim|0}})" if len(ends) > 1 else "{self}"
    return f"mint.diff({whole}{{, n=n|1}}{{, dim=dim|-1}})"


def _nanquantile(a: dict[str, Any]) -> str:
    if a.get("interpolation", "linear") != "linear":
        raise ValueError("between two neighbours it is linear")
    return "ops.nanquantile({self}, {q}{, axis=dim}{, keepdims=keepdim|False})"


def _unique_consecutive(a: dict[str, Any]) -> str:
    a.get("return_inverse"), a.get("return_counts")  # there are three results, whatever is asked for
    return "ops.unique_consecutive({self}, True, True{, axis=dim})"


TABLE: dict[str, Any] = {
    "sum": "mint.sum({self}{, dim=dim}{, keepdim=keepdim|False}{, dtype=dtype})",
    "mean": "mint.mean({self}{, dim=dim}{, keepdim=keepdim|False}{, dtype=dtype})",
    "prod": "mint.prod({self}{, dim=dim}{, keepdim=keepdim|False}{, dtype=dtype})",
    "nansum": "mint.nansum({self}{, dim=dim}{, keepdim=keepdim|False})",
    "all": _over("all"), "any": _over("any"), "amax": _over("amax"), "amin": _over("amin"),
    "max": _over("max"), "min": _over("min"), "median": _over("median"),
    "argmax": _over("argmax"), "argmin": _over("argmin"),
    "std": _spread("std"), "var": _spread("var"), "var_mean": _spread("var_mean"), "std_mean": _spread("std_mean"),
    "logsumexp": _over("logsumexp"),
    "aminmax": "ops.aminmax({self}{, axis=dim}{, keepdims=keepdim|False})",
    "norm": "mint.norm({self}{, p=p|2}{, dim=dim}{, keepdim=keepdim|False})",
    "linalg_vector_norm": "mint.norm({self}{, p=ord|2}{, dim=dim}{, keepdim=keepdim|False})",
    "frobenius_norm": "mint.norm({self}{, dim=dim}{, keepdim=keepdim|False})",
    "count_nonzero": "mint.count_nonzero({self}{, dim=dim})",
    "cumsum": "mint.cumsum({self}, {dim}{, dtype=dtype})",
    "cumprod": "mint.cumprod({self}, {dim}{, dtype=dtype})",
    "cummax": "mint.cummax({self}, {dim})", "cummin": "mint.cummin({self}, {dim})",
    "logcumsumexp": "ops.logcumsumexp({self}, {dim})",
    "diff": _diff,
    "sort": "mint.sort({self}{, dim=dim|-1}{, descending=descending|False}{, stable=stable|False})",
    "argsort": "mint.argsort({self}{, dim=dim|-1}{, descending=descending|False}{, stable=stable|False})",
    "topk": "mint.topk({self}, {k}{, dim=dim|-1}{, largest=largest|True}{, sorted=sorted|True})",
    "kthvalue": "ops.kthvalue({self}, {k}{, dim=dim|-1}{, keepdim=keepdim|False})",
    "quantile": "ops.quantile({self}, {q}{, axis=dim}{, keepdims=keepdim|False}"
                "{, interpolation=interpolation|'linear'})",
    "nanquantile": _nanquantile,
    "nanmedian": "mint.nanmedian({self})",
    "nanmedian.dim": "mint.nanmedian({self}, {dim}{, keepdim=keepdim|False})",
    "nanmean": "ops.nanmean({self}{, axis=dim}{, keepdims=keepdim|False})",
    "dist": "ops.dist({self}, {other}{, p=p|2})", "sum_to_size": "ops.sum_to({self}, {size})",
    "bincount": "mint.bincount({self}{, weights=weights}{, minlength=minlength|0})",
    "histc": "mint.histc({self}{, bins=bins|100}{, min=min|0}{, max=max|0})",
    "trace": "mint.trace({self})",
    "unique_consecutive": _unique_consecutive,
    "searchsorted": "mint.searchsorted({sorted_sequence}, {self}{, right=right|False})",
    "bucketize": "ops.bucketize({self}, {boundaries}{, right=right|False})",
}  # fmt: skip
