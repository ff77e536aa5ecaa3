"""NVIDIA's own instructions of arithmetic as functions for the host: exact where the GPU may be a little off.

A name such as ``rcp.approx.ftz.f`` is an operation (rcp), how it rounds, and a type (f is float32, d float64).
"""

from __future__ import annotations

from msnb.base import DeviceError

_TYPES = {"f": "float", "f32": "float", "d": "double", "f64": "double"}
_UNARY = {
    "sqrt": "sqrt", "ex2": "exp2", "lg2": "log2", "sin": "sin", "cos": "cos", "tanh": "tanh", "fabs": "fabs",
    "ceil": "ceil", "floor": "floor", "trunc": "trunc", "round": "roundeven",
}  # fmt: skip
_BINARY = {"add": "fadd", "mul": "fmul", "div": "fdiv"}
_EXTREMA = {("fmax", False): "maxnum", ("fmin", False): "minnum", ("fmax", True): "maximum", ("fmin", True): "minimum"}


def device_function(name: str) -> str:
    """The definition of ``@nvvm.NAME`` for the host.

    Args:
        name: the intrinsic without ``llvm.nvvm.``.

    Raises:
        RuntimeError: DeviceError: the simulator does not know it.
    """
    if name in _ROUNDED:
        return _ROUNDED[name]
    operation, *how = name.split(".")
    kind = "float" if name == "div.full" else _TYPES.get(how[-1] if how else "")
    if kind is None:
        raise unknown(name)
    short = "f32" if kind == "float" else "f64"
    x, y = f"{kind} %x", f"{kind} %y"
    if operation in _UNARY:
        return _calling(name, kind, f"llvm.{_UNARY[operation]}.{short}", x)
    if operation in ("fmax", "fmin"):
        return _calling(name, kind, f"llvm.{_EXTREMA[operation, 'nan' in how]}.{short}", x, y)
    if operation == "fma":
        return _calling(name, kind, f"llvm.fma.{short}", x, y, f"{kind} %z")
    if operation in _BINARY:
        return _function(name, kind, [x, y], f"%r = {_BINARY[operation]} {kind} %x, %y")
    if operation == "rcp":
        return _function(name, kind, [x], f"%r = fdiv {kind} 1.0, %x")
    if operation == "rsqrt":
        root = f"%s = call {kind} @llvm.sqrt.{short}({x})"
        return _function(name, kind, [x], f"{root}\n  %r = fdiv {kind} 1.0, %s")
    raise unknown(name)


_ROUNDING = """  %{0}b = bitcast float %{0} to i32
  %{0}h = lshr i32 %{0}b, 16
  %{0}o = and i32 %{0}h, 1
  %{0}r = add i32 %{0}o, 32767
  %{0}s = add i32 %{0}b, %{0}r
  %{0}u = lshr i32 %{0}s, 16
  %{0}n = fcmp uno float %{0}, %{0}
  %{0}v = select i1 %{0}n, i32 32767, i32 %{0}u
  %{0}t = trunc i32 %{0}v to i16
"""  # to the nearest bfloat16, ties to even; every NaN becomes the one that the instruction gives
_ROUNDED = {
    "f2bf16.rn": f"""define internal bfloat @nvvm.f2bf16.rn(float %x) alwaysinline {{
{_ROUNDING.format("x")}  %r = bitcast i16 %xt to bfloat
  ret bfloat %r
}}""",
    "ff2bf16x2.rn": f"""define internal <2 x bfloat> @nvvm.ff2bf16x2.rn(float %x, float %y) alwaysinline {{
{_ROUNDING.format("x")}{_ROUNDING.format("y")}  %c = insertelement <2 x i16> poison, i16 %yt, i64 0
  %d = insertelement <2 x i16> %c, i16 %xt, i64 1
  %r = bitcast <2 x i16> %d to <2 x bfloat>
  ret <2 x bfloat> %r
}}""",
}


def unknown(name: str) -> DeviceError:
    """The error for an intrinsic that has no stand-in."""
    return DeviceError(
        f"the simulator does not know the intrinsic llvm.nvvm.{name}.",
        hint="give it a stand-in in msnb/devices/gpu/simt/device_math.py.",
    )


def _function(name: str, kind: str, parameters: list[str], body: str) -> str:
    head = f"define internal {kind} @nvvm.{name}({', '.join(parameters)}) alwaysinline"
    return f"{head} {{\n  {body}\n  ret {kind} %r\n}}"


def _calling(name: str, kind: str, callee: str, *parameters: str) -> str:
    return _function(name, kind, list(parameters), f"%r = call {kind} @{callee}({', '.join(parameters)})")


def declared(definition: str) -> str:
    """The declaration of the intrinsic that a definition calls; empty if it calls none."""
    at = definition.find("@llvm.")
    if at < 0:
        return ""
    callee = definition[at : definition.index("(", at)]
    kind = "float" if callee.endswith("f32") else "double"
    start = definition.index("(", at)
    count = definition[start : definition.index(")", start)].count(",") + 1
    return f"declare {kind} {callee}({', '.join([kind] * count)})"
