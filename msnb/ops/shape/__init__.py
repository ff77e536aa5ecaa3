"""Views, slices, creation, concatenation: operators that move or make elements and compute nothing."""

from msnb.ops.shape.concat_split import concat, stack, unstack
from msnb.ops.shape.creation import arange, eye, full, ones, ones_like, zeros, zeros_like
from msnb.ops.shape.index_records import INDEX, INDEX_UPDATE, UNINDEX
from msnb.ops.shape.index_spec import IndexPlan
from msnb.ops.shape.views import (
    EXPAND_DIMS,
    SQUEEZE,
    TRANSPOSE,
    broadcast_to,
    expand_dims,
    permute,
    reshape,
    squeeze,
    transpose,
)

__all__ = [
    "EXPAND_DIMS", "INDEX", "INDEX_UPDATE", "IndexPlan", "SQUEEZE", "TRANSPOSE", "UNINDEX", "arange", "broadcast_to",
    "concat", "expand_dims", "eye", "full", "ones", "ones_like", "permute", "reshape", "squeeze", "stack", "transpose",
    "unstack", "zeros", "zeros_like",
]  # fmt: skip
