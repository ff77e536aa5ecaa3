"""The ground floor: types, tensors, context, errors, events and the slot that an engine fills.

Nothing here knows an operator, a graph or a device by name. Everything above leans on these few files:

    dtypes -> types -> tensor -> parameter          values and what is known of them before they exist
    slot                                            who runs an op right now (eager, capture, a graph transform)
    context, events, random, devices                the settings of a session
    errors, where                                   how a mistake is told, and where in the user's text it happened
"""

from msnb.core.dtypes import DType, as_dtype, bfloat16, bool_, float16, float32, float64, int32, int64
from msnb.core.engine import Engine, EngineRestore, PlainReads, cached, keep_calls, named, slot, using, whole
from msnb.core.parameter import Parameter, ParameterTuple
from msnb.core.process_group import WORLD_GROUP, AbsentGroup, current, members_of
from msnb.core.pytree import as_tuple
from msnb.core.shard_annotation import ShardRequest, sharding
from msnb.core.symbolic_int import (
    ConcretizationError,
    SizeTrace,
    Symbolic,
    SymbolicInt,
    clamped,
    is_symbolic,
    size_hint,
    sliced_axis,
    trace_of,
)
from msnb.core.tensor import Array, Tensor, make, type_of_buffer
from msnb.core.tensor_summary import plain_numbers
from msnb.core.types import (
    WEAK,
    Dim,
    HostType,
    Shape,
    Size,
    StackType,
    TensorType,
    TokenType,
    Type,
    result_dtype,
    tensor_type,
)

__all__ = [
    "AbsentGroup", "Array", "ConcretizationError", "DType", "Dim", "Engine", "EngineRestore", "HostType", "Parameter",
    "ParameterTuple", "PlainReads", "Shape", "ShardRequest", "Size", "SizeTrace", "StackType", "Symbolic",
    "SymbolicInt", "Tensor", "TensorType", "TokenType", "Type", "WEAK", "WORLD_GROUP", "as_dtype", "as_tuple",
    "bfloat16", "bool_", "cached", "clamped", "current", "float16", "float32", "float64", "int32", "int64",
    "is_symbolic", "keep_calls", "make", "members_of", "named", "plain_numbers", "result_dtype", "sharding",
    "size_hint", "sliced_axis", "slot", "tensor_type", "trace_of", "type_of_buffer", "using", "whole",
]  # fmt: skip
