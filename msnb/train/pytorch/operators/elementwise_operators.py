"""Elementwise arithmetic, comparisons, functions, and products of matrices."""

from __future__ import annotations

from typing import Any

_INFIX = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "**", "eq": "==", "ne": "!=", "lt": "<", "le": "<=",
    "gt": ">", "ge": ">=", "remainder": "%", "floor_divide": "//", "__and__": "&", "__or__": "|", "__xor__": "^",
    "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^", "__lshift__": "<<", "__rshift__": ">>",
    "multiply": "*", "subtract": "-", "divide": "/", "true_divide": "/", "greater": ">", "greater_equal": ">=",
    "less": "<", "less_equal": "<=", "not_equal": "!=",
}  # fmt: skip
_UNARY = (
    "abs", "absolute", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "erf", "erfc",
    "erfinv", "exp", "exp2", "expm1", "floor", "frac", "log", "log10", "log1p", "log2", "logical_not", "neg",
    "reciprocal", "rsqrt", "sigmoid", "sign", "sin", "sinc", "sinh", "sqrt", "square", "tan", "tanh", "trunc", "isnan",
    "isinf", "isfinite", "conj", "real", "imag", "positive", "negative", "fix", "arccos", "arcsin", "arctan", "arccosh",
    "arcsinh", "arctanh", "isposinf", "isneginf",
)  # fmt: skip
_OPS_UNARY = ("lgamma", "digamma", "angle", "deg2rad", "rad2deg", "signbit", "i0")
_BINARY = (
    "maximum", "minimum", "atan2", "fmod", "hypot", "logaddexp", "logaddexp2", "logical_and", "logical_or",
    "logical_xor", "xlogy", "float_power", "arctan2",
)  # fmt: skip
_OPS_BINARY = ("igamma", "igammac", "copysign", "heaviside", "gcd", "lcm", "ldexp", "fmax", "fmin", "nextafter")


def infix(sign: str) -> Any:
    """A rule for an operator that Python writes between its operands."""

    def template(arguments: dict[str, Any]) -> str:
        left, right = list(arguments)[:2]
        alpha = arguments.get("alpha", 1)
        scaled = f"{{{right}}}" if alpha == 1 else f"{{alpha}} * {{{right}}}"
        return f"{{{left}}} {sign} {scaled}"

    return template


def binary(function: str) -> Any:
    """A rule for a function of two operands, whatever ATen calls them."""

    def template(arguments: dict[str, Any]) -> str:
        left, right = list(arguments)[:2]
        return f"{function}({{{left}}}, {{{right}}})"

    return template


def _division(arguments: dict[str, Any]) -> str:
    return "mint.div({self}, {other}, rounding_mode={rounding_mode})" if arguments.get("rounding_mode") else \
        "{self} / {other}"  # fmt: skip


TABLE: dict[str, Any] = {
    **{name: infix(sign) for name, sign in _INFIX.items()},
    **{name: f"mint.{name}({{self}})" for name in _UNARY},
    **{name: f"ops.{name}({{self}})" for name in _OPS_UNARY},
    **{name: binary(f"mint.{name}") for name in _BINARY},
    **{name: binary(f"ops.{name}") for name in _OPS_BINARY},
    "div": _division,
    "neg": "-{self}", "bitwise_not": "~{self}",
    "rsub": "{other} - {self}",
    "round": "mint.round({self}{, decimals=decimals|0})",
    "clamp": "mint.clamp({self}{, min=min}{, max=max})",
    "clip": "mint.clamp({self}{, min=min}{, max=max})",
    "clamp_min": "mint.clamp({self}, min={min})",
    "clamp_max": "mint.clamp({self}, max={max})",
    "min.other": "mint.minimum({self}, {other})",
    "max.other": "mint.maximum({self}, {other})",
    "addcmul": "mint.addcmul({self}, {tensor1}, {tensor2}{, value=value|1})",
    "addcdiv": "mint.addcdiv({self}, {tensor1}, {tensor2}{, value=value|1})",
    "lerp": "mint.lerp({self}, {end}, {weight})",
    "logit": "ops.logit({self}{, eps=eps})",
    "nan_to_num": "mint.nan_to_num({self}{, nan=nan}{, posinf=posinf}{, neginf=neginf})",
    "polygamma": "ops.polygamma({n}, {self})",
    "where": "mint.where({condition}, {self}, {other})",
    "isclose": "mint.isclose({self}, {other}{, rtol=rtol|1e-05}{, atol=atol|1e-08}{, equal_nan=equal_nan|False})",
    # products
    "mm": "mint.mm({self}, {mat2})", "bmm": "mint.bmm({self}, {mat2})", "mv": "mint.mv({self}, {vec})",
    "dot": "mint.dot({self}, {tensor})", "matmul": "mint.matmul({self}, {other})",
    "addmm": "mint.addmm({self}, {mat1}, {mat2}{, beta=beta|1}{, alpha=alpha|1})",
    "addmv": "mint.addmv({self}, {mat}, {vec}{, beta=beta|1}{, alpha=alpha|1})",
    "baddbmm": "mint.baddbmm({self}, {batch1}, {batch2}{, beta=beta|1}{, alpha=alpha|1})",
    "addbmm": "mint.addbmm({self}, {batch1}, {batch2}{, beta=beta|1}{, alpha=alpha|1})",
    "outer": "mint.outer({self}, {vec2})",
    "ger": "mint.outer({self}, {vec2})",
    "kron": "ops.kron({self}, {other})",
    "tensordot": lambda a: "ops.tensordot({self}, {other}, ({dims_self}, {dims_other}))",
    "einsum": lambda a: "mint.einsum({equation}, " + ", ".join(f"{{tensors_{i}}}" for i in range(len(a["tensors"])))
    + ")",
    "cross": "mint.cross({self}, {other}{, dim=dim})",
    "linalg_cross": "mint.cross({self}, {other}{, dim=dim|-1})",
    "addr": "ops.addr({self}, {vec1}, {vec2}{, beta=beta|1}{, alpha=alpha|1})",
    "matrix_power": "ops.matrix_power({self}, {n})", "linalg_matrix_power": "ops.matrix_power({self}, {n})",
    "polar": "mint.polar({abs}, {angle})", "complex": "ops.complex({real}, {imag})",
    "mvlgamma": "ops.mvlgamma({self}, {p})",
    **{f"fft_{name}": f"ops.{name}({{self}}{{, n=n}}{{, dim=dim|-1}}{{, norm=norm}})"
       for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")},
    **{f"fft_{name}{n}": f"ops.{name}{n}({{self}}{{, s=s}}{{, dim=dim}}{{, norm=norm}})"
       for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft") for n in ("2", "n")},
    **{f"fft_{name}": f"ops.{name}({{self}}{{, dim=dim}})" for name in ("fftshift", "ifftshift")},
    "inverse": "mint.inverse({self})",
    "linalg_inv": "mint.inverse({A})",
    "cdist": "mint.cdist({x1}, {x2}{, p=p|2.0})",
    "cosine_similarity": "mint.nn.functional.cosine_similarity({x1}, {x2}{, dim=dim|1}{, eps=eps|1e-08})",
}  # fmt: skip
