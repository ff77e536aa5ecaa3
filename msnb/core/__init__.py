"""The ground floor: types, tensors, context, errors, events and the slot that an engine fills.

Nothing here knows an operator, a graph or a device by name. Everything above leans on these few files:

    dtypes -> types -> tensor -> parameter          values and what is known of them before they exist
    slot                                            who runs an op right now (eager, capture, a graph transform)
    context, events, random, devices                the settings of a session
    errors, where                                   how a mistake is told, and where in the user's text it happened
"""

from msnb.core.dtypes import DType, as_dtype, bool_, float32, float64, int32, int64
from msnb.core.engine import slot
from msnb.core.parameter import Parameter, ParameterTuple
from msnb.core.symbolic_int import size_hint
from msnb.core.tensor import Array, Tensor
from msnb.core.types import WEAK, Dim, Shape, Size, StackType, TensorType, TokenType, Type, result_dtype, tensor_type

__all__ = [
    "Array", "DType", "Dim", "Parameter", "ParameterTuple", "Shape", "Size", "StackType", "Tensor", "TensorType",
    "TokenType", "Type", "WEAK", "as_dtype", "bool_", "float32", "float64", "int32", "int64", "result_dtype",
    "size_hint", "slot", "tensor_type",
]  # fmt: skip
