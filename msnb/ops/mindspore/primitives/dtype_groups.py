"""Operands that MindSpore's operator classes do not convert: of a group, or of what is written and its update.

    01     MatMul        x, y            float16 and float32: TypeError
    0<2    ScatterAdd    x <- updates    float32 <- float16 is converted, float16 <- float32: TypeError
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from msnb.base import DTypeError
from msnb.core import DType, Tensor, dtypes, slot

_KINDS = ["Add", "Div", "Max", "Min", "Mul", "Sub", "Update"]
_ROWS = {
    "": "AccumulateNV2 AddN Stack",
    "01": "BatchMatMul BiasAdd BoundingBoxDecode BoundingBoxEncode Cdist CholeskySolve Complex Ger GridSampler2D "
          "GridSampler3D Heaviside IOU Igamma Igammac IndexPut InplaceAdd InplaceSub InplaceUpdate IsClose KLDivLoss "
          "Lerp LinSpace Lstsq MatMul MatrixSolve MatrixTriangularSolve NextAfter Orgqr Polar "
          "SigmoidCrossEntropyWithLogits Zeta",
    "012": "Addcdiv Addcmul Betainc BinaryCrossEntropy Ormqr TripletMarginLoss",
    "02": "InplaceUpdateV2 MultiMarginLoss TensorScatterElements " + " ".join(f"TensorScatter{n}" for n in _KINDS),
    "0124": "ApplyRMSProp", "01234": "ApplyCenteredRMSProp", "1234": "BatchNorm", "13": "SparseTensorDenseMatmul",
    "23": "OneHot", "0<1": "Assign AssignAdd AssignSub", "0<4": "ApplyProximalGradientDescent", "0<9": "Adam",
    "0<2": "ApplyGradientDescent IndexAdd InplaceIndexAdd ScatterAddWithAxis ScatterNonAliasingAdd "
           + " ".join(f"Scatter{n} ScatterNd{n}" for n in _KINDS),
    "0<8": "AdamWeightDecay", "01<3": "ApplyAdagrad ApplyMomentum", "01<5": "ApplyProximalAdagrad",
    "01<6": "ApplyAddSign ApplyPowerSign", "012<3": "ApplyFtrl", "012<6": "ApplyAdadelta", "012<8": "ApplyAdaMax",
}  # fmt: skip
GROUPS = {name: group.partition("<") for group, names in _ROWS.items() for name in names.split()}
"""By operator the places of operands that keep their dtype, and of one that is converted to it."""
_NUMBERS = {name for name in GROUPS if "Scatter" in name} - {"TensorScatterUpdate", "TensorScatterElements"}


def _kinds(name: str, inputs: Sequence[Any]) -> tuple[list[DType], list[DType]]:
    """The dtypes of the operands that keep theirs, and of those that are converted to it."""
    places, _, update = GROUPS[name]
    if not places and len(inputs) == 1 and isinstance(inputs[0], (tuple, list)):
        inputs = inputs[0]
    known = {i: x.dtype for i, x in enumerate(inputs) if isinstance(x, Tensor)}
    kept, more = ([known[i] for i in map(int, of) if i in known] for of in (places or known, update))
    return kept, more


def need_dtypes(name: str, inputs: Sequence[Any]) -> None:
    """Raise TypeError unless the operands of this operator have the dtypes that it asks for, or a rule casts them."""
    engine = slot.engine
    if getattr(engine, "autocast", None) or getattr(getattr(engine, "session", None), "autocast", None):
        return
    kept, more = _kinds(name, inputs)
    wide = reduce(dtypes.promote, (*kept, *more)) if kept else None
    narrow = next((kind for kind in kept if kind is not wide), None)
    if narrow is not None:
        hint = "astype(...) converts one; functions, such as ops.matmul, convert by themselves."
        raise DTypeError(f"ops.{name} converts no operand to a wider dtype: {narrow} cannot hold {wide}.", hint=hint)
    if wide is dtypes.bool_ and name in _NUMBERS:
        raise DTypeError(f"ops.{name} takes no bool tensors.", hint="ops.TensorScatterUpdate takes them.")
