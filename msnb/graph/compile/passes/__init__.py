"""The passes, one page each. Importing this package registers them."""

from msnb.graph.compile import layout
from msnb.graph.compile.passes import algebra, cse, dce, fold, inline, regroup

__all__ = ["algebra", "cse", "dce", "fold", "inline", "layout", "regroup"]
